#include "core/claims/excuses.h"

#include <algorithm>

#include "core/claims/end_phase.h"
#include "core/history/audit.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {

Excuses::Excuses(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                 const Scope& scope, const Parameters& parameters)
    : in_place_(scope.in_place),
      most_(topology.processes.size()),
      transactions_(topology.processes.size()),
      marks_(topology.places.size()),
      last_of_key_(topology.places.size()),
      start_(topology.places.size(), -1),
      end_(topology.places.size(), -1),
      latest_of_key_(topology.places.size()) {
  const std::vector<std::string> names = {"retention", "compaction", "max-deliver"};
  for (const std::string& name : claim.excused) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      parameters.fail("excused", "no loss is called " + quoted(name) + "; " + suggestion(name, names));
    retention_ = retention_ || name == "retention";
    compaction_ = compaction_ || name == "compaction";
    max_deliver_ = max_deliver_ || name == "max-deliver";
  }
  for (std::size_t p = 0; p < most_.size(); ++p) {
    if (topology.processes[p].role != Role::stage) continue;
    const StageSpec& stage = scenario.stages[topology.processes[p].index];
    const bool reads = std::find(stage.inputs.begin(), stage.inputs.end(), scope.of) != stage.inputs.end();
    const Property* most = find(stage.consumer, "max_deliver");
    if (reads && most != nullptr)
      most_[p] = std::max<std::int64_t>(parse_integer(most->value).value_or(0), 0);
  }
}

std::uint64_t Excuses::kinds() const {
  if (!any()) return 0;
  return bit(Kind::publish) | bit(Kind::complete) | bit(Kind::deliver) | bit(Kind::audit) |
         bit(Kind::audit_end) | bit(Kind::commit_transaction) | bit(Kind::abort_transaction);
}

void Excuses::see(const Row& row) {
  if (row.kind == Kind::audit_end) {
    if (row.place >= start_.size()) return;
    start_[row.place] = static_cast<std::int64_t>(row.digest) - 1;
    end_[row.place] = row.position;
    return;
  }
  const bool settles = row.kind == Kind::commit_transaction || row.kind == Kind::abort_transaction;
  if (settles && row.phase == Phase::ok && row.transaction != 0 && row.process < most_.size()) {
    const std::uint32_t number = transactions_.of(row);
    outcome_.resize(transactions_.size());
    outcome_[number] = row.kind == Kind::commit_transaction ? Outcome::committed : Outcome::aborted;
  }
  if (row.message == 0) return;
  if (row.kind == Kind::publish) see_publish(row);
  if (row.kind == Kind::deliver && row.process < most_.size()) {
    const std::int64_t most = most_[row.process];
    if (most > 0 && row.attempt >= most) given_up_[row.message] = 1;
  }
  if (row.place >= start_.size() || row.position < 0) return;
  if (row.kind == Kind::complete && row.phase == Phase::ok) marks_.at(row.place, row.position) |= done;
  if (row.kind == Kind::complete && row.phase == Phase::unknown)
    marks_.at(row.place, row.position) |= perhaps_done;
  if (!is_record_audit(row)) return;
  marks_.at(row.place, row.position) |= found;
  std::int64_t& latest = latest_of_key_[row.place][row.key];
  latest = std::max(latest, row.position + 1);
}

void Excuses::see_publish(const Row& row) {
  if (row.phase == Phase::invoke) key_of_[row.message] = row.key;
  if (row.phase == Phase::invoke && (row.flags & flag::tombstone) != 0) tombstone_[row.message] = 1;
  if (row.phase == Phase::unknown) unsure_[row.message] = 1;
  if (row.phase != Phase::ok || row.place >= start_.size() || row.position < 0 || row.process >= most_.size())
    return;
  const std::uint32_t transaction = row.transaction == 0 ? no_transaction : transactions_.of(row);
  outcome_.resize(transactions_.size());
  std::uint32_t& last = last_of_[row.message];
  const std::uint32_t key = key_of_.get(row.message);
  std::uint32_t& last_of_key = last_of_key_[row.place][key];
  records_.push_back({row.message, row.place, row.position, key, last, transaction, last_of_key,
                      tombstone_.get(row.message) != 0});
  last = last_of_key = static_cast<std::uint32_t>(records_.size());
}

/// Whether compaction may have taken a record away that is not found.
Excuse Excuses::replaced(const Record& record) const {
  if (record.key == 0) return Excuse::none;
  if (latest_of_key_[record.place].get(record.key) > record.position + 1) return Excuse::excused;
  Excuse own = record.tombstone && record.position < end_[record.place] ? Excuse::excused : Excuse::none;
  std::uint32_t r = last_of_key_[record.place].get(record.key);
  for (; r != 0; r = records_[r - 1].before_of_key) {
    const Record& other = records_[r - 1];
    const bool there = other.position < end_[record.place] && outcome_of(other) == Outcome::committed;
    if (other.tombstone && other.position > record.position && there) return Excuse::excused;
    if (other.position >= record.position || in_place_[record.place] != 0) continue;
    const std::uint8_t marks = marks_.get(other.place, other.position);
    if ((marks & done) != 0) own = Excuse::none;
    if ((marks & perhaps_done) != 0) own = std::min(own, Excuse::doubtful);
  }
  return own;
}

Excuse Excuses::removed(const Record& record) const {
  const std::uint8_t marks = marks_.get(record.place, record.position);
  if ((marks & found) != 0 || ((marks & done) != 0 && in_place_[record.place] == 0)) return Excuse::none;
  const std::int64_t start = start_[record.place];
  if (retention_ && record.position < start) return Excuse::excused;
  return compaction_ && start >= 0 && record.position >= start ? replaced(record) : Excuse::none;
}

Excuse Excuses::of(MessageId id) const {
  if (!any()) return Excuse::none;
  if (max_deliver_ && given_up_.get(id) != 0) return Excuse::excused;
  Excuse excuse = (retention_ || compaction_) && unsure_.get(id) != 0 ? Excuse::doubtful : Excuse::none;
  for (std::uint32_t r = last_of_.get(id); r != 0; r = records_[r - 1].before) {
    const Record& record = records_[r - 1];
    const Excuse removal = removed(record);
    if (removal == Excuse::none) continue;
    const Outcome outcome = outcome_of(record);
    const bool processed =
        (marks_.get(record.place, record.position) & perhaps_done) != 0 && in_place_[record.place] == 0;
    if (removal == Excuse::excused && outcome == Outcome::committed && !processed) return Excuse::excused;
    if (outcome != Outcome::aborted) excuse = Excuse::doubtful;
  }
  return excuse;
}

void Excuses::reset() {
  if (!any()) return;
  records_.clear();
  last_of_.reset();
  key_of_.reset();
  tombstone_.reset();
  for (Paged<std::uint32_t>& last : last_of_key_) last.reset();
  unsure_.reset();
  transactions_.reset();
  outcome_.clear();
  given_up_.reset();
  marks_.reset();
  std::fill(start_.begin(), start_.end(), -1);
  std::fill(end_.begin(), end_.end(), -1);
  for (Paged<std::int64_t>& latest : latest_of_key_) latest.reset();
}

}  // namespace mqlab
