#include "sim/process.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"
#include "sim/store.h"
#include "sim/world.h"

namespace mqlab::sim {
namespace {

template <class T>
std::span<const T> copy_span(Arena& arena, std::span<const T> values) {
  if (values.empty()) return {};
  auto* to = static_cast<T*>(arena.allocate(values.size_bytes()));
  std::memcpy(static_cast<void*>(to), values.data(), values.size_bytes());
  return {to, values.size()};
}

template <class T>
void recycle_span(Arena& arena, std::span<const T> values) {
  if (!values.empty()) arena.deallocate(const_cast<T*>(values.data()), values.size_bytes());
}

/// Whether a clean end waits for effects of this kind.
bool waited_for(Kind kind) {
  switch (kind) {
    case Kind::publish:
    case Kind::commit:
    case Kind::ack:
    case Kind::begin:
    case Kind::offsets_to_transaction:
    case Kind::commit_transaction:
    case Kind::abort_transaction:
    case Kind::flush:
    case Kind::store_read:
    case Kind::store_write:
      return true;
    default:
      return false;
  }
}

}  // namespace

Process::Process(World& world, ProcessId self)
    : world_(world),
      self_(self),
      clients_(world.arena()),
      inbox_(world.arena()),
      deferred_effects_(world.arena()),
      workload_(world.setup().workload_of(self, world.schedule_in_force().seed)) {
  if (workload_.active()) {
    ++world_.state_->busy_workloads;
    busy_ = true;
  }
}

Incarnation Process::incarnation() const { return world_.incarnation(self_); }
const Ports& Process::ports() const { return world_.setup().ports[self_]; }

void Process::born() {
  const Setup& setup = world_.setup();
  ModuleContext context;
  context.process = self_;
  context.instance = setup.topology.processes[self_].instance;
  context.incarnation = incarnation();
  context.capabilities = setup.capabilities[self_];
  context.seed = world_.schedule_in_force().seed;
  context.random = RandomStream(world_.draw(Purpose::module, self_, context.incarnation));
  module_ = setup.modules[self_]->make(world_.arena(), context);
  driver_ = {};
  stopping_ = false;
  open_ops_ = 0;
  wake_at_ = Instant::never();
  clients_.assign(setup.clusters.size(), nullptr);
  const auto connect = [&](TopicId topic) {
    const std::uint32_t broker = setup.topology.topics[topic].broker;
    if (clients_[broker] != nullptr) return;
    clients_[broker] = world_.cluster(broker).connect(*this);
    clients_[broker]->start();
  };
  for (const TopicId topic : ports().inputs) connect(topic);
  for (const TopicId topic : ports().outputs) connect(topic);
  Event start;
  start.kind = EventKind::start;
  post(start);
  next_arrival();
}

void Process::died() {
  inbox_.clear();
  deferred_effects_.clear();
  deferred_event_ = nullptr;
  module_ = nullptr;
  ++wake_generation_;
}

void Process::die_soon() {
  world_.doom(self_);
  world_.soon(*this, die);
}

void Process::stop() {
  if (!world_.alive(self_) || stopping_) return;
  stopping_ = true;
  Event stop;
  stop.kind = EventKind::stop;
  post(stop);
}

/// After `stop`: once nothing is under way, the clients leave their groups and the process ends; it stays
/// away until the fault that stopped it heals.
void Process::leave_if_done() {
  if (stopping_ && open_ops_ == 0 && module_->deadline() == Instant::never())
    world_.soon(*this, leave, asked_to);
}

// ---- events in
// -------------------------------------------------------------------------------------------------

Event* Process::copy(const Event& event) {
  Arena& arena = world_.arena();
  auto* to = arena.make<Event>(event);
  to->messages = copy_span(arena, event.messages);
  to->settlements = copy_span(arena, event.settlements);
  to->places = copy_span(arena, event.places);
  return to;
}

void Process::recycle(Event* event) {
  Arena& arena = world_.arena();
  recycle_span(arena, event->messages);
  recycle_span(arena, event->settlements);
  recycle_span(arena, event->places);
  arena.recycle(event);
}

void Process::post(const Event& event) {
  inbox_.push_back(copy(event));
  world_.soon(*this, posted);
}

void Process::post_later(const Settlement& settlement, Duration delay) {
  Event event;
  event.kind = EventKind::settled;
  event.settlements = {&settlement, 1};
  world_.after(delay, *this, later, reinterpret_cast<std::uint64_t>(copy(event)));
}

void Process::on(const SimEvent& event) {
  switch (event.kind) {
    case posted: {
      if (inbox_.empty()) return;
      Event* next = inbox_.front();
      inbox_.pop_front();
      deliver(*next);
      recycle(next);
      return;
    }
    case later: {
      auto* next = reinterpret_cast<Event*>(event.a);
      deliver(*next);
      recycle(next);
      return;
    }
    case wake:
      if (event.x != wake_generation_) return;
      wake_at_ = Instant::never();
      if (module_->deadline() <= world_.now()) {
        deliver(Event{});
      } else {
        reschedule();
      }
      return;
    case arrival:
      arrive();
      return;
    case die:
      world_.kill(self_, false);
      return;
    case leave:
      for (Client* client : clients_) {
        if (client != nullptr) client->close();
      }
      event.a == asked_to ? world_.kill(self_, false) : world_.end(self_);
      return;
    default:
      MQLAB_CHECK(false && "unknown process event");
  }
}

void Process::deliver(const Event& event) {
  for (const Settlement& s : event.settlements) open_ops_ -= waited_for(s.of) && open_ops_ > 0 ? 1 : 0;
  const Now now = {world_.now(), world_.wall()};
  settle_gate(drive(*module_, *this, world_.effects_, driver_, now, event));
}

/// After a drive: die where an anchor said so, else see to the next deadline.
void Process::settle_gate(Gate gate) {
  if (gate == Gate::die) {
    world_.kill(self_, false);
  } else if (gate == Gate::go) {
    reschedule();
    leave_if_done();
  }
}

void Process::reschedule() {
  const Instant deadline = module_->deadline();
  if (deadline >= wake_at_) return;
  wake_at_ = deadline;
  world_.schedule(std::max(deadline, world_.now()), *this, wake, 0, ++wake_generation_);
}

// ---- the workload
// ----------------------------------------------------------------------------------------------

/// Finds the next request that is to be made and has not passed yet; a dead process misses those of its
/// absence.
void Process::next_arrival() {
  if (!busy_) return;
  while (workload_.active()) {
    const Instant at = workload_.intended();
    if (at >= world_.now() && !workload_.masked(world_.schedule_in_force().masked)) {
      world_.schedule(at, *this, arrival);
      return;
    }
    workload_.advance();
  }
  busy_ = false;
  --world_.state_->busy_workloads;
}

void Process::arrive() {
  const Message message = workload_.message();
  Event event;
  event.kind = EventKind::invoke;
  event.at = workload_.intended();
  event.messages = {&message, 1};
  workload_.advance();
  next_arrival();
  deliver(event);
}

// ---- Host
// ------------------------------------------------------------------------------------------------------

Row& Process::row(Kind kind, Phase phase) { return world_.row(self_, kind, phase); }
Gate Process::anchored(const Row& row) { return world_.anchored(row); }

void Process::record(const Now& now, const Event& event) { world_.record(self_, now, event); }

void Process::carry_out(const Effect& effect) {
  const auto client = [&](TopicId topic) { return clients_[world_.setup().topology.topics[topic].broker]; };
  open_ops_ += waited_for(effect.kind) ? 1 : 0;
  switch (effect.kind) {
    case Kind::stop:  // the application gives up: its clients are closed, its supervisor starts it anew
      world_.soon(*this, leave);
      return;
    case Kind::store_read:
    case Kind::store_write:
      world_.store(ports().store)->request(*this, effect);
      return;
    case Kind::publish:
    case Kind::begin:
    case Kind::offsets_to_transaction:
    case Kind::commit_transaction:
    case Kind::abort_transaction:
    case Kind::flush:
      client(ports().outputs[effect.kind == Kind::publish ? effect.port : 0])->carry_out(effect);
      return;
    default:
      client(ports().inputs[effect.kind == Kind::fetch ? effect.port : 0])->carry_out(effect);
      return;
  }
}

void Process::defer(const Event& event) { deferred_event_ = copy(event); }

void Process::defer(std::span<const Effect> effects) {
  Arena& arena = world_.arena();
  for (Effect effect : effects) {
    effect.places = copy_span(arena, effect.places);
    effect.receipts = copy_span(arena, effect.receipts);
    effect.writes = copy_span(arena, effect.writes);
    deferred_effects_.push_back(effect);
  }
}

/// What a pause interrupted goes on first; events that came meanwhile follow from the world's stash.
void Process::resumed() {
  if (deferred_event_ != nullptr) {
    Event* event = deferred_event_;
    deferred_event_ = nullptr;
    const Now now = {world_.now(), world_.wall()};
    settle_gate(drive_deferred(*module_, *this, world_.effects_, driver_, now, *event));
  } else if (!deferred_effects_.empty()) {
    Vec<Effect> effects(world_.arena());
    effects.swap(deferred_effects_);
    settle_gate(carry_out_deferred(*this, driver_, effects));
  }
}

}  // namespace mqlab::sim
