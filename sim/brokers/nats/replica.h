// One server's copy of a stream: how much of it there is in memory and on disk.
//
// Appends on their way are not events but times: a copy is brought up to date when somebody looks at it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

#include "core/base/ids.h"
#include "core/base/ring.h"
#include "core/base/time.h"
#include "sim/storage.h"

namespace mqlab::sim::nats {

struct Replica {
  explicit Replica(Arena& arena) : file(arena), incoming(arena), syncing(arena), unwritten(arena) {}

  struct Step {
    Instant at;
    std::int64_t length;
  };
  ProcessId node = no_process;
  std::int64_t length = 0;  ///< messages it holds: a process kill keeps them
  File file;
  /// What its file can take on a full disk; below 0: a write has failed, and none is tried before a restart.
  std::int64_t room = unlimited;
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();
  bool takes(std::int64_t bytes) {
    if (room == unlimited) return true;
    if (room >= 0) room -= bytes;
    return room >= 0;
  }
  /// A write, or a sync, was an error.
  void fail() { room = -1; }
  bool syncs_fail = false;
  Ring<Step> incoming;    ///< appends on the wire, by arrival
  bool following = true;  ///< gets every append as it comes; else it has to catch up first
  bool catching_up = false;
  std::uint32_t generation = 0;             ///< of the catch-up under way
  Instant last_arrival = {};                ///< appends arrive in order
  Instant election_due = Instant::never();  ///< it stands for leader then
  std::int64_t forgotten = 0;  ///< message ids below this sequence are not known since its restart

  // Disk. sync_interval: times of the periodic fsync; always: an fsync for what was written.
  Instant next_sync = Instant::never();
  Instant disk_free = {};
  Instant planned_start = {}, planned_end = {};
  Ring<Step> syncing;               ///< always: fsyncs under way, by end
  bool configured = true;           ///< it knows of the stream at all
  bool configured_on_disk = false;  ///< and would after a power loss

  /// With all that is on its way.
  std::int64_t expected() const { return incoming.empty() ? length : incoming.back().length; }
  /// Appends that have arrived by now.
  void settle(Instant now) {
    while (!incoming.empty() && incoming.front().at <= now) {
      write(incoming.front().at, incoming.front().length);
      incoming.pop_front();
    }
  }
  void write(Instant at, std::int64_t new_length) {
    periodic_sync(at);
    length = new_length;
    file.wrote(at, new_length);
  }
  /// An fsync that was due before `now` covered everything written before it.
  void periodic_sync(Instant now) {
    if (next_sync > now) return;
    if (!syncs_fail) {
      file.synced();
      configured_on_disk = true;
    }
    while (next_sync <= now) next_sync = next_sync + interval;
  }
  Duration interval = Duration::forever();

  /// sync always: when the `written` messages it holds at `at` will be on disk. One server syncs each write
  /// by itself; a replicated stream syncs its write-ahead log for all that came meanwhile.
  Instant sync(Instant at, std::int64_t written, Duration cost, bool grouped) {
    Instant done;
    if (grouped && at <= planned_start) {
      done = planned_end;
    } else {
      planned_start = std::max(at, disk_free);
      planned_end = planned_start + cost;
      disk_free = planned_end;
      done = planned_end;
    }
    syncing.push_back({done, written});
    return done;
  }
  /// Least length that survives a power loss now.
  std::int64_t durable(Instant now) {
    periodic_sync(now);
    std::int64_t least = file.durable(now);
    while (!syncing.empty() && syncing.front().at <= now) {
      least = std::max(least, syncing.front().length);
      synced_length = std::max(synced_length, least);
      syncing.pop_front();
    }
    return std::min(std::max(least, synced_length), length);
  }
  std::int64_t synced_length = 0;

  Ring<Step>
      unwritten;  ///< persist_mode async: appends that only the process knows, by when they are written

  /// The process ends: what it had not written is gone.
  void killed(Instant now) {
    while (!unwritten.empty() && unwritten.front().at <= now) unwritten.pop_front();
    if (unwritten.empty()) return;
    cut_to(unwritten.front().length - 1);
    unwritten.clear();
  }

  void cut_to(std::int64_t new_length) {
    length = std::min(length, new_length);
    synced_length = std::min(synced_length, length);
    file.truncated(length);
  }
};

}  // namespace mqlab::sim::nats
