#include "platform/control_block.h"

#include <stdexcept>

namespace mqlab {

ControlBlock::ControlBlock(const std::string& path) : file_(MappedFile::open(path)) {
  if (file_.size() < bytes || page().magic != ControlPage::magic_value) {
    throw std::runtime_error(path + ": not a control page");
  }
}

bool ControlBlock::count_match(std::uint32_t fault, std::uint32_t nth) {
  std::uint64_t word = page().armed_and_seen.load();
  do {
    if (word >> 32 != fault) return false;
  } while (!page().armed_and_seen.compare_exchange_weak(word, word + 1));
  return static_cast<std::uint32_t>(word) + 1 == nth;
}

}  // namespace mqlab
