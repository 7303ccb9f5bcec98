#include "sim/brokers/kafka/groups.h"

#include <algorithm>

#include "core/base/check.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {

/// nullptr when this node does not coordinate the group.
Group* GroupCoordinator::find(std::uint32_t number) {
  const Partition& partition = node_.cluster().offsets_of(number);
  if (!node_.leads(partition)) return nullptr;
  if (groups_.size() <= number || groups_[number] == nullptr) load(partition);
  return groups_[number];
}

void GroupCoordinator::load(const Partition& partition) {
  if (groups_.size() <= partition.number) groups_.resize(partition.number + 1, nullptr);
  auto* group = node_.arena().make<Group>(node_.arena());
  groups_[partition.number] = group;
  group->number = partition.number;
  replay(*group, partition.replica(node_.index())->log);
  group->state = group->members.empty() ? GroupState::empty : GroupState::stable;
  for (Member* m : group->members) contact(*group, *m);  // every member is given a whole session
  if (group->members.empty() && !group->offsets.empty()) emptied(*group);
}

/// What is parked is not answered: the members find the new coordinator when
/// this one says it is none.
void GroupCoordinator::resign(std::uint32_t number) {
  if (groups_.size() <= number || groups_[number] == nullptr) return;
  Group& group = *groups_[number];
  groups_[number] = nullptr;
  for (Member* m : group.members) {
    if (m->joining != nullptr) node_.reply(m->joining, Error::not_coordinator);
    if (m->syncing != nullptr) node_.reply(m->syncing, Error::not_coordinator);
    if (m->joining == nullptr && m->syncing == nullptr && beats(*m)) {
      node_.world().network().send(node_.owner, *m->client, 60, heartbeat_event, m->id,
                                   static_cast<std::uint32_t>(Error::not_coordinator), group.generation);
    }
  }
}

// ---- joining
// -------------------------------------------------------------------------------------------------

void GroupCoordinator::join(JoinGroupRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  const KafkaBroker& v = node_.cluster().values();
  if (r->session_timeout < v.group_session_min || r->session_timeout > v.group_session_max) {
    return node_.reply(r, Error::invalid_session_timeout);
  }
  bool fresh = false;
  Member* member = identify(*group, *r, fresh);
  if (member == nullptr) return node_.reply(r, Error::unknown_member_id);
  admit(*group, *member, r, fresh);
}

/// The member that asks; a new one for id 0. A static member that comes back
/// takes over its own place under a new id, which fences the former holder.
/// nullptr when the id is not known.
Member* GroupCoordinator::identify(Group& group, JoinGroupRequest& r, bool& fresh) {
  if (r.member != 0) return group.find(r.member);
  Member* member = nullptr;
  for (Member* m : group.members) {
    if (r.static_instance != 0 && m->static_instance == r.static_instance) member = m;
  }
  if (member == nullptr) {
    // A client that asks for a new id beats under no older one any more (its
    // answer was lost, or it gave it up).
    for (Member* m : group.members) {
      if (m->client != r.reply_to || m->static_instance != 0 || m->abandoned) continue;
      m->abandoned = true;
      listen(group, *m);
    }
    member = node_.arena().make<Member>(node_.arena());
    group.members.push_back(member);
    fresh = true;
  } else {
    if (member->joining != nullptr) node_.reply(member->joining, Error::fenced_instance_id);
    if (member->syncing != nullptr) node_.reply(member->syncing, Error::fenced_instance_id);
    member->joining = nullptr;
    member->syncing = nullptr;
  }
  const bool led = group.leader == member->id && member->id != 0;
  member->id = node_.cluster().new_member();
  if (led) group.leader = member->id;
  return member;
}

/// Takes over what the member says of itself. True when it differs from before.
bool GroupCoordinator::update(Member& m, const JoinGroupRequest& r) {
  const bool same = m.cooperative == r.cooperative && m.owned == r.owned && m.topics == r.topics;
  m.static_instance = r.static_instance;
  m.process = r.from;
  m.incarnation = node_.world().incarnation(r.from);
  m.client = r.reply_to;
  m.session_timeout = r.session_timeout;
  m.rebalance_timeout = r.rebalance_timeout;
  m.heartbeat_interval = r.heartbeat_interval;
  m.cooperative = r.cooperative;
  m.owned = r.owned;
  m.topics = r.topics;
  return !same;
}

