// Transactions by number, and publishes whose end is still to come.
#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/history/row.h"

namespace mqlab {

/// Gives (process, incarnation, transaction number) a dense index in order of appearance.
class TransactionNumbers {
 public:
  explicit TransactionNumbers(std::size_t processes) : by_process_(processes) {}

  struct Name {
    ProcessId process = no_process;
    Incarnation incarnation = 0;
    std::uint32_t number = 0;
  };
  /// row.transaction ≠ 0. A row seldom belongs to any but the latest transaction of its process.
  std::uint32_t of(const Row& row) {
    std::vector<std::uint32_t>& mine = by_process_[row.process];
    for (auto i = mine.rbegin(); i != mine.rend(); ++i) {
      const Name& name = names_[*i];
      if (name.number == row.transaction && name.incarnation == row.incarnation) return *i;
    }
    names_.push_back({row.process, row.incarnation, row.transaction});
    mine.push_back(static_cast<std::uint32_t>(names_.size()) - 1);
    return mine.back();
  }
  const Name& name(std::uint32_t transaction) const { return names_[transaction]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(names_.size()); }
  void reset() {
    for (const Name& name : names_) by_process_[name.process].clear();
    names_.clear();
  }

 private:
  std::vector<Name> names_;
  std::vector<std::vector<std::uint32_t>> by_process_;
};

/// Transaction indices that are none.
inline constexpr std::uint32_t no_transaction = std::numeric_limits<std::uint32_t>::max();

/// A publish without a known end.
struct OpenPublish {
  OpId op = 0;
  Incarnation incarnation = 0;
  MessageId message = 0;
  std::uint32_t transaction = no_transaction;
  std::uint64_t row = 0;
};

/// The publishes of each process that have not settled, in the order they were invoked. They settle nearly in
/// that order, so that a search from the front is short.
class OpenPublishes {
 public:
  explicit OpenPublishes(std::size_t processes) : by_process_(processes) {}

  void add(ProcessId process, const OpenPublish& publish) { by_process_[process].list.push_back(publish); }
  /// Takes out the publish that this row settles; empty when it was never invoked.
  std::optional<OpenPublish> settle(const Row& row) {
    Process& p = by_process_[row.process];
    for (std::size_t i = p.head; i < p.list.size(); ++i) {
      OpenPublish& publish = p.list[i];
      if (publish.message == 0 || publish.op != row.op || publish.incarnation != row.incarnation) continue;
      const OpenPublish found = publish;
      publish.message = 0;
      while (p.head < p.list.size() && p.list[p.head].message == 0) ++p.head;
      if (p.head == p.list.size()) {
        p.list.clear();
        p.head = 0;
      }
      return found;
    }
    return std::nullopt;
  }
  template <class F>
  void for_each(F&& f) const {
    for (const Process& p : by_process_) {
      for (std::size_t i = p.head; i < p.list.size(); ++i) {
        if (p.list[i].message != 0) f(p.list[i]);
      }
    }
  }
  void reset() {
    for (Process& p : by_process_) {
      p.list.clear();
      p.head = 0;
    }
  }

 private:
  struct Process {
    std::vector<OpenPublish> list;  // message 0 = settled
    std::size_t head = 0;
  };
  std::vector<Process> by_process_;
};

}  // namespace mqlab
