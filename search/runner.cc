#include "search/runner.h"

#include <algorithm>

#include "core/faults/anchor.h"

namespace mqlab::search {
namespace {
/// Small enough to stay in the second-level cache (1.3 MB), large enough that checkers run in long strides.
constexpr std::size_t window_rows = 4 * History::chunk_rows;
}  // namespace

bool judged_under_faults(const ClaimSpec& claim) {
  const bool service_level =
      claim.id.starts_with("latency.") || claim.id == "throughput" || claim.id == "backlog.bounded";
  const Property* asked = find(claim.parameters, "under_faults");
  return !service_level || (asked != nullptr && asked->value == "true");
}

Runner::Runner(const sim::Setup& setup, std::vector<ClaimSpec> claims)
    : setup_(setup), claims_(std::move(claims)), world_(setup) {
  for (const ClaimSpec& claim : claims_)
    checkers_.push_back(make_checker(claim, setup.scenario, setup.topology));
}

void Runner::begin(const Schedule& schedule) {
  schedule_ = schedule;
  faults_.clear();
  for (const auto* list : {&setup_.scenario.faults, &schedule.faults}) {
    for (const FaultSpec& fault : *list) faults_.push_back(bind(fault, setup_.scenario, setup_.topology));
  }
  world_.begin(schedule_, faults_);
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
