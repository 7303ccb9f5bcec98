#include "live/worker/gate.h"

#include <algorithm>
#include <csignal>

namespace mqlab::live {
namespace {

/// What happens to one request happens on its way: the lab's proxy counts and does it.
bool proxied(Action action) { return of_request(action); }

}  // namespace

FaultGate::FaultGate(std::vector<Fault> faults, const std::string& control) : faults_(std::move(faults)) {
  for (Fault& fault : faults_) {
    nth_.push_back(fault.nth);
    fault.nth = 1;
    wants_requests_ = wants_requests_ || (!fault.timed && fault.step.kind == Kind::request);
  }
  if (!control.empty()) control_.emplace(control);
}

bool FaultGate::test(const Row& row, RowFile& file) {
  if (faults_.empty() || !control_) return false;
  const std::uint32_t armed = control_->armed();
  if (armed >= faults_.size() || faults_[armed].timed || proxied(faults_[armed].action)) return false;
  {
    const std::lock_guard lock(mutex_);
    matcher_.arm(std::span(&faults_[armed], 1));
    if (matcher_.match(row) == nullptr) return false;
  }
  if (!control_->count_match(armed, nth_[armed])) return false;
  RowFileHeader& header = file.header();
  header.halted_row.store(file.written() - 1);
  header.halted.store(armed + 1);
  raise(SIGSTOP);  // stops every thread; this one goes no further before the controller's SIGCONT
  header.halted.store(0);
  return true;
}

}  // namespace mqlab::live
