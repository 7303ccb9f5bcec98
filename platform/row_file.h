// The rows of one incarnation of one process, in a file that outlives a kill -9.
//
// Layout: one page of header, then the rows as they lie in memory. `count` is stored after the rows it
// counts, so a reader that trusts it never sees half a row. The lab's controller reads the same layout from
// Python (bindings/mqlab/live/row_files.py).
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "core/history/row.h"
#include "platform/mapped_file.h"

namespace mqlab {

enum class WorkerState : std::uint32_t {
  starting = 0,
  running = 1,
  finished = 2,  ///< ended by itself, every row is there
  failed = 3,    ///< ended by itself because it could not go on; `reason` says why
};

struct RowFileHeader {
  static constexpr std::uint64_t magic_value = 0x31574f52424c514d;  // "MQLBROW1"
  std::uint64_t magic;
  std::uint32_t row_bytes;
  ProcessId process;
  Incarnation incarnation;
  std::atomic<std::uint64_t> count;  ///< rows that are whole
  std::atomic<std::uint32_t> state;  ///< WorkerState
  std::atomic<std::uint32_t> idle;   ///< 1: workload all sent and every effect settled
  std::atomic<std::uint32_t>
      halted;  ///< 1 + the number of the fault whose anchor stopped this process; 0 = none
  std::atomic<std::uint32_t> reading;     ///< 1: what is sent to its inputs from now on is read as it comes
  std::atomic<std::uint64_t> halted_row;  ///< the row that set it off
  char reason[256];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class RowFile {
 public:
  static constexpr std::size_t header_bytes = 4096;
  static constexpr std::size_t most_bytes = std::size_t{1} << 36;  ///< 64 GiB of rows: 850 million

  /// Throws std::system_error.
  RowFile(const std::string& path, ProcessId process, Incarnation incarnation);

  /// A new row at the end; not counted until publish().
  Row& next() {
    if (header_bytes + (written_ + 1) * sizeof(Row) > file_.size()) grow();
    return rows()[written_++] = Row{};
  }
  /// All rows handed out so far are whole.
  void publish() { header().count.store(written_, std::memory_order_release); }
  std::uint64_t written() const { return written_; }
  RowFileHeader& header() { return *reinterpret_cast<RowFileHeader*>(file_.data()); }
  /// Cuts the file to what is used and says how the process ended.
  void close(WorkerState state, const std::string& reason);

 private:
  Row* rows() { return reinterpret_cast<Row*>(file_.data() + header_bytes); }
  void grow();

  MappedFile file_;
  std::uint64_t written_ = 0;
};

}  // namespace mqlab
