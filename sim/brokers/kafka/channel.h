// The fetches of one follower node from one leader node (kafka ReplicaFetcherThread, num.replica.fetchers =
// 1): one request at a time for all their common partitions. A fetch with nothing to return stays parked at
// the leader.
//
// While both nodes run and hear each other (and the follower has room to write), a response and the fetch
// that follows it are no events of their own: both arrival times are known when the response goes out, each
// node takes note of what has arrived whenever something happens at it, and only what the leader has to act
// on in time is scheduled: one event an append instead of four. The moment anybody's life changes, what is
// still on the wire becomes ordinary messages (KafkaCluster::settle).
#pragma once
#include <cstdint>

#include "core/base/ring.h"
#include "sim/brokers/kafka/log.h"

namespace mqlab::sim::kafka {

/// One partition's part of a fetch response; `end` goes back with the next fetch.
struct ReplicaPart {
  PlaceId place = no_place;
  std::uint32_t epoch = 0;  ///< leader epoch it was sent in
  std::int64_t from = 0;    ///< the follower's log end that it answers
  std::uint32_t count = 0;  ///< entries; they follow each other in Channel::entries
  std::int64_t high_watermark = 0;
  std::int64_t truncate_to = -1;  ///< diverging epoch: cut the log there; no entries
  std::int64_t end = -1;  ///< set by the follower: its log end; −1 = it does not follow in that epoch
};

struct Channel {
  explicit Channel(Arena& arena) : dirty(arena), parts(arena), entries(arena) {}
  std::uint32_t generation = 0;  ///< rises when either side ends: what is on the wire is void
  bool up = true;
  bool parked = true;        ///< the fetch lies at the leader
  bool computed = false;     ///< on its way by arithmetic, as told above
  bool arrived = false;      ///< computed: the follower has the response
  bool scheduled = false;    ///< computed: the leader has an event at `back`
  std::uint32_t ticket = 0;  ///< of the latest response; voids events of those before
  Instant arrives = {};      ///< computed: when the response reaches the follower
  Instant back = {};         ///< computed: when the next fetch reaches the leader
  Instant parked_since = {};
  Vec<PlaceId> dirty;      ///< partitions with something to send, in the order in which they got it
  Vec<ReplicaPart> parts;  ///< of the response or fetch on the wire
  Vec<LogEntry> entries;   ///< of the response; each holds a reference

  /// When the follower fetched last, were it as idle as it is now: a parked fetch returns empty after
  /// replica.fetch.wait.max.ms and is sent again.
  Instant last_fetch(Instant now, Duration wait) const {
    return Instant{now.ns - (now.ns - parked_since.ns) % wait.ns};
  }
};

/// One follower asks a leader for partitions it now follows.
struct Attach {
  struct Item {
    PlaceId place = no_place;
    std::uint32_t epoch = 0;
  };
  explicit Attach(Arena& arena) : items(arena) {}
  std::uint8_t follower = 0;
  std::uint32_t generation = 0;
  Vec<Item> items;
};

}  // namespace mqlab::sim::kafka
