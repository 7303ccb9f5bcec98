#include "sim/world_faults.h"

#include "core/base/check.h"
#include "sim/process.h"
#include "sim/world.h"

namespace mqlab::sim {

void Heals::on(const SimEvent& event) {
  if (event.kind == heal) {
    world_.heal(event.x, static_cast<ProcessId>(event.a));
    return;
  }
  if (event.kind == revive) {
    --world_.state_->active_faults;
    const auto process = static_cast<ProcessId>(event.a);
    if (!world_.alive(process)) world_.start(process);
    return;
  }
  const Fault* fault = world_.state_->matcher.timed();
  if (fault == nullptr || event.x != world_.state_->matcher.armed()) return;
  world_.state_->matcher.fired();
  world_.inject(*fault, no_process);
  world_.arm_timed();
}

void World::arm_timed() {
  if (const Fault* fault = state_->matcher.timed()) {
    schedule(std::max(fault->time, now()), *state_->heals, Heals::inject, 0, state_->matcher.armed());
  }
}

Gate World::anchored(const Row& row) {
  Matcher& matcher = state_->matcher;
  if (matcher.exhausted()) return Gate::go;
  const ProcessId process = row.process;
  const Fault* fault = matcher.match(row);
  if (fault == nullptr) return Gate::go;
  arm_timed();
  return inject(*fault, process);
}

RequestFault World::request(Process& process, RequestKind kind) {
  const Instant before = state_->last_activity;
  Row& line = row(process.self(), Kind::request, Phase::invoke);
  line.code = static_cast<std::uint16_t>(kind);
  if (kind == RequestKind::metadata) state_->last_activity = before;  // idle clients ask now and then
  state_->request_fault = {};
  const Row copy = line;
  if (anchored(copy) == Gate::die) process.die_soon();
  return state_->request_fault;
}

Gate World::inject(const Fault& fault, ProcessId process) {
  const auto number = static_cast<std::uint32_t>(&fault - faults_.data());
  Gate gate = Gate::go;
  const auto hit = [&](ProcessId target) {
    if (target == no_process || !may_hit(fault, target)) return;
    Row& line = row(target, Kind::fault, Phase::ok);
    line.position = fault.heal.ns;
    line.aux = static_cast<std::int64_t>(fault.action);
    line.code = static_cast<std::uint16_t>(number);
    if (fault.grown != no_topic) line.place = first_new_place(fault.grown);
    gate = std::max(gate, strike(fault, target, process));
    if (for_good(fault.action)) return;
    ++state_->active_faults;
    after(fault.heal, *state_->heals, Heals::heal, target, number);
  };
  if (fault.leader_of != no_place) {
    const TopicInfo& topic = setup_.topology.topics[setup_.topology.places[fault.leader_of].topic];
    hit(cluster(topic.broker).leader(fault.leader_of));
  } else if (fault.targets.empty()) {
    hit(process);
  }
  for (const ProcessId target : fault.targets) hit(target);
  return gate;
}

PlaceId World::first_new_place(TopicId topic) const {
  const TopicInfo& info = setup_.topology.topics[topic];
  return info.first_place + info.at_first;
}

/// A spare begins once, and nothing else befalls it before. A stage keeps one instance. A topic grows once.
bool World::may_hit(const Fault& fault, ProcessId target) const {
  const auto& processes = setup_.topology.processes;
  if (fault.grown != no_topic)
    return !state_->clusters[setup_.topology.topics[fault.grown].broker]->grown(fault.grown);
  if (state_->lives[target].begun == (fault.action == Action::scale_out)) return false;
  if (fault.action != Action::scale_in) return true;
  for (std::size_t p = 0; p < processes.size(); ++p) {
    const Life& life = state_->lives[p];
    if (p != target && processes[p].group == processes[target].group && life.begun && !life.retired)
      return true;
  }
  return false;
}

/// What the fault does to one target, now.
Gate World::strike(const Fault& fault, ProcessId target, ProcessId current) {
  const bool self = target == current;
  switch (fault.action) {
    case Action::kill:
    case Action::power_loss:
      if (self) return Gate::die;  // the driver is on the stack: the process ends when it has unwound
      kill(target, fault.action == Action::power_loss);
      return Gate::go;
    case Action::pause:
      pause(target);
      return self ? Gate::hold : Gate::go;
    case Action::restart:
      if (Process* process = state_->processes[target]) {
        process->stop();
      } else if (!state_->clusters[setup_.topology.processes[target].index]->stop(target)) {
        kill(target, false);
      }
      return Gate::go;
    case Action::partition:
      set_cut(fault, target, true);
      return Gate::go;
    case Action::delay:
      state_->request_fault.delay = fault.heal;
      return Gate::go;
    case Action::drop_response:
      state_->request_fault.answer_lost = true;
      return Gate::go;
    case Action::reset:
      state_->request_fault.reset = true;
      return Gate::go;
    case Action::disk_full:
      tell(target, LifeChange::disk_full);
      return Gate::go;
    case Action::fsync_error:
      tell(target, LifeChange::syncs_fail);
      return Gate::go;
    case Action::scale_out:
      start(target);
      return Gate::go;
    case Action::scale_in:
      state_->lives[target].retired = true;
      if (alive(target)) state_->processes[target]->stop();
      return Gate::go;
    case Action::add_partitions:
      state_->clusters[setup_.topology.topics[fault.grown].broker]->grow(fault.grown);
      return Gate::go;
    case Action::clock_jump:
      break;
  }
  MQLAB_CHECK(false && "a fault that Setup should have refused");
  return Gate::go;
}

/// Both directions between the sides; without sides, between the target and every broker node but itself.
void World::set_cut(const Fault& fault, ProcessId target, bool cut) {
  const auto each = [&](ProcessId a, ProcessId b) {
    if (a == b) return;
    cut ? network().cut(a, b) : network().join(a, b);
    cut ? network().cut(b, a) : network().join(b, a);
  };
  if (!fault.side_a.empty()) {
    for (const ProcessId a : fault.side_a) {
      for (const ProcessId b : fault.side_b) each(a, b);
    }
  } else {
    for (std::size_t b = 0; b < setup_.topology.processes.size(); ++b) {
      if (setup_.topology.processes[b].role == Role::broker) each(target, static_cast<ProcessId>(b));
    }
  }
  tell(target, cut ? LifeChange::cut : LifeChange::joined);
}

void World::heal(std::uint32_t number, ProcessId target) {
  const Fault& fault = faults_[number];
  --state_->active_faults;
  Row& line = row(target, Kind::heal, Phase::ok);
  line.aux = static_cast<std::int64_t>(fault.action);
  line.code = static_cast<std::uint16_t>(number);
  switch (fault.action) {
    case Action::kill:
    case Action::power_loss:
    case Action::restart:
      if (alive(target) && fault.action == Action::restart) kill(target, false);  // it did not stop in time
      if (!alive(target)) start(target);
      break;
    case Action::pause:
      if (alive(target) && paused(target)) resume(target);
      break;
    case Action::partition:
      set_cut(fault, target, false);
      break;
    case Action::disk_full:
    case Action::fsync_error:
      tell(target, LifeChange::disk_healed);
      if (alive(target) &&
          state_->clusters[setup_.topology.processes[target].index]->restarts_for_disk(target))
        kill(target, false);
      if (!alive(target)) start(target);
      break;
    case Action::delay:
    case Action::drop_response:
    case Action::reset:
    case Action::clock_jump:
    case Action::scale_out:
    case Action::scale_in:
    case Action::add_partitions:
      break;
  }
}

void World::tell(ProcessId process, LifeChange change) {
  for (std::size_t i = 0; i < state_->components.size(); ++i) {  // by index: a component may add others
    Component* component = state_->components[i];
    if (component != nullptr) component->life_changed(process, change);
  }
}

void World::kill(ProcessId p, bool power_loss) {
  State& s = *state_;
  Life& life = s.lives[p];
  if (!life.alive) return;
  row(p, Kind::stop, Phase::fail);
  if (s.processes[p] != nullptr) close_open_ops(p);
  life.alive = life.doomed = false;
  life.paused = 0;
  ++life.life;
  for (std::uint32_t i = s.stash.size(); i > 0; --i) {
    const SimEvent event = s.stash.front();
    s.stash.pop_front();
    const Component* component = s.components[event.component];
    if (component != nullptr && component->owner != p) s.stash.push_back(event);
  }
  network().died(p, power_loss);
  if (Process* process = s.processes[p]) {
    process->died();
    for (Component*& component : s.components) {
      if (component != nullptr && component->owner == p && component != process) component = nullptr;
    }
  }
  tell(p, power_loss ? LifeChange::power_lost : LifeChange::killed);
}

void World::end(ProcessId p) {
  kill(p, false);
  ++state_->active_faults;
  after(limits::supervisor_delay, *state_->heals, Heals::revive, p);
}

/// The ops of this incarnation that were invoked and have not settled end as unknown, in order.
void World::close_open_ops(ProcessId p) {
  Vec<Row> open(arena_);
  const std::size_t end = history_.size();
  for (std::size_t i = std::max(state_->lives[p].first_row, history_.first()); i < end; ++i) {
    const Row& row = history_[i];
    if (row.process != p || row.op == 0) continue;
    const bool batch_member = row.phase == Phase::invoke && !open.empty() && open.back().op == row.op;
    if (row.phase == Phase::invoke && !batch_member) {
      open.push_back(row);
    } else if (row.phase != Phase::invoke && row.kind != Kind::deliver) {
      std::erase_if(open, [&](const Row& o) { return o.op == row.op; });
    }
  }
  for (const Row& o : open) {
    Row& line = row(p, o.kind, Phase::unknown);
    line.op = o.op;
    line.message = o.message;
    line.transaction = o.transaction;
  }
}

void World::start(ProcessId p) {
  Life& life = state_->lives[p];
  if (life.retired) return;
  life.alive = true;
  ++life.life;
  if (life.begun) ++life.incarnation;
  life.begun = true;
  life.first_row = history_.size();
  tell(p, LifeChange::restarted);
  if (Process* process = state_->processes[p]) process->born();
}

void World::pause(ProcessId p) {
  if (!alive(p) || state_->lives[p].doomed) return;
  if (++state_->lives[p].paused == 1) tell(p, LifeChange::paused);
}

void World::resume(ProcessId p) {
  State& s = *state_;
  if (--s.lives[p].paused > 0) return;
  tell(p, LifeChange::resumed);
  if (s.processes[p] != nullptr) s.processes[p]->resumed();
  for (std::uint32_t i = s.stash.size(); i > 0; --i) {
    SimEvent event = s.stash.front();
    s.stash.pop_front();
    const Component* component = s.components[event.component];
    if (component != nullptr && component->owner == p) {
      event.at = s.now;
      s.soon.push_back(event);
    } else {
      s.stash.push_back(event);
    }
  }
}

}  // namespace mqlab::sim
