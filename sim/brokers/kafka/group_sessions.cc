// Sessions of group members by arithmetic: whether their heartbeats come, when
// the next one would, when a session ends.
#include <algorithm>

#include "sim/brokers/kafka/groups.h"
#include "sim/world.h"

namespace mqlab::sim::kafka {

/// Its process runs, in the same life, its client still goes by that id, and
/// the two hear each other.
bool GroupCoordinator::beats(const Member& m) const {
  World& world = node_.world();
  return !m.abandoned && world.running(m.process) && world.incarnation(m.process) == m.incarnation &&
         world.network().reachable(m.process, node_.owner) &&
         world.network().reachable(node_.owner, m.process);
}

Instant GroupCoordinator::next_beat(const Member& m) const {
  const std::int64_t past = (node_.world().now() - m.beats_from).ns;
  return m.beats_from + m.heartbeat_interval * (past / m.heartbeat_interval.ns + 1);
}

/// A request of the member came, or an answer of its goes out: its session
/// begins anew.
void GroupCoordinator::contact(Group& group, Member& m) {
  ++m.token;
  m.beats_from = node_.world().now();
  m.silent = !beats(m);
  if (m.silent) schedule_session_end(group, m);
}

void GroupCoordinator::schedule_session_end(const Group& group, const Member& m) {
  const Instant at = std::max(m.beats_from + m.session_timeout, node_.world().now());
  node_.world().schedule(at, node_, on_group_timer, std::uint64_t{m.token} << 32 | group.number, m.id,
                         session_end);
}

void GroupCoordinator::life_changed(ProcessId process, LifeChange change) {
  const bool all = change == LifeChange::cut || change == LifeChange::joined;
  for (Group* group : groups_) {
    if (group == nullptr) continue;
    for (Member* m : group->members) {
      if (all || m->process == process) listen(*group, *m);
    }
    if (change != LifeChange::resumed && !all) continue;
    for (const Member* m : group->gone) {
      if (all || m->process == process) notify(*group, *m, true);
    }
  }
}

/// Counts a session from the last heartbeat that came; heartbeats that are
/// overdue come at once.
void GroupCoordinator::listen(Group& group, Member& m) {
  const bool silent = !beats(m);
  if (silent == m.silent) return;
  m.silent = silent;
  ++m.token;
  const Instant now = node_.world().now();
  if (silent) {
    if (m.heartbeat_interval.ns > 0) m.beats_from = next_beat(m) - m.heartbeat_interval;
    schedule_session_end(group, m);
  } else {
    m.beats_from = now;
    const bool waited_for = group.state == GroupState::preparing && m.joining == nullptr;
    if (waited_for || (group.modern && has_news(group, m))) notify(group, m, true);
  }
}

/// A member whose request is parked counts as alive (kafka
/// ClassicGroupMember.hasSatisfiedHeartbeat).
void GroupCoordinator::session_over(Group& group, std::uint32_t id, std::uint32_t token) {
  Member* m = group.find(id);
  if (m == nullptr || m->token != token || m->joining != nullptr || m->syncing != nullptr || beats(*m))
    return;
  remove(group, *m, true);
  if (group.modern) return regroup(group);
  if (group.state == GroupState::preparing) return maybe_complete(group);
  if (group.state != GroupState::empty) prepare(group);
}

/// What the member's next heartbeat will be answered is sent when it would be;
/// `now`: heartbeats are overdue.
void GroupCoordinator::notify(const Group& group, const Member& m, bool now) {
  World& world = node_.world();
  if (!beats(m)) return;  // when it is back
  const Instant at = now || m.heartbeat_interval.ns <= 0 ? world.now() : next_beat(m);
  const Duration way = world.network().delay(m.process, node_.owner);
  world.schedule(at + way, node_, on_group_timer, group.number, m.id, beat);
}

void GroupCoordinator::beat_due(Group& group, std::uint32_t id) {
  Member* m = group.find(id);
  const auto gone =
      std::find_if(group.gone.begin(), group.gone.end(), [&](const Member* g) { return g->id == id; });
  Error error = Error::none;
  if (m != nullptr) m->news_due = false;
  if (m != nullptr && group.state == GroupState::preparing && m->joining == nullptr) {
    error = Error::rebalance_in_progress;
  } else if (m != nullptr && group.modern && has_news(group, *m)) {
    error = Error::rebalance_in_progress;  // stands for an answer that brings
                                           // another assignment
    m->news_due = beats(*m);               // until it has been taken
    notify(group, *m, false);
  } else if (m == nullptr && gone != group.gone.end()) {
    m = *gone;
    error = Error::unknown_member_id;
  }
  if (error == Error::none || !beats(*m)) return;
  if (error == Error::unknown_member_id) group.gone.erase(gone);
  node_.world().network().send(node_.owner, *m->client, 60, heartbeat_event, m->id,
                               static_cast<std::uint32_t>(error), group.modern ? m->epoch : group.generation);
}

}  // namespace mqlab::sim::kafka
