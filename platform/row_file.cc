#include "platform/row_file.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace mqlab {
namespace {
constexpr std::size_t first_bytes = std::size_t{1} << 20;
constexpr std::size_t step_bytes = std::size_t{16} << 20;
}  // namespace

RowFile::RowFile(const std::string& path, ProcessId process, Incarnation incarnation)
    : file_(MappedFile::create(path, first_bytes, most_bytes)) {
  auto* header = new (file_.data()) RowFileHeader{};
  header->row_bytes = sizeof(Row);
  header->process = process;
  header->incarnation = incarnation;
  std::atomic_thread_fence(std::memory_order_release);
  header->magic = RowFileHeader::magic_value;
}

void RowFile::grow() {
  file_.grow(std::min(file_.size() + (file_.size() < step_bytes ? file_.size() : step_bytes), most_bytes));
}

void RowFile::close(WorkerState state, const std::string& reason) {
  publish();
  file_.cut(header_bytes + written_ * sizeof(Row));
  RowFileHeader& head = header();
  std::memset(head.reason, 0, sizeof head.reason);
  std::memcpy(head.reason, reason.data(), std::min(reason.size(), sizeof head.reason - 1));
  head.state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
}

}  // namespace mqlab
