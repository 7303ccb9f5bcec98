// The simulated world: one arena, one queue, one history. Single-threaded; any number of worlds per process.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/arena.h"
#include "core/base/draw.h"
#include "core/base/limits.h"
#include "core/base/ring.h"
#include "core/faults/anchor.h"
#include "core/faults/schedule.h"
#include "core/history/history.h"
#include "core/seam/driver.h"
#include "sim/cluster.h"
#include "sim/component.h"
#include "sim/network/network.h"
#include "sim/queue.h"
#include "sim/setup.h"

namespace mqlab::sim {

class Store;

/// What a client is told when it puts a request on the wire.
struct RequestFault {
  Duration delay = {};       ///< hold the request back so long
  bool answer_lost = false;  ///< it is carried out, but its answer never arrives
  bool reset = false;        ///< it gets through, and the connection behind it breaks
};

class World {
 public:
  /// `setup` must outlive the world.
  World(const Setup& setup, std::size_t arena_bytes = limits::arena_reserve_bytes);

  // ---- for whoever runs the world ----
  /// A fresh world at time zero. `faults` must outlive the run.
  void begin(const Schedule& schedule, std::span<const Fault> faults);
  /// Processes one event with all that follows at once. False when the run is over.
  bool step();
  /// step() to the end.
  void run() {
    while (step()) {
    }
  }
  /// More faults behind those of begin(), to branch off; needed after every restore(). `faults` begins with
  /// them and must outlive the run. `seen`: see Matcher::extend.
  void extend(std::span<const Fault> faults, std::uint32_t seen);
  std::uint32_t faults_fired() const { return state_->matcher.armed(); }
  History& history() { return history_; }
  const History& history() const { return history_; }
  std::uint64_t steps() const { return state_->steps; }

  /// Who comes first of several messages in flight to one process (sim/order.cc).
  struct Prospect {
    bool message = false;      ///< the next event is one to or from an application, its work having begun
    std::uint32_t rivals = 0;  ///< others that may come first in its place
  };
  Prospect prospect();
  /// Moments of choice are counted from now on; for who chooses.
  void explore() { state_->reorders = true; }
  /// Of the messages before which step() now stands, the `pick`-th comes first; see Overtake.
  void choose(std::uint32_t pick) { state_->chosen = pick; }
  /// How many moments of choice there were; see Overtake.
  std::uint32_t choices() const { return state_->choices; }

  /// What one incarnation of a process was told; see core/seam/transcript.h.
  struct Transcript {
    ProcessId process;
    Incarnation incarnation;
    std::vector<std::byte> events;
  };
  /// From now on every event of every process is written down too. `into` must outlive the run.
  void record_transcripts(std::vector<Transcript>& into) { transcripts_ = &into; }
  void record(ProcessId process, const Now& now, const Event& event);

  struct Snapshot {
    std::vector<std::byte> image;
    std::size_t rows = 0;
  };
  /// Between two steps.
  void save(Snapshot& into) const;
  void restore(const Snapshot& snapshot);

  // ---- for components ----
  const Setup& setup() const { return setup_; }
  Arena& arena() { return arena_; }
  Network& network() { return *state_->network; }
  Instant now() const { return state_->now; }
  /// When the next event is due; `otherwise` if none is.
  Instant next_event(Instant otherwise) const {
    return state_->queue.empty() ? otherwise : state_->queue.top().at;
  }
  Instant wall() const { return state_->now; }
  void add(Component& component, ProcessId owner);
  void schedule(Instant at, Component& target, std::uint16_t kind, std::uint64_t a = 0, std::uint32_t x = 0,
                std::uint32_t y = 0) {
    state_->queue.push(make(at, target, kind, a, x, y));
  }
  void after(Duration delay, Component& target, std::uint16_t kind, std::uint64_t a = 0, std::uint32_t x = 0,
             std::uint32_t y = 0) {
    schedule(now() + delay, target, kind, a, x, y);
  }
  /// At this instant, after the event being processed and before any other.
  void soon(Component& target, std::uint16_t kind, std::uint64_t a = 0, std::uint32_t x = 0,
            std::uint32_t y = 0) {
    state_->soon.push_back(make(now(), target, kind, a, x, y));
  }
  void push(const SimEvent& event) { state_->queue.push(event); }
  SimEvent make(Instant at, const Component& target, std::uint16_t kind, std::uint64_t a, std::uint32_t x,
                std::uint32_t y) {
    const Life& life = state_->lives[target.owner];
    const std::uint64_t sequence = life.rank | state_->number++ << SimEvent::number_shift | no_process;
    return {at, sequence, life.life, target.id, kind, a, x, y};
  }
  std::uint64_t draw(Purpose purpose, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0) const {
    return mqlab::draw(state_->seed, purpose, a, b, c);
  }
  bool zero_jitter() const { return state_->zero_jitter; }

