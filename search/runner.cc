#include "search/runner.h"

#include <algorithm>

#include "core/faults/anchor.h"

namespace mqlab::search {

bool judged_under_faults(const ClaimSpec& claim) {
  const bool service_level = claim.id.starts_with("latency.") || claim.id == "throughput" || claim.id == "backlog.bounded";
  const Property* asked = find(claim.parameters, "under_faults");
  return !service_level || (asked != nullptr && asked->value == "true");
}

Runner::Runner(const sim::Setup& setup, std::vector<ClaimSpec> claims)
    : setup_(setup), claims_(std::move(claims)), world_(setup) {
  for (const ClaimSpec& claim : claims_) checkers_.push_back(make_checker(claim, setup.scenario, setup.topology));
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
  Outcome outcome = finish();
  outcome.faults_reached = world_.faults_fired() == faults_.size();
  return outcome;
}

Outcome Runner::finish() {
  world_.run();
  findings_.clear();
  for (const auto& checker : checkers_) {
    checker->reset();
    world_.history().for_each(0, [&](std::span<const Row> rows) { checker->observe(rows); });
    findings_.push_back(checker->finish());
  }
  return {findings_, true, world_.steps()};
}

}  // namespace mqlab::search
