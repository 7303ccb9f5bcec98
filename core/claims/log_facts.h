// What a history tells of its logs, gathered in one pass for the log claims: who sent and who read which
// record at which position, in which transaction or batch, and what became of the transactions.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/claims/end_phase.h"
#include "core/claims/transactions.h"

namespace mqlab {

/// One transaction, or one batch outside any.
struct LogUnit {
  enum class Fate : std::uint8_t { committed, aborted, unknown };
  Fate fate = Fate::unknown;
  std::uint64_t row = 0;  ///< of its outcome; of its first row while there is none
  ProcessId process = no_process;
  bool transaction = false;
  bool abort_asked = false;
};

struct LogSend {
  std::uint64_t asked = 0;  ///< row
  std::uint64_t row = 0;    ///< of its end; of its beginning while there is none
  std::int64_t position = -1;
  std::uint32_t unit = 0;
  MessageId id = 0;
  PlaceId place = no_place;
  ProcessId process = no_process;
  Incarnation incarnation = 0;
  Phase phase = Phase::invoke;  ///< of its end; invoke = none yet
  PlaceId told = no_place;      ///< where it went as far as anybody said, be it a log that is judged or not

  bool may_be_in(PlaceId log) const { return told == no_place || told == log; }
};

/// A record given to a process; or, where `id` is 0, the process loses its position in `place`.
struct LogRead {
  std::uint64_t row = 0;
  std::int64_t position = -1;
  std::uint32_t unit = 0;
  MessageId id = 0;
  PlaceId place = no_place;
  ProcessId process = no_process;
  Incarnation incarnation = 0;
  bool sends_too = false;  ///< a position lost by an assignment: its order of sending begins anew, too
};

struct LogAudit {
  std::uint64_t row = 0;
  std::int64_t position = -1;
  MessageId id = 0;
  PlaceId place = no_place;
  bool visible = false;
};

class LogFacts {
 public:
  /// `logs`: by place, whether it is one.
  LogFacts(std::vector<std::uint8_t> logs, std::size_t processes);

  static constexpr std::uint64_t kinds() {
    return bit(Kind::publish) | bit(Kind::deliver) | bit(Kind::audit) | bit(Kind::audit_end) |
           bit(Kind::seek) | bit(Kind::assigned) | bit(Kind::revoking) | bit(Kind::release) |
           bit(Kind::begin) | bit(Kind::commit_transaction) | bit(Kind::abort_transaction);
  }
  void see(const Row& row, std::uint64_t index);
  void reset();

  bool is_log(PlaceId place) const { return place < logs_.size() && logs_[place] != 0; }
  std::size_t processes() const { return batch_.size(); }
  std::size_t places() const { return logs_.size(); }
  bool audited(PlaceId place) const { return audited_[place] != 0; }
  const std::vector<LogUnit>& units() const { return units_; }
  const std::vector<LogSend>& sends() const { return sends_; }  ///< in the order in which they were asked for
  const std::vector<LogRead>& reads() const { return reads_; }
  const std::vector<LogAudit>& audits() const { return audits_; }

 private:
  void see_publish(const Row& row, std::uint64_t index);
  void see_outcome(const Row& row, std::uint64_t index);
  std::uint32_t unit_of(const Row& row, std::uint64_t index);
  std::uint32_t add_unit(const Row& row, std::uint64_t index, LogUnit::Fate fate, bool transaction = false);

  struct Batch {
    OpId op = 0;
    Incarnation incarnation = 0;
    std::uint32_t unit = 0;
    bool open = false;
  };
  std::vector<std::uint8_t> logs_, audited_;
  TransactionNumbers transactions_;
  std::vector<std::uint32_t> unit_of_transaction_;
  OpenPublishes open_;
  std::vector<Batch> batch_;  // by process: the latest of its reads outside transactions
  std::vector<LogUnit> units_;
  std::vector<LogSend> sends_;
  std::vector<LogRead> reads_;
  std::vector<LogAudit> audits_;
};

}  // namespace mqlab