void GroupCoordinator::admit(Group& group, Member& m, JoinGroupRequest* r, bool fresh) {
  const bool changed = update(m, *r) || fresh;
  if (m.joining != nullptr) node_.drop(m.joining);
  m.joining = r;
  contact(group, m);
  switch (group.state) {
    case GroupState::preparing:
      group.newcomer = group.newcomer || fresh;
      return maybe_complete(group);
    case GroupState::completing:
      if (changed) return prepare(group);
      return answer_join(group, m);  // its first answer was lost, or it asks again
    case GroupState::stable:
      // A follower that comes back unchanged goes on; a static member even as the
      // group's leader.
      if (changed || (m.id == group.leader && m.static_instance == 0)) return prepare(group);
      answer_join(group, m);
      if (m.static_instance != 0) store(group);  // its new id
      return;
    case GroupState::empty:
      return prepare(group);
  }
}

/// A rebalance begins: everybody is to join again.
void GroupCoordinator::prepare(Group& group) {
  const bool first = group.state == GroupState::empty;
  for (Member* m : group.members) {
    if (m->syncing != nullptr) answer_sync(group, *m, Error::rebalance_in_progress);
  }
  group.state = GroupState::preparing;
  ++group.token;
  Duration longest = {};
  for (const Member* m : group.members) longest = std::max(longest, m->rebalance_timeout);
  const Duration delay = std::min(node_.cluster().values().initial_rebalance_delay, longest);
  World& world = node_.world();
  group.delaying = first && delay.ns > 0;
  if (group.delaying) {
    group.newcomer = false;
    group.delay_left = longest - delay;
    world.after(delay, node_, on_group_timer, std::uint64_t{group.token} << 32 | group.number, 0, delay_end);
    return;
  }
  for (const Member* m : group.members) {
    if (m->joining == nullptr) notify(group, *m, false);
  }
  maybe_complete(group);
  if (group.state == GroupState::preparing) {
    world.after(longest, node_, on_group_timer, std::uint64_t{group.token} << 32 | group.number, 0, join_end);
  }
}

/// The initial delay begins anew while members keep coming, up to the rebalance
/// timeout (InitialDelayedJoin).
void GroupCoordinator::delay_over(Group& group) {
  if (group.newcomer && group.delay_left.ns > 0) {
    const Duration delay = std::min(node_.cluster().values().initial_rebalance_delay, group.delay_left);
    group.newcomer = false;
    group.delay_left = group.delay_left - delay;
    node_.world().after(delay, node_, on_group_timer, std::uint64_t{group.token} << 32 | group.number, 0,
                        delay_end);
    return;
  }
  group.delaying = false;
  complete(group, true);
}

void GroupCoordinator::maybe_complete(Group& group) {
  if (group.state != GroupState::preparing || group.delaying) return;
  for (const Member* m : group.members) {
    if (m->joining == nullptr) return;
  }
  complete(group, false);
}

/// All have joined, or time is up: those that have not are out, but for static
/// members.
void GroupCoordinator::complete(Group& group, bool timed_out) {
  ++group.token;
  if (timed_out) {
    for (std::size_t i = group.members.size(); i-- > 0;) {
      Member& m = *group.members[i];
      if (m.joining == nullptr && m.static_instance == 0) remove(group, m, true);
    }
  }
  ++group.generation;
  if (group.members.empty()) {
    group.state = GroupState::empty;
    group.leader = 0;
    emptied(group);
    return store(group);
  }
  group.state = GroupState::completing;
  const Member* leader = group.find(group.leader);
  if (leader == nullptr || leader->joining == nullptr) {
    for (std::size_t i = group.members.size(); i-- > 0;) {
      if (group.members[i]->joining != nullptr) group.leader = group.members[i]->id;
    }
  }
  for (Member* m : group.members) {
    if (m->joining != nullptr) answer_join(group, *m);
  }
}

void GroupCoordinator::answer_join(Group& group, Member& m) {
  auto* answer = node_.new_answer<JoinGroupAnswer>(*m.joining);
  answer->leads = m.id == group.leader;
  answer->member = m.id;
  answer->generation = group.generation;
  node_.send_answer(*m.joining, answer, 60);
  node_.drop(m.joining);
  m.joining = nullptr;
  contact(group, m);
}

// ---- handing out
// -----------------------------------------------------------------------------------------------

