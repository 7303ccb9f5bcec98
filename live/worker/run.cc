#include "live/worker/run.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>

#include "core/base/limits.h"
#include "core/modules/registry.h"
#include "live/worker/feeder.h"
#include "live/worker/host.h"

namespace mqlab::live {
namespace {

constexpr Duration stop_grace = Duration::seconds(10);
constexpr Duration exit_grace = Duration::seconds(1);
constexpr Duration longest_wait = Duration::millis(50);  ///< a signal is noticed at least so often

volatile std::sig_atomic_t stop_requested = 0;
void on_stop(int) { stop_requested = 1; }

/// All that makes up one incarnation, in the order in which it is made.
struct Life {
  Scenario scenario;
  Topology topology;
  ProcessId process;
  Incarnation incarnation;
  std::uint64_t seed;
  std::vector<MessageId> masked;
  RunClock clock;
  FaultGate gate;
  LiveHost host;
  EventQueue events;
  std::unique_ptr<ModulePlan> plan;
  Arena arena;
  std::unique_ptr<Port> port;
  Module* module = nullptr;
  std::optional<Feeder> feeder;
  Effects effects;
  Instant wall_looked_at = Instant{} - Duration::seconds(1);
  Duration wall_ahead = {};

  explicit Life(const Options& o)
      : scenario(o.scenario()),
        topology(scenario),
        process(named(o)),
        incarnation(static_cast<Incarnation>(o.integer_or("incarnation", 0))),
        seed(o.seed()),
        masked(o.ids("masked")),
        clock(o.integer("epoch-ns"), o.integer("wall-epoch-ns")),
        gate(bound_faults(), o.text_or("control", "")),
        host(process, incarnation, clock, gate, {o.text("rows"), o.text_or("transcript", "")}),
        plan(plan_module(scenario, topology, process)),
        arena(limits::arena_reserve_bytes) {
    PortContext context{
        scenario, topology, process, incarnation, seed, clock, o.address(), o.text_or("tag", ""), events, {}};
    if (gate.wants_requests()) context.on_request = [this](RequestKind kind) { host.request(kind); };
    port = make_port(context, o.text_or("store", ""));
    host.attach(port.get());
  }

  ProcessId named(const Options& o) const {
    const ProcessId found = topology.process(o.text("process"));
    if (found == no_process)
      throw UsageError("--process " + o.text("process") + ": no such process in the scenario");
    return found;
  }
  std::vector<Fault> bound_faults() const {
    std::vector<Fault> faults;
    for (const FaultSpec& spec : scenario.faults) faults.push_back(bind(spec, scenario, topology));
    return faults;
  }

  void begin() {
    port->start();
    const ProcessInfo& info = topology.processes[process];
    ModuleContext context;
    context.process = process;
    context.instance = info.instance;
    context.incarnation = incarnation;
    context.capabilities = port->capabilities();
    context.seed = seed;
    context.random = RandomStream(draw(seed, Purpose::module, process, incarnation));
    module = plan->make(arena, context);
    if (info.role == Role::workload) feeder.emplace(scenario, info, seed, incarnation, masked);
    host.file().header().state.store(static_cast<std::uint32_t>(WorkerState::running));
    Event start;
    start.kind = EventKind::start;
    drive_event(start);
  }

  /// The wall clock is looked at once a millisecond: asking costs as much as a step of a module.
  Now now() {
    const Instant mono = clock.mono();
    if (mono - wall_looked_at >= Duration::millis(1)) {
      wall_looked_at = mono;
      wall_ahead = clock.wall() - mono;
    }
    return {mono, mono + wall_ahead};
  }

  void drive_event(const Event& event) { drive_event(event, now()); }
  void drive_event(const Event& event, const Now& at) {
    if (event.kind == EventKind::settled) host.settled(event.settlements.size());
    host.at(at.mono);
    drive(*module, host, effects, host.state(), at, event);
  }
};

void tell_state(Life& life) {
  const bool waits = life.module->deadline() == Instant::never() && life.host.open_ops() == 0;
  const bool idle = waits && (!life.feeder || life.feeder->done());
  life.host.file().header().idle.store(idle ? 1 : 0, std::memory_order_release);
  life.host.file().header().reading.store(life.port->reading() ? 1 : 0, std::memory_order_release);
}

/// Makes the requests that are due, a few at a time so that answers get their turn. False when there was
/// none.
bool feed(Life& life) {
  constexpr int at_a_time = 16;
  int fed = 0;
  const std::int64_t begin = life.gate.begin_ns();
  while (life.feeder && fed < at_a_time) {
    const Now now = life.now();
    if (!life.feeder->feed(begin, now.mono, [&](const Event& event) { life.drive_event(event, now); })) break;
    ++fed;
  }
  return fed > 0;
}

/// Waits for the next thing to do and does it.
void step(Life& life) {
  OwnedEvent event;
  if (feed(life)) {
    if (life.events.try_pop(event)) life.drive_event(event.view());
    return;
  }
  if (life.events.try_pop(event)) return life.drive_event(event.view());
  tell_state(life);
  const Instant now = life.clock.mono();
  Instant until = std::min(life.module->deadline(), now + longest_wait);
  if (life.feeder) until = std::min(until, life.feeder->next(life.gate.begin_ns(), now));
  if (until > now &&
      life.events.pop(event, std::chrono::steady_clock::now() + std::chrono::nanoseconds((until - now).ns))) {
    life.drive_event(event.view());
  } else if (life.module->deadline() <= life.clock.mono()) {
    life.drive_event(Event{});
  }
}

/// SIGTERM: the module is told, then led on until nothing of its doing is open.
void finish(Life& life) {
  Event stop;
  stop.kind = EventKind::stop;
  life.drive_event(stop);
  const Instant latest = life.clock.mono() + stop_grace;
  life.feeder.reset();
  while (life.clock.mono() < latest &&
         (life.host.open_ops() > 0 || life.module->deadline() != Instant::never()))
    step(life);
  life.port->close(stop_grace);
  OwnedEvent event;
  while (life.events.try_pop(event)) {
    if (event.kind == EventKind::settled) life.drive_event(event.view());
  }
}

void live(Life& life) {
  life.begin();
  while (stop_requested == 0 && !life.host.exited()) step(life);
  if (life.host.exited())
    return life.port->close(exit_grace);  // as an application that gives up closes its clients
  finish(life);
}

}  // namespace

int run_process(const Options& options) {
  std::signal(SIGTERM, on_stop);
  std::signal(SIGINT, SIG_IGN);  // Ctrl-C reaches the controller, which ends its workers
  std::unique_ptr<Life> life = std::make_unique<Life>(options);
  std::string reason;
  try {
    live(*life);
  } catch (const std::exception& error) {
    reason = error.what();
    std::fprintf(stderr, "mqlab-worker: %s: %s\n", options.text("process").c_str(), reason.c_str());
  }
  life->host.file().close(reason.empty() ? WorkerState::finished : WorkerState::failed, reason);
  std::fflush(stderr);
  if (reason.empty() && life->host.exited()) _exit(exit_by_application);
  _exit(reason.empty() ? 0 : 4);  // client threads may still run: nothing is destroyed under them
}

}  // namespace mqlab::live
