// A partition: what the controller decided, and the replicas with what each node holds of them.
#pragma once
#include <cstdint>

#include "core/base/limits.h"
#include "core/base/ring.h"
#include "sim/brokers/kafka/log.h"
#include "sim/brokers/kafka/pending.h"
#include "sim/brokers/kafka/producer_ledger.h"

namespace mqlab::sim::kafka {

using NodeIndex = std::uint8_t;  ///< of a node within its cluster, from 0
using NodeSet = std::uint16_t;   ///< one bit a node; limits::nodes fits
inline constexpr NodeIndex no_node = 0xff;
constexpr NodeSet set_of(NodeIndex node) { return static_cast<NodeSet>(1u << node); }
constexpr bool has(NodeSet set, NodeIndex node) { return (set >> node & 1u) != 0; }
constexpr std::uint32_t size_of(NodeSet set) {  // (few bits; std::popcount is a call on a plain x86-64)
  std::uint32_t n = 0;
  for (std::uint32_t left = set; left != 0; left &= left - 1) ++n;
  return n;
}

/// What the controller decides about a partition; nodes learn it by metadata updates.
struct Decision {
  NodeIndex leader = no_node;
  NodeSet isr = 0;
  std::uint32_t leader_epoch = 0;
  std::uint32_t version = 0;  ///< partition epoch: rises with every change
  bool operator==(const Decision&) const = default;
};

/// What a leader knows of one follower (kafka Replica.updateFetchStateOrThrow).
struct Progress {
  std::int64_t end = -1;  ///< its log end as of its latest fetch; −1 = has not fetched in this epoch
  std::int64_t truncate_to = -1;  ///< tell it to cut its log there first
  std::int64_t leader_end = 0;    ///< the leader's log end at that fetch
  Instant fetched = {};           ///< when that fetch came
  Instant caught_up = {};         ///< when it was last known to have everything
  bool dirty = false;             ///< there is something to send: listed in Channel::dirty
};

/// Whoever waits until everything below `offset` is replicated to the in-sync replicas.
struct Waiter {
  std::int64_t offset = 0;
  Pending* pending = nullptr;
  std::uint32_t part = 0;
};

/// A leader's state of one partition. Made when a replica becomes leader, dropped when it resigns.
struct Leadership {
  Leadership(Arena& arena, std::uint32_t replicas)
      : ledger(arena), followers(arena), waiters(arena), fetches(arena) {
    followers.resize(replicas);
  }
  std::uint32_t epoch = 0;
  std::uint32_t version = 0;  ///< of the decision it knows
  NodeSet isr = 0;            ///< as decided
  NodeSet attached = 0;       ///< followers that fetch in this epoch
  NodeSet joining = 0;  ///< asked of the controller; counted for the high watermark already (maximal ISR)
  NodeSet asked = 0;    ///< the ISR that was asked for; 0 = nothing under way
  std::int64_t epoch_start = 0;  ///< log end when it became leader
  ProducerLedger ledger;
  Vec<Progress> followers;    ///< by slot of the assignment; the leader's own is unused
  Ring<Waiter> waiters;       ///< by offset
  Vec<ParkedFetch*> fetches;  ///< waiting for data of this partition
};

struct Replica {
  explicit Replica(Arena& arena) : log(arena) {}
  Log log;
  std::int64_t high_watermark = 0;
  Leadership* lead = nullptr;  ///< while its node leads the partition
};

enum class Use : std::uint8_t { records, offsets, transactions };

struct Partition {
  PlaceId place = no_place;
  Use use = Use::records;
  std::uint32_t number = 0;  ///< offsets: the group; transactions: the transactional id
  std::uint8_t replication = 1;
  NodeIndex node_of_slot[limits::nodes] = {};     ///< where replica i lies: the order of the assignment
  std::uint8_t slot_of_node[limits::nodes] = {};  ///< replication = nowhere
  KafkaTopic topic;
  Replica* replicas = nullptr;  ///< `replication` of them

  Decision decided;
  NodeSet eligible = 0;             ///< KIP-966: eligible leader replicas
  NodeIndex last_leader = no_node;  ///< last known leader while nobody is in sync

  /// The replica number of a node; ≥ replication when it has none.
  std::uint32_t slot(NodeIndex node) const { return slot_of_node[node]; }
  NodeIndex node(std::uint32_t s) const { return node_of_slot[s]; }
  Replica* replica(NodeIndex node_index) const {
    const std::uint32_t s = slot(node_index);
    return s < replication ? &replicas[s] : nullptr;
  }
};

}  // namespace mqlab::sim::kafka