void GroupCoordinator::sync(SyncGroupRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  Member* m = group->find(r->member);
  if (m == nullptr) return node_.reply(r, Error::unknown_member_id);
  if (r->generation != group->generation) return node_.reply(r, Error::illegal_generation);
  if (group->state == GroupState::preparing) return node_.reply(r, Error::rebalance_in_progress);
  if (m->syncing != nullptr) node_.drop(m->syncing);
  m->syncing = r;
  contact(*group, *m);
  if (group->state == GroupState::stable) return answer_sync(*group, *m, Error::none);
  if (m->id != group->leader) return;
  assign(*group, node_.cluster());
  store(*group);
}

/// The assignment is in the log.
void GroupCoordinator::become_stable(Group& group, Error error) {
  if (group.state != GroupState::completing) return;
  if (error != Error::none) {  // the members join again
    for (Member* m : group.members) {
      if (m->syncing != nullptr) answer_sync(group, *m, Error::coordinator_not_available);
    }
    return prepare(group);
  }
  group.state = GroupState::stable;
  for (Member* m : group.members) {
    if (m->syncing != nullptr) answer_sync(group, *m, Error::none);
  }
}

void GroupCoordinator::answer_sync(Group& group, Member& m, Error error) {
  auto* answer = node_.new_answer<SyncGroupAnswer>(*m.syncing);
  answer->error = error;
  answer->generation = group.generation;
  if (error == Error::none) answer->places = m.assigned;
  node_.send_answer(*m.syncing, answer, static_cast<std::uint32_t>(20 * answer->places.size()));
  node_.drop(m.syncing);
  m.syncing = nullptr;
  contact(group, m);
}

// ---- leaving
// -------------------------------------------------------------------------------------------------

void GroupCoordinator::leave(LeaveGroupRequest* r) {
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  Member* m = group->find(r->member);
  if (m == nullptr) return node_.reply(r, Error::unknown_member_id);
  node_.reply(r, Error::none);
  remove(*group, *m, false);
  if (group->modern) {
    regroup(*group);
  } else if (group->state == GroupState::preparing) {
    maybe_complete(*group);
  } else if (group->state != GroupState::empty) {
    prepare(*group);
  }
}

/// Takes a member out. `tell`: it is not aware of it; its next heartbeat will
/// say so.
void GroupCoordinator::remove(Group& group, Member& m, bool tell) {
  std::erase(group.members, &m);
  if (m.joining != nullptr) node_.reply(m.joining, Error::unknown_member_id);
  if (m.syncing != nullptr) node_.reply(m.syncing, Error::unknown_member_id);
  m.joining = nullptr;
  m.syncing = nullptr;
  ++m.token;
  m.expelled = true;
  if (!tell) return;
  group.gone.push_back(&m);
  notify(group, m, false);
}

void GroupCoordinator::heartbeat(HeartbeatRequest* r) {
  if (r->consumer_protocol) return report(r);
  Group* group = find(r->group);
  if (group == nullptr) return node_.reply(r, Error::not_coordinator);
  Member* m = group->find(r->member);
  if (m == nullptr) return node_.reply(r, Error::unknown_member_id);
  if (r->generation != group->generation) return node_.reply(r, Error::illegal_generation);
  contact(*group, *m);
  // (While the members wait for the assignment their heartbeats are taken as
  // usual ones.)
  node_.reply(r, group->state == GroupState::preparing ? Error::rebalance_in_progress : Error::none);
}

void GroupCoordinator::timer(const SimEvent& event) {
  const auto number = static_cast<std::uint32_t>(event.a);
  const auto token = static_cast<std::uint32_t>(event.a >> 32);
  if (groups_.size() <= number || groups_[number] == nullptr) return;
  Group& group = *groups_[number];
  switch (event.y) {
    case beat:
      return beat_due(group, event.x);
    case session_end:
      return session_over(group, event.x, token);
    case join_end:
      if (token == group.token && group.state == GroupState::preparing) complete(group, true);
      return;
    case delay_end:
      if (token == group.token && group.delaying) delay_over(group);
      return;
    case revoke_end:
      return revoke_over(group, event.x, token);
    case offsets_end:
      return offsets_over(group, token);
    default:
      MQLAB_CHECK(false && "unknown group timer");
  }
}

}  // namespace mqlab::sim::kafka
