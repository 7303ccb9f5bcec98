// The connections of one client to the nodes of its cluster: requests under way and their time limits,
// connections lost and made again, which node leads what.
//
// Making a connection is not simulated message by message: its two round trips (TCP, ApiVersions) delay the
// first request, and a node that is dead, paused or cut off takes no connection until it is back. Attempts in
// between are computed from the back-off.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/base/time.h"
#include "core/faults/anchor.h"
#include "core/scenario/kafka_settings.h"
#include "sim/brokers/kafka/protocol.h"
#include "sim/clients/kafka/timer.h"

namespace mqlab::sim::kafka::client {

class KafkaClient;

using NodeIndex = std::uint16_t;
inline constexpr NodeIndex no_node = 0xffff;

/// A request whose answer has not come yet.
struct Pending {
  std::uint32_t correlation = 0;
  RequestKind kind = RequestKind::none;
  NodeIndex node = no_node;
  bool done = false;
  bool parks = false;  ///< late only while its node is silent
  Instant deadline = {};
  std::uint64_t context = 0;  ///< the sender's own
};

class Wire {
 public:
  Wire(KafkaClient& client, const KafkaConnection& settings, std::span<Component* const> nodes,
       PlaceId places);

  /// Sends `request`, which goes over to the node. A fetch counts as late only while its node is silent:
  /// parked ones are renewed by arithmetic. Returns its correlation.
  template <class R>
  std::uint32_t send(NodeIndex node, RequestKind kind, R* request, std::uint32_t bytes, Duration timeout,
                     std::uint64_t context = 0) {
    return send_request(node, kind, request, reinterpret_cast<std::uint64_t>(request), bytes, timeout,
                        context);
  }
  /// No answer to this request is waited for (any more).
  void forget(NodeIndex node, std::uint32_t correlation);

  /// Whether a request would go out now: connected as far as the client knows, or connectable.
  bool usable(NodeIndex node) const;
  /// Whether it will be usable once its reconnect back-off has passed: KafkaClient::node_usable tells when.
  bool reconnecting(NodeIndex node) const;
  /// Some usable node, each in turn; no_node when there is none.
  NodeIndex any();
  NodeIndex leader(PlaceId place) const { return leaders_[place]; }
  std::int64_t leader_epoch(PlaceId place) const { return epochs_[place]; }
  /// Somebody knows of this epoch: the leader that we know is of the past if its own is lower.
  void seen_epoch(PlaceId place, std::int64_t epoch);
  /// Whether the metadata show the topic with all its partitions.
  bool grown(TopicId topic) const { return std::ranges::find(grown_, topic) != grown_.end(); }
  NodeIndex index_of(ProcessId process) const;
  /// Until when Java's client sends nothing over the connection that such requests take (KIP-219). librdkafka
  /// only tells its application, if that wants to know. [rd_kafka_op_throttle_time]
  Instant holds_until(NodeIndex node, RequestKind kind) const;
  NodeIndex size() const { return static_cast<NodeIndex>(nodes_.size()); }

  /// Asks for metadata as soon as its back-off allows.
  void refresh();
  void disconnect(NodeIndex node, Error reason);
  /// Before attempt n + 1 (n ≥ 1): exponential, ±20 % (KIP-580; librdkafka takes the limit after the jitter).
  Duration backoff(std::uint32_t attempt);
  const KafkaConnection& settings() const { return settings_; }

  // ---- for the client ----
  void start();
  void life_changed(ProcessId process, LifeChange change);
  void timeouts_fired(const SimEvent& event);
  void reconnect_fired(const SimEvent& event);
  void metadata_fired(const SimEvent& event);
  void refresh_fired(const SimEvent& event);
  void disconnected(const SimEvent& event);
  /// Takes the answer's request off the list; false for an answer nobody waits for.
  bool take(const Answer& answer, Pending& into);
  /// An answer said that the node reads nothing more for so long.
  void throttled(const Pending& pending, Duration time);
  void metadata(MetadataAnswer* answer);
  void metadata_failed();

