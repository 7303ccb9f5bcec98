// Where a worker's rows meet the armed fault: the process stops itself before anything follows from the row.
#pragma once
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/faults/anchor.h"
#include "platform/control_block.h"
#include "platform/row_file.h"

namespace mqlab::live {

class FaultGate {
 public:
  /// `control` is the file of the run's control page; empty = no faults. Throws std::runtime_error.
  FaultGate(std::vector<Fault> faults, const std::string& control);

  /// Tests a row that is already published in `file`. When it is the one the armed fault waits for, says so
  /// in the file's header and stops the whole process (SIGSTOP); returns when it is continued. True when that
  /// happened. Any thread.
  bool test(const Row& row, RowFile& file);
  /// Whether any fault is anchored at a client's request: only then are request rows written.
  bool wants_requests() const { return wants_requests_; }
  /// When the workload begins, on the run's clock; 0 = not yet.
  std::int64_t begin_ns() const { return control_ ? control_->begin_ns() : 1; }

 private:
  std::vector<Fault> faults_;  ///< with nth = 1: the nth match is counted over all processes
  std::vector<std::uint32_t> nth_;
  std::optional<ControlBlock> control_;
  bool wants_requests_ = false;
  std::mutex mutex_;
  Matcher matcher_;
};

}  // namespace mqlab::live
