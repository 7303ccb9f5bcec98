// Copies the messages of one stream into another: what a mirror, or one of a stream's sources, is.
//
// The copying stream's leader keeps a consumer on its origin, without acknowledgements, that begins behind
// what it holds. A new leader makes it anew at once; one that hears nothing of it for 10 s does so too.
// [nats-server: stream.go setupMirrorConsumer, processMirrorMsgs, sourceHealthCheckInterval]
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "sim/brokers/nats/protocol.h"

namespace mqlab::sim::nats {

class NatsCluster;
class Stream;

/// Messages on their way from an origin to its copy.
struct Copies {
  struct One {
    std::int64_t sequence;
    Record record;
    Bytes payload;
  };
  explicit Copies(Arena& arena) : messages(arena) {}
  std::uint32_t session = 0;
  Vec<One> messages;
};

class Copier {
 public:
  /// `index` names it in events; `origin` among those of `to`.
  Copier(NatsCluster& cluster, Stream& from, Stream& to, std::uint32_t index, std::uint32_t origin);

  /// The origin may have more.
  void offer();
  void arrived(ProcessId node, Copies* copies);
  /// A stream was restored by its server, or has another leader.
  void is_back(const Stream& stream);
  /// Something happened to a server or to the network.
  void look();
  void check(std::uint32_t generation);

 private:
  bool hears() const;
  void begin();

  NatsCluster& cluster_;
  Stream& from_;
  Stream& to_;
  std::uint32_t index_;
  std::uint32_t origin_;
  std::uint32_t session_ = 0;  ///< of the consumer on the origin
  std::int64_t next_ = 1;      ///< of the origin, to be sent
  // The servers of the session.
  ProcessId sender_ = no_process, receiver_ = no_process;
  Incarnation sender_life_ = 0;
  Instant begun_ = {};
  bool watching_ = false;
  std::uint32_t generation_ = 0;
};

}  // namespace mqlab::sim::nats
