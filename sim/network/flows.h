// Messages over a fabric: each connection sends one message after the other, and each message is a flow that
// shares the links with those of other connections.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/base/ring.h"
#include "core/base/time.h"
#include "sim/network/fabric.h"
#include "sim/queue.h"

namespace mqlab::sim {

class World;

class Flows {
 public:
  Flows(World& world, Fabric& fabric, std::uint32_t processes);

  /// `event` is due at its target when the last byte is there. `held`: how long the first byte waits, and
  /// what is behind it on this connection with it.
  void send(ProcessId from, ProcessId to, std::uint32_t bytes, const SimEvent& event, Duration held);
  /// Lets flows end, up to the world's next event or `horizon`; their messages are then in the world's queue.
  void advance(Instant horizon);
  /// A new connection: what is still under way on the old one no longer holds up what follows.
  void reconnected(ProcessId from, ProcessId to) { current_[index(from, to)] = nullptr; }

  struct Message {
    SimEvent event;
    Instant release;  ///< no byte leaves before
    std::uint32_t bytes;
  };
  /// Stops what is not yet through from one process to another and hands it to `take`, oldest first.
  template <class Take>
  void stop(ProcessId from, ProcessId to, Take&& take) {
    for (Stream* stream : streams_) {
      if (stream->from != from || stream->to != to) continue;
      abandon(*stream);
      for (; !stream->waiting.empty(); stream->waiting.pop_front()) take(stream->waiting.front());
    }
    forget_idle();
  }

 private:
  struct Stream {
    Stream(Arena& arena, ProcessId f, ProcessId t) : waiting(arena), from(f), to(t) {}
    Ring<Message> waiting;   ///< the first is the one under way, if any is
    std::uint64_t flow = 0;  ///< 0: none is
    ProcessId from, to;
  };
  std::size_t index(ProcessId from, ProcessId to) const { return std::size_t{from} * processes_ + to; }
  void begin(Stream& stream, Instant now);
  void abandon(Stream& stream);
  void ended(const Fabric::Ended& ended);
  Instant first_release(Instant until) const;
  void forget_idle();

  World& world_;
  Fabric& fabric_;
  std::uint32_t processes_;
  std::uint64_t flows_ = 0;  // begun so far
  Vec<Stream*> current_;     // by connection
  Vec<Stream*> streams_;     // with something under way or waiting, oldest first
};

}  // namespace mqlab::sim
