#include "search/runner.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/faults/anchor.h"

namespace mqlab::search {
namespace {
/// Small enough to stay in the second-level cache (1.3 MB), large enough that checkers run in long strides.
constexpr std::size_t window_rows = 4 * History::chunk_rows;
/// Faults of one schedule beyond the scenario's own. They lie in one place while a run lasts: snapshots of
/// the world look at them there.
constexpr std::size_t faults_at_most = 64;
}  // namespace

bool judged_under_faults(const ClaimSpec& claim) {
  const bool service_level =
      claim.id.starts_with("latency.") || claim.id == "throughput" || claim.id == "backlog.bounded";
  const Property* asked = find(claim.parameters, "under_faults");
  return !service_level || (asked != nullptr && asked->value == "true");
}

Runner::Runner(const sim::Setup& setup, std::vector<ClaimSpec> claims)
    : setup_(setup), claims_(std::move(claims)), world_(setup) {
  faults_.reserve(setup.scenario.faults.size() + faults_at_most);
  for (const ClaimSpec& claim : claims_)
    checkers_.push_back(make_checker(claim, setup.scenario, setup.topology));
}

void Runner::begin(const Schedule& schedule) {
  schedule_ = schedule;
  faults_.clear();
  MQLAB_CHECK(schedule.faults.size() <= faults_at_most);
  for (const auto* list : {&setup_.scenario.faults, &schedule.faults}) {
    for (const FaultSpec& fault : *list) faults_.push_back(bind(fault, setup_.scenario, setup_.topology));
  }
  world_.begin(schedule_, faults_);
}

void Runner::branch(const sim::World::Snapshot& snapshot, std::size_t keep, std::span<const Fault> more,
                    std::uint32_t seen) {
  MQLAB_CHECK(keep <= faults_.size() && keep + more.size() <= faults_.capacity());
  faults_.erase(faults_.begin() + static_cast<std::ptrdiff_t>(keep), faults_.end());
  faults_.insert(faults_.end(), more.begin(), more.end());
  world_.restore(snapshot);
  world_.extend(faults_, seen);
}

void Runner::extend(const Fault& fault) {
  MQLAB_CHECK(faults_.size() < faults_.capacity());
  faults_.push_back(fault);
  world_.extend(faults_, 0);
}

Outcome Runner::run(const Schedule& schedule) {
  begin(schedule);
  return finish();
}

void Runner::reset() {
  for (const auto& checker : checkers_) checker->reset();
  seen_ = 0;
}

void Runner::observe() {
  world_.history().for_each(seen_, [&](std::span<const Row> rows) {
    for (const auto& checker : checkers_) checker->observe(rows);
  });
  seen_ = world_.history().size();
}

Outcome Runner::judge() {
  observe();
  findings_.clear();
  for (const auto& checker : checkers_) findings_.push_back(checker->finish());
  return {findings_, world_.faults_fired() == faults_.size(), world_.steps()};
}

Outcome Runner::finish() {
  world_.run();
  reset();
  return judge();
}

Outcome Runner::stream(const Schedule& schedule) {
  begin(schedule);
  reset();
  while (world_.step()) {
    if (world_.history().size() - seen_ < window_rows) continue;
    observe();
    world_.history().recycle(seen_);
  }
  return judge();
}

}  // namespace mqlab::search
