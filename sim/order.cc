// Ties and overtaking: the part of a schedule that says who comes first.
//
// With Schedule::order, processes have drawn ranks that decide between what is due at one instant; every
// fourth client has a lag, by which it takes what comes over the network later, as one that the machine lets
// wait; and a message that is about to arrive may be overtaken by one that is in flight to the same process
// from another sender. Messages of one sender stay in order, as on one connection. Only messages that were
// sent already overtake: the one that comes first arrives earlier than its delay said, never before it was
// sent. Without it, Schedule::overtakes says at which moments of choice which message comes first.
#include <algorithm>

#include "sim/world.h"

namespace mqlab::sim {
namespace {
/// One message in so many is overtaken where it can be.
constexpr std::uint64_t overtaken_of = 4;
constexpr std::uint64_t ranks = 256;
constexpr std::uint64_t lagging_of = 4;
constexpr Duration longest_lag = Duration::millis(20);
}  // namespace

void World::begin_order() {
  State& s = *state_;
  s.reorders = schedule_->order != 0 || !schedule_->overtakes.empty();
  if (schedule_->order == 0) return;
  for (std::size_t p = 0; p < s.lives.size(); ++p) {
    s.lives[p].rank = below(mqlab::draw(schedule_->order, Purpose::tie, p), ranks) << SimEvent::rank_shift;
    const std::uint64_t bits = mqlab::draw(schedule_->order, Purpose::tie, p, 2);
    if (setup_.topology.processes[p].role == Role::broker || bits % lagging_of != 0) continue;
    s.lives[p].lag = Duration::nanos(
        static_cast<std::int64_t>(below(mix(bits), static_cast<std::uint64_t>(longest_lag.ns))));
  }
}

/// The first message of every other sender to the process that the next event goes to; in the order in which
/// they would arrive.
void World::find_rivals() {
  const State& s = *state_;
  rivals_.clear();
  const SimEvent& next = s.queue.top();
  const Component* target = s.components[next.component];
  if (next.sender() == no_process || target == nullptr) return;
  const Queue& all = s.queue;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const SimEvent& other = all[i];
    if (other.sender() == no_process || other.sender() == next.sender()) continue;
    const Component* component = s.components[other.component];
    if (component == nullptr || component->owner != target->owner) continue;
    if (other.life != s.lives[target->owner].life) continue;
    const auto same = std::find_if(rivals_.begin(), rivals_.end(),
                                   [&](std::size_t r) { return all[r].sender() == other.sender(); });
    if (same == rivals_.end()) {
      rivals_.push_back(i);
    } else if (Queue::before(other, all[*same])) {
      *same = i;
    }
  }
  std::sort(rivals_.begin(), rivals_.end(),
            [&](std::size_t a, std::size_t b) { return Queue::before(all[a], all[b]); });
}

World::Prospect World::prospect() {
  const State& s = *state_;
  if (s.over || s.queue.empty() || s.queue.top().sender() == no_process) return {};
  const SimEvent& next = s.queue.top();
  const Component* target = s.components[next.component];
  const auto broker = [&](ProcessId p) { return setup_.topology.processes[p].role == Role::broker; };
  const bool void_by_now = target == nullptr || next.life != s.lives[target->owner].life;
  if (void_by_now || next.at < Instant{} + limits::workload_start) return {};
  if (broker(next.sender()) && broker(target->owner)) return {};
  find_rivals();
  return {true, static_cast<std::uint32_t>(rivals_.size())};
}

SimEvent World::take_next() {
  State& s = *state_;
  std::uint32_t pick = 0;
  if (schedule_->order != 0) {
    find_rivals();
    const std::uint64_t bits = rivals_.empty() ? 0 : mqlab::draw(schedule_->order, Purpose::tie, s.steps, 1);
    if (!rivals_.empty() && bits % overtaken_of == 0)
      pick = 1 + static_cast<std::uint32_t>(below(mix(bits), rivals_.size()));
  } else if (prospect().rivals > 0) {
    const std::uint32_t choice = s.choices++;
    const auto& list = schedule_->overtakes;
    const auto at = std::lower_bound(list.begin(), list.end(), choice,
                                     [](const Overtake& o, std::uint32_t c) { return o.choice < c; });
    if (at != list.end() && at->choice == choice) pick = at->pick;
    if (s.chosen > 0) pick = s.chosen;
    pick = std::min(pick, static_cast<std::uint32_t>(rivals_.size()));
  }
  s.chosen = 0;
  if (pick == 0) return s.queue.pop();
  const Instant at = s.queue.top().at;
  SimEvent event = s.queue.take(rivals_[pick - 1]);
  event.at = at;
  return event;
}

}  // namespace mqlab::sim
