#include "core/claims/log_facts.h"

#include "core/history/audit.h"

namespace mqlab {

LogFacts::LogFacts(std::vector<std::uint8_t> logs, std::size_t processes)
    : logs_(std::move(logs)),
      audited_(logs_.size()),
      transactions_(processes),
      open_(processes),
      batch_(processes) {}

void LogFacts::see(const Row& row, std::uint64_t index) {
  switch (row.kind) {
    case Kind::audit:
      if (is_record_audit(row) && is_log(row.place) && row.message != 0 && row.position >= 0)
        audits_.push_back(
            {index, row.position, row.message, row.place, (row.flags & (flag::aborted | flag::open)) == 0});
      return;
    case Kind::audit_end:
      if (row.phase == Phase::ok && is_log(row.place)) audited_[row.place] = 1;
      return;
    default:
      break;
  }
  if (row.process >= batch_.size()) return;
  switch (row.kind) {
    case Kind::publish:
      if (row.message != 0) see_publish(row, index);
      return;
    case Kind::deliver:
      if (is_log(row.place) && row.message != 0 && row.position >= 0)
        reads_.push_back(
            {index, row.position, unit_of(row, index), row.message, row.place, row.process, row.incarnation});
      return;
    case Kind::begin:
    case Kind::commit_transaction:
    case Kind::abort_transaction:
      if (row.transaction != 0) see_outcome(row, index);
      return;
    case Kind::seek:
    case Kind::assigned:
    case Kind::revoking:
    case Kind::release:
      if ((row.flags & flag::header) == 0 && is_log(row.place))
        reads_.push_back({index, -1, 0, 0, row.place, row.process, row.incarnation, row.kind != Kind::seek});
      return;
    default:
      return;
  }
}

void LogFacts::see_publish(const Row& row, std::uint64_t index) {
  if (row.phase == Phase::invoke) {
    const std::uint32_t unit =
        row.transaction != 0 ? unit_of(row, index) : add_unit(row, index, LogUnit::Fate::unknown);
    // The row of an open publish holds its number here.
    open_.add(row.process, {row.op, row.incarnation, row.message, unit, sends_.size()});
    sends_.push_back({index, index, -1, unit, row.message, is_log(row.place) ? row.place : no_place,
                      row.process, row.incarnation, Phase::invoke, row.place});
    return;
  }
  const std::optional<OpenPublish> asked = open_.settle(row);
  if (!asked) return;
  LogSend& send = sends_[asked->row];
  send.row = index;
  send.phase = row.phase;
  if (row.place != no_place) send.told = row.place;
  if (is_log(row.place)) send.place = row.place;
  if (row.place != no_place && !is_log(row.place)) send.place = no_place;
  // A repeat that the broker recognised stands where the first one does.
  const bool stands = is_log(row.place) && row.phase != Phase::fail && (row.flags & flag::duplicate) == 0;
  if (stands) send.position = row.position;
  LogUnit& unit = units_[send.unit];
  if (unit.transaction) return;
  unit.row = index;
  unit.fate = row.phase == Phase::ok     ? LogUnit::Fate::committed
              : row.phase == Phase::fail ? LogUnit::Fate::aborted
                                         : LogUnit::Fate::unknown;
}

void LogFacts::see_outcome(const Row& row, std::uint64_t index) {
  LogUnit& unit = units_[unit_of(row, index)];
  if (row.kind == Kind::abort_transaction) unit.abort_asked = true;
  if (row.kind == Kind::begin || row.phase == Phase::invoke || row.phase == Phase::fail) return;
  if (unit.fate != LogUnit::Fate::unknown) return;
  unit.row = index;
  if (row.phase == Phase::ok)
    unit.fate = row.kind == Kind::commit_transaction ? LogUnit::Fate::committed : LogUnit::Fate::aborted;
}

std::uint32_t LogFacts::add_unit(const Row& row, std::uint64_t index, LogUnit::Fate fate, bool transaction) {
  units_.push_back({fate, index, row.process, transaction, false});
  return static_cast<std::uint32_t>(units_.size()) - 1;
}

std::uint32_t LogFacts::unit_of(const Row& row, std::uint64_t index) {
  if (row.transaction != 0) {
    const std::uint32_t number = transactions_.of(row);
    if (number == unit_of_transaction_.size())
      unit_of_transaction_.push_back(add_unit(row, index, LogUnit::Fate::unknown, true));
    return unit_of_transaction_[number];
  }
  Batch& batch = batch_[row.process];
  if (!batch.open || batch.op != row.op || batch.incarnation != row.incarnation)
    batch = {row.op, row.incarnation, add_unit(row, index, LogUnit::Fate::committed), true};
  return batch.unit;
}

void LogFacts::reset() {
  std::fill(audited_.begin(), audited_.end(), 0);
  transactions_.reset();
  unit_of_transaction_.clear();
  open_.reset();
  std::fill(batch_.begin(), batch_.end(), Batch{});
  units_.clear();
  sends_.clear();
  reads_.clear();
  audits_.clear();
}

}  // namespace mqlab
