// Groups of the consumer protocol (KIP-848): the coordinator assigns, and each
// member goes from what it holds to its target by itself. A partition is given
// to its next owner once its last one has reported that it no longer holds it;
// nobody waits for all. Rules: kafka
// GroupMetadataManager.consumerGroupHeartbeat, CurrentAssignmentBuilder,
// ConsumerGroup.
#include <algorithm>

#include "sim/brokers/kafka/groups.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {
namespace {

bool contains(const Vec<PlaceId>& places, PlaceId place) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace

/// A member's heartbeat: it joins with epoch 0, reports what it holds, and is
/// told what it may hold.
void GroupCoordinator::report(HeartbeatRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  group->modern = true;
  Member* m = nullptr;
  if (r->member == 0 || r->generation == 0) {
    m = admit(*group, *r);
    if (m == nullptr) return node_.reply(r, Error::unreleased_instance_id);
  } else {
    m = group->find(r->member);
    if (m == nullptr) return node_.reply(r, Error::unknown_member_id);
    if (r->generation != m->epoch) return node_.reply(r, Error::fenced_member_epoch);
  }
  const bool changed = m->epoch == 0 || m->topics != r->topics;
  m->process = r->from;
  m->incarnation = node_.world().incarnation(r->from);
  m->client = r->reply_to;
  m->rebalance_timeout = r->rebalance_timeout;
  m->owned = r->owned;
  m->topics = r->topics;
  r->member = m->id;
  contact(*group, *m);
  if (changed) regroup(*group, m);
  reconcile(*group, *m);
  tell_others(*group, m);
  store(*group, r);
}

/// A new member, or one that begins anew. nullptr: a static one whose former
/// holder has not left.
Member* GroupCoordinator::admit(Group& group, HeartbeatRequest& r) {
  const KafkaBroker& v = node_.cluster().values();
  Member* m = r.member == 0 ? nullptr : group.find(r.member);
  for (Member* other : group.members) {
    if (other == m) continue;
    if (r.static_instance != 0 && other->static_instance == r.static_instance) return nullptr;
    if (other->client != r.reply_to || other->static_instance != 0 || other->abandoned) continue;
    other->abandoned = true;  // its client goes by another id from now on
    listen(group, *other);
  }
  if (m == nullptr) {
    m = node_.arena().make<Member>(node_.arena());
    m->id = node_.cluster().new_member();
    m->static_instance = r.static_instance;
    group.members.push_back(m);
  }
  m->session_timeout = v.consumer_session_timeout;
  m->heartbeat_interval = v.consumer_heartbeat_interval;
  m->epoch = 0;
  m->assigned.clear();
  m->revoking.clear();
  return m;
}

void GroupCoordinator::grown(TopicId topic) {
  const auto reads = [&](const Member* m) { return std::ranges::find(m->topics, topic) != m->topics.end(); };
  for (Group* group : groups_) {
    if (group != nullptr && group->modern && std::ranges::any_of(group->members, reads)) regroup(*group);
  }
}

/// Members or topics changed: the group's epoch rises, targets are set anew.
void GroupCoordinator::regroup(Group& group, const Member* except) {
  ++group.generation;
  group.state = group.members.empty() ? GroupState::empty : GroupState::stable;
  if (group.members.empty()) emptied(group);
  assign_targets(group, node_.cluster(), node_.cluster().values().consumer_range);
  tell_others(group, except);
}

bool GroupCoordinator::held_by_other(const Group& group, const Member& m, PlaceId place) const {
  return std::any_of(group.members.begin(), group.members.end(), [&](const Member* other) {
    return other != &m && (contains(other->assigned, place) || contains(other->revoking, place));
  });
}

/// One step of the member towards its target (CurrentAssignmentBuilder).
void GroupCoordinator::reconcile(Group& group, Member& m) {
  const auto holds = [&](PlaceId place) { return contains(m.owned, place); };
  if (std::any_of(m.revoking.begin(), m.revoking.end(), holds)) return;  // UNREVOKED_PARTITIONS
  m.revoking.clear();
  ++m.revoke_token;
  for (const PlaceId place : m.assigned) {
    if (!contains(m.target, place) && holds(place)) m.revoking.push_back(place);
  }
  std::erase_if(m.assigned, [&](PlaceId place) { return !contains(m.target, place); });
  if (!m.revoking.empty()) {  // it stays in its epoch until it has given back,
                              // within its rebalance timeout
    node_.world().after(m.rebalance_timeout, node_, on_group_timer,
                        std::uint64_t{m.revoke_token} << 32 | group.number, m.id, revoke_end);
    return;
  }
  m.epoch = group.generation;
  for (const PlaceId place : m.target) {  // what others still hold: UNRELEASED_PARTITIONS
    if (!contains(m.assigned, place) && !held_by_other(group, m, place)) m.assigned.push_back(place);
  }
  std::sort(m.assigned.begin(), m.assigned.end());
}

/// Whether its next heartbeat would be answered with another assignment or
/// epoch.
bool GroupCoordinator::has_news(const Group& group, const Member& m) const {
  if (!m.revoking.empty()) return false;
  if (m.epoch != group.generation) return true;
  return std::any_of(m.target.begin(), m.target.end(), [&](PlaceId place) {
    return !contains(m.assigned, place) && !held_by_other(group, m, place);
  });
}

void GroupCoordinator::tell_others(Group& group, const Member* except) {
  for (Member* m : group.members) {
    if (m == except || m->news_due || !has_news(group, *m)) continue;
    m->news_due = beats(*m);
    notify(group, *m, false);
  }
}

void GroupCoordinator::answer_report(Group& group, HeartbeatRequest* r) {
  const Member* m = group.find(r->member);
  if (m == nullptr) return node_.reply(r, Error::unknown_member_id);
  auto* answer = node_.new_answer<HeartbeatAnswer>(*r);
  answer->member = m->id;
  answer->generation = m->epoch;
  answer->places = m->assigned;
  node_.send_answer(*r, answer, static_cast<std::uint32_t>(20 * answer->places.size()));
  node_.drop(r);
}

/// It has not given back in time: fenced
/// (scheduleConsumerGroupRebalanceTimeout).
void GroupCoordinator::revoke_over(Group& group, std::uint32_t id, std::uint32_t token) {
  Member* m = group.find(id);
  if (m == nullptr || m->revoke_token != token || m->revoking.empty()) return;
  remove(group, *m, true);
  regroup(group);
}

}  // namespace mqlab::sim::kafka