  /// How much later the process takes what comes over the network: sim/order.cc.
  Duration lag(ProcessId p) const { return state_->lives[p].lag; }
  bool alive(ProcessId p) const { return state_->lives[p].alive; }
  bool paused(ProcessId p) const { return state_->lives[p].paused > 0; }
  /// Running: neither dead nor paused.
  bool running(ProcessId p) const { return alive(p) && !paused(p); }
  Process& process(ProcessId p) { return *state_->processes[p]; }  ///< not for broker nodes
  Cluster& cluster(std::uint32_t broker) { return *state_->clusters[broker]; }
  Store* store(TopicId topic) { return topic == no_topic ? nullptr : state_->stores[topic]; }
  Incarnation incarnation(ProcessId p) const { return state_->lives[p].incarnation; }

  Row& row(ProcessId process, Kind kind, Phase phase);
  /// Tests the armed faults against a row of an application or client and carries a match out.
  Gate anchored(const Row& row);
  /// A client puts a request on the wire: writes the request row and says what a fault does to it. A process
  /// that is to die at this point dies once the current event is through, its request being sent.
  RequestFault request(Process& process, RequestKind kind);

  // ---- faults (sim/world_faults.cc) ----
  void kill(ProcessId p, bool power_loss);
  /// A process ended by itself: its supervisor starts it anew after limits::supervisor_delay, unless a
  /// fault's end does.
  void end(ProcessId p);
  void start(ProcessId p);
  void pause(ProcessId p);
  void resume(ProcessId p);
  const Schedule& schedule_in_force() const { return *schedule_; }

 private:
  struct Life {
    std::uint32_t life = 0;  ///< rises at death and at birth; events scheduled under another value are void
    bool alive = true;
    bool begun = true;        ///< false: a spare that nobody has started
    bool retired = false;     ///< stopped for good
    bool doomed = false;      ///< dies before anything else happens to it
    std::uint8_t paused = 0;  ///< how many pauses hold it
    Incarnation incarnation = 0;
    std::uint64_t rank = 0;     ///< highest bits of SimEvent::sequence
    Duration lag = {};          ///< so much later it takes what comes over the network
    std::size_t first_row = 0;  ///< of this incarnation
  };
  struct State {
    State(Arena& arena)
        : queue(arena),
          soon(arena),
          components(arena),
          lives(arena),
          processes(arena),
          clusters(arena),
          stores(arena),
          stash(arena) {}
    std::uint64_t seed = 0;
    bool zero_jitter = false;
    bool over = false;
    Instant now = {};
    Instant last_activity = {};
    std::uint64_t number = 0;  ///< of the next event
    std::uint64_t steps = 0;
    bool reorders = false;      ///< messages may overtake each other
    std::uint32_t choices = 0;  ///< moments of choice so far
    std::uint32_t chosen = 0;   ///< by choose(), for the next step
    std::uint32_t active_faults = 0;
    std::uint32_t busy_workloads = 0;
    Queue queue;
    Ring<SimEvent> soon;
    Vec<Component*> components;
    Vec<Life> lives;
    Vec<Process*> processes;
    Vec<Cluster*> clusters;
    Vec<Store*> stores;    ///< by topic; nullptr for what is no store
    Ring<SimEvent> stash;  ///< due while their process was paused, in order
    Network* network = nullptr;
    Component* heals = nullptr;
    Matcher matcher;
    RequestFault request_fault = {};
  };
  void doom(ProcessId p) { state_->lives[p].doomed = true; }

  friend class Process;
  friend class Heals;

  void dispatch(const SimEvent& event);
  void drain_soon();
  void begin_order();
  void find_rivals();
  SimEvent take_next();
  bool at_rest() const;
  void finish();
  Gate inject(const Fault& fault, ProcessId process);
  bool may_hit(const Fault& fault, ProcessId target) const;
  PlaceId first_new_place(TopicId topic) const;
  Gate strike(const Fault& fault, ProcessId target, ProcessId current);
  void set_cut(const Fault& fault, ProcessId target, bool cut);
  void heal(std::uint32_t fault, ProcessId target);
  void tell(ProcessId process, LifeChange change);
  void arm_timed();
  void close_open_ops(ProcessId p);

  const Setup& setup_;
  Arena arena_;
  History history_;
  Effects effects_;         // scratch, empty between steps
  State* state_ = nullptr;  // in the arena
  const Schedule* schedule_ = nullptr;
  std::span<const Fault> faults_;
  std::vector<Transcript>* transcripts_ = nullptr;
  std::vector<std::size_t> rivals_;  // scratch: places in the queue
};

}  // namespace mqlab::sim
