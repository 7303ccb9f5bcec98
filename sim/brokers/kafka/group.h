// A consumer group as its coordinator holds it, of the classic or of the
// consumer protocol (KIP-848).
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/scenario/topology.h"
#include "sim/brokers/kafka/protocol.h"

namespace mqlab::sim::kafka {

class KafkaCluster;

struct Member {
  explicit Member(Arena& arena)
      : owned(arena), topics(arena), assigned(arena), target(arena), revoking(arena), before(arena) {}
  std::uint32_t id = 0;
  std::uint32_t static_instance = 0;
  ProcessId process = no_process;
  Incarnation incarnation = 0;
  Component* client = nullptr;
  Duration session_timeout = {};
  Duration rebalance_timeout = {};
  Duration heartbeat_interval = {};
  bool cooperative = false;
  bool expelled = false;    ///< no longer a member, but not told yet
  bool abandoned = false;   ///< its client has joined as another member since
  bool silent = false;      ///< its heartbeats do not come
  std::uint32_t token = 0;  ///< voids a session's end that was scheduled
  Instant beats_from = {};  ///< a heartbeat then, and each interval after
  Vec<PlaceId> owned;       ///< as of its latest join
  Vec<TopicId> topics;
  Vec<PlaceId> assigned;
  JoinGroupRequest* joining = nullptr;  ///< parked
  SyncGroupRequest* syncing = nullptr;  ///< parked
  // Consumer protocol. `assigned` is what it may hold.
  std::uint32_t epoch = 0;         ///< of the group, as far as this member has followed it
  std::uint32_t revoke_token = 0;  ///< voids the end of its time to give back
  bool news_due = false;           ///< its next heartbeat will tell it
  Vec<PlaceId> target;             ///< what it will hold in the end
  Vec<PlaceId> revoking;           ///< what it has to give back first
  Vec<PlaceId> before;             ///< scratch of the assignor
};

/// kafka ClassicGroupState, without Dead.
enum class GroupState : std::uint8_t { empty, preparing, completing, stable };

struct Group {
  explicit Group(Arena& arena) : members(arena), gone(arena), offsets(arena), pending(arena) {}
  struct PendingOffset {  ///< in a transaction without outcome
    std::int64_t producer = -1;
    PlaceId place = no_place;
    std::int64_t offset = -1;
  };
  std::uint32_t number = 0;
  bool modern = false;  ///< consumer protocol: `generation` is the group's
                        ///< epoch, nobody waits for all
  GroupState state = GroupState::empty;
  std::uint32_t generation = 0;
  std::uint32_t leader = 0;  ///< member id
  std::uint32_t token = 0;   ///< voids the timers of an earlier rebalance
  bool delaying = false;     ///< the initial delay of an empty group's first rebalance
  bool newcomer = false;     ///< somebody joined during it
  Duration delay_left = {};  ///< by how much it may still be extended
  Vec<Member*> members;      ///< by id
  Vec<Member*> gone;         ///< expelled, not told yet
  Vec<CommittedOffset> offsets;
  Vec<PendingOffset> pending;

  Member* find(std::uint32_t id) const {
    for (Member* m : members) {
      if (m->id == id) return m;
    }
    return nullptr;
  }
  void set_offset(const CommittedOffset& offset) {
    for (CommittedOffset& o : offsets) {
      if (o.place == offset.place) {
        o = offset;
        return;
      }
    }
    offsets.push_back(offset);
  }
};

/// What the group leader's client would hand out: cooperative-sticky when all
/// members speak it, else range, which both client libraries prefer by default.
/// Sets Member::assigned.
void assign(Group& group, KafkaCluster& cluster);
/// Consumer protocol: Member::target, by the coordinator itself; `range`, else
/// uniform and sticky (kafka UniformAssignor, RangeAssignor of
/// group.consumer.assignors).
void assign_targets(Group& group, KafkaCluster& cluster, bool range);

}  // namespace mqlab::sim::kafka