 private:
  enum class Link : std::uint8_t { fresh, up, down };
  /// A node is reached over several connections of their own: the producer's, the transaction coordinator's
  /// (librdkafka has a logical broker for it), the consumer's for fetches, its group coordinator's. A fault
  /// that holds a request back, or loses an answer, concerns one of them.
  static constexpr std::size_t channels = 4;
  static constexpr std::size_t coordinator_channel =
      1;  ///< librdkafka: to the transaction coordinator, of its own
  std::size_t channel(RequestKind kind) const;
  struct Node {
    explicit Node(Arena& arena) : pending(arena) {}
    Component* component = nullptr;
    ProcessId process = no_process;
    Link link = Link::fresh;
    bool silent = false;           ///< nothing can come back: dead without notice, paused or cut off
    bool lost_power = false;       ///< its old connection will be reset when it is back
    std::uint32_t generation = 0;  ///< of the connection
    Instant retry_at = {};
    Instant down_since = {};
    Instant held_until[channels] = {};  ///< when the latest request that a fault held back arrives
    std::uint32_t deaf_from[channels] =
        {};  ///< an answer was lost: none from this correlation on arrives; 0 = none
    Instant throttled_until[channels] = {};
    Ring<Pending> pending;
  };

  std::uint32_t send_request(NodeIndex node, RequestKind kind, Request* request, std::uint64_t address,
                             std::uint32_t bytes, Duration timeout, std::uint64_t context);
  void transmit(Node& node, std::size_t over, std::uint64_t address, std::uint32_t bytes, Duration held,
                Duration connecting);
  bool reachable(const Node& node) const;
  Instant deadline(Duration timeout, std::size_t over) const;
  void arm_reconnect(Node& node);
  void look_again(NodeIndex node, bool came_back);
  void try_metadata();
  void note_grown(const Vec<TopicId>& grown);
  std::uint64_t jitter();

  KafkaClient& client_;
  const KafkaConnection& settings_;
  Vec<Node> nodes_;
  Vec<NodeIndex> leaders_;     ///< by place
  Vec<std::uint32_t> epochs_;  ///< by place: of the leader we know
  Vec<TopicId> grown_;         ///< topics known to have all their partitions
  std::uint32_t next_correlation_ = 1;
  std::uint32_t draws_ = 0;
  NodeIndex turn_ = 0;
  bool up_ = false;
  bool wants_metadata_ = false;
  bool asking_metadata_ = false;
  std::uint32_t metadata_attempts_ = 0;
  Instant metadata_at_ = {};
  Timer timeouts_, reconnect_, metadata_timer_, refresh_;
};

/// Which node coordinates a group or a transactional id.
class Coordinator {
 public:
  /// `who` comes back as the context of its requests.
  Coordinator(bool transaction, std::uint32_t key, std::uint16_t timer_kind, std::uint8_t who)
      : transaction_(transaction), who_(who), timer_kind_(timer_kind), key_(key) {}

  /// no_node while it is not known or not usable; then it is being looked for.
  NodeIndex node(KafkaClient& client);
  bool known() const { return node_ != no_node; }
  NodeIndex last() const { return node_; }
  void lost() { node_ = no_node; }

  // ---- for the client ----
  /// Whether it is known now.
  bool answered(KafkaClient& client, const FindCoordinatorAnswer& answer);
  void failed(KafkaClient& client);
  void timer_fired(KafkaClient& client, const SimEvent& event);
  /// Goes on looking, where it is wanted.
  void find(KafkaClient& client);

 private:
  bool transaction_;
  bool wanted_ = false;
  bool asking_ = false;
  std::uint8_t who_;
  std::uint16_t timer_kind_;
  std::uint32_t key_;
  NodeIndex node_ = no_node;
  std::uint32_t attempts_ = 0;
  Timer timer_;
};

}  // namespace mqlab::sim::kafka::client
