#include "sim/world.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/seam/transcript.h"
#include "sim/process.h"
#include "sim/store.h"
#include "sim/world_faults.h"

namespace mqlab::sim {

World::World(const Setup& setup, std::size_t arena_bytes) : setup_(setup), arena_(arena_bytes) {}

void World::begin(const Schedule& schedule, std::span<const Fault> faults) {
  arena_.reset();
  history_.clear();
  schedule_ = &schedule;
  state_ = arena_.make<State>(arena_);
  State& s = *state_;
  s.seed = schedule.seed;
  s.zero_jitter = schedule.zero_jitter;
  const Topology& t = setup_.topology;
  s.lives.resize(t.processes.size());
  begin_order();
  s.processes.resize(t.processes.size(), nullptr);
  s.components.reserve(4 * t.processes.size());
  s.network = arena_.make<Network>(*this, static_cast<std::uint32_t>(t.processes.size()));
  s.heals = arena_.make<Heals>(*this);
  add(*s.heals, t.lab);
  s.stores.resize(t.topics.size(), nullptr);
  for (TopicId i = 0; i < t.topics.size(); ++i) {
    if (t.topics[i].kind != TopicKind::store) continue;
    s.stores[i] = arena_.make<Store>(*this, i);
    add(*s.stores[i], t.lab);
  }
  for (const auto& plan : setup_.clusters) s.clusters.push_back(plan->make(*this));
  for (std::size_t p = 0; p < t.processes.size(); ++p) {
    if (setup_.modules[p] == nullptr) continue;
    s.processes[p] = arena_.make<Process>(*this, static_cast<ProcessId>(p));
    add(*s.processes[p], static_cast<ProcessId>(p));
  }
  faults_ = faults;
  s.matcher.arm(faults);
  arm_timed();
  for (std::size_t p = 0; p < t.processes.size(); ++p) {
    if (t.processes[p].spare) {
      s.lives[p].alive = s.lives[p].begun = false;
    } else if (s.processes[p] != nullptr) {
      s.processes[p]->born();
    }
  }
  drain_soon();
}

void World::extend(std::span<const Fault> faults, std::uint32_t seen) {
  faults_ = faults;
  const bool waits = state_->matcher.timed() != nullptr;  // for a time that is in the queue already
  state_->matcher.extend(faults, seen);
  if (!waits) arm_timed();
}

void World::add(Component& component, ProcessId owner) {
  MQLAB_CHECK(state_->components.size() < 0xffff);
  component.owner = owner;
  component.id = static_cast<std::uint16_t>(state_->components.size());
  state_->components.push_back(&component);
}

bool World::step() {
  State& s = *state_;
  if (s.over) return false;
  drain_soon();  // what was asked for between two steps
  // The time in which nothing may happen any more does not count: it can be longer than the horizon itself.
  const Instant latest = Instant{} + setup_.scenario.limits.horizon + setup_.settle;
  s.network->advance(latest);
  const bool beyond =
      s.steps >= limits::sim_events_per_run || (!s.queue.empty() && s.queue.top().at > latest);
  if (s.queue.empty() || at_rest() || beyond) {
    finish();
    return false;
  }
  const SimEvent event = s.reorders ? take_next() : s.queue.pop();
  s.now = event.at;
  ++s.steps;
  dispatch(event);
  drain_soon();
  return true;
}

void World::drain_soon() {
  while (!state_->soon.empty()) {
    const SimEvent event = state_->soon.front();
    state_->soon.pop_front();
    dispatch(event);
  }
}

void World::dispatch(const SimEvent& event) {
  State& s = *state_;
  Component* component = s.components[event.component];
  if (component == nullptr) return;
  const Life& life = s.lives[component->owner];
  if (!life.alive || life.life != event.life) return;
  if (life.doomed) {  // also while it is paused: SIGKILL ends a stopped process
    if (event.kind == Process::die) component->on(event);
  } else if (life.paused > 0) {
    s.stash.push_back(event);
  } else {
    component->on(event);
  }
}

/// Nothing is under way, and nothing that is still to come lies within the time after which the system counts
/// as idle: what is left are timers of idle clients and brokers.
bool World::at_rest() const {
  const State& s = *state_;
  if (s.active_faults > 0 || s.busy_workloads > 0 || s.matcher.timed() != nullptr) return false;
  return s.queue.top().at > s.last_activity + setup_.settle;
}

void World::finish() {
  State& s = *state_;
  s.over = true;
  const bool quiet = s.active_faults == 0 && s.busy_workloads == 0 && (s.queue.empty() || at_rest());
  const Instant rest = s.last_activity + setup_.settle;
  if (quiet && rest > s.now) s.now = rest;
  Row& mark = row(setup_.topology.lab, Kind::quiet, quiet ? Phase::ok : Phase::fail);
  mark.flags = quiet ? std::uint16_t{0} : flag::timed_out;
  for (Cluster* cluster : s.clusters) cluster->audit();
  for (Store* store : s.stores) {
    if (store != nullptr) store->audit();
  }
}

void World::save(Snapshot& into) const {
  arena_.save(into.image);
  into.rows = history_.size();
}

void World::restore(const Snapshot& snapshot) {
  arena_.restore(snapshot.image);
  history_.truncate(snapshot.rows);
}

void World::record(ProcessId process, const Now& now, const Event& event) {
  if (transcripts_ == nullptr) return;
  const auto mine = [&](const Transcript& t) {
    return t.process == process && t.incarnation == incarnation(process);
  };
  auto at = std::find_if(transcripts_->begin(), transcripts_->end(), mine);
  if (at == transcripts_->end()) at = transcripts_->insert(at, {process, incarnation(process), {}});
  append_event(at->events, now, event);
}

Row& World::row(ProcessId process, Kind kind, Phase phase) {
  State& s = *state_;
  Row& row = history_.next();
  row = Row{};
  row.time = s.now.ns;
  row.process = process;
  row.incarnation = s.lives[process].incarnation;
  row.kind = kind;
  row.phase = phase;
  if (kind < Kind::append) s.last_activity = s.now;
  return row;
}

}  // namespace mqlab::sim
