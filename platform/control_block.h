// A page shared by the lab's controller and all workers of a run: which fault is armed, when the workload
// begins.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "platform/mapped_file.h"

namespace mqlab {

/// Made by the controller (bindings/mqlab/live/row_files.py) before any worker starts.
struct ControlPage {
  static constexpr std::uint64_t magic_value = 0x314c5443424c514d;  // "MQLBCTL1"
  std::uint64_t magic;
  /// Upper half: number of the armed fault, set by the controller once the one before was carried out. Lower
  /// half: how many rows have matched it, counted by the workers together.
  std::atomic<std::uint64_t> armed_and_seen;
  /// When the workload begins, on the run's clock; 0 = not yet.
  std::atomic<std::int64_t> begin_ns;
};

class ControlBlock {
 public:
  static constexpr std::size_t bytes = 4096;

  /// Throws std::system_error, or std::runtime_error when the file is not a control page.
  explicit ControlBlock(const std::string& path);

  std::uint32_t armed() const { return static_cast<std::uint32_t>(page().armed_and_seen.load() >> 32); }
  /// A row matched fault `fault`, of which the nth match counts. True for exactly one caller: the one that is
  /// it.
  bool count_match(std::uint32_t fault, std::uint32_t nth);
  std::int64_t begin_ns() const { return page().begin_ns.load(); }

 private:
  ControlPage& page() const { return *reinterpret_cast<ControlPage*>(file_.data()); }
  MappedFile file_;
};

}  // namespace mqlab
