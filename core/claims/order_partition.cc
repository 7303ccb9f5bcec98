// order.partition: within a partition, the first occurrences of what one incarnation of a producer sent
// follow the order in which it sent them. repeats = "strict": nor does one occur again after a later one.
#include <map>

#include "core/claims/effects.h"
#include "core/claims/makers.h"
#include "core/claims/order.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class OrderPartition final : public RowChecker<OrderPartition> {
 public:
  OrderPartition(Scope scope, bool strict)
      : scope_(std::move(scope)),
        strict_(strict),
        end_(scope_),
        reader_(scope_),
        stored_by_(scope_.places.size()),
        current_(scope_.processes.size()) {
    kinds_ = end_.kinds() | reader_.kinds() | bit(Kind::publish);
  }

  void see(const Row& row, std::uint64_t index) {
    if (row.kind == Kind::publish) {
      see_publish(row, index);
      return;
    }
    end_.see(row, index);
    if (row.kind != Kind::audit && row.kind != Kind::deliver) return;
    if (reader_.lane_of(row) >= 0) met(row, index);
  }
  bool decided() const override { return violations_ > 0; }
  Finding finish() override;
  void reset() override;

 private:
  struct Send {
    std::uint64_t row : 43 = 0;  // of the first producer's first publish, plus one
    std::uint64_t producer : 20 = 0;
    std::uint64_t several : 1 = 0;  // other producers sent it too
  };
  struct Producer {
    ProcessId process = no_process;
    Incarnation incarnation = 0;
  };

  void see_publish(const Row& row, std::uint64_t index);
  std::uint32_t producer_of(const Row& row);
  void met(const Row& row, std::uint64_t index);
  void met_by_someone(const Row& row);
  static std::uint64_t tag(std::uint32_t producer, PlaceId place) {
    return (std::uint64_t{producer} + 1) << 32 | place;
  }
  /// Who stored the record, plus one, by rows before this one; 0 = not known.
  std::uint32_t sender_of(const Row& row) const;
  std::uint64_t sent_row(MessageId id, std::uint32_t producer) const;

  Scope scope_;
  bool strict_;
  EndPhase end_;
  EffectReader reader_;
  Paged<Send> sends_;
  std::map<std::pair<MessageId, std::uint32_t>, std::uint64_t> other_sends_;  // by further producers of an id
  Positions<std::uint32_t> stored_by_;  // producer + 1 of an acked record
  std::vector<std::uint32_t> current_;  // by process: its latest producer number + 1
  std::vector<Producer> producers_;
  Paged<Latest> latest_;  // by producer and place
  FirstMet met_;
  std::uint64_t records_ = 0, judged_ = 0, compared_ = 0, violations_ = 0;
  Inversion first_;
};

std::uint32_t OrderPartition::producer_of(const Row& row) {
  std::uint32_t& current = current_[row.process];
  if (current != 0 && producers_[current - 1].incarnation == row.incarnation) return current - 1;
  for (std::uint32_t i = 0; i < producers_.size(); ++i) {
    if (producers_[i].process != row.process || producers_[i].incarnation != row.incarnation) continue;
    current = i + 1;
    return i;
  }
  producers_.push_back({row.process, row.incarnation});
  current = static_cast<std::uint32_t>(producers_.size());
  return current - 1;
}

void OrderPartition::see_publish(const Row& row, std::uint64_t index) {
  if (!scope_.sends(row.process) || row.message == 0) return;
  if (row.phase == Phase::ok) {
    if (scope_.is_in(row.place) && row.position >= 0)
      stored_by_.at(row.place, row.position) = producer_of(row) + 1;
    return;
  }
  if (row.phase != Phase::invoke) return;
  const std::uint32_t producer = producer_of(row);
  Send& send = sends_[row.message];
  if (send.row == 0) {
    send.row = index + 1;
    send.producer = producer;
  } else if (send.producer != producer) {
    send.several = 1;
    other_sends_.try_emplace({row.message, producer}, index + 1);
  }
}

std::uint32_t OrderPartition::sender_of(const Row& row) const {
  const std::uint32_t stored_by = row.position < 0 ? 0 : stored_by_.get(row.place, row.position);
  if (stored_by != 0) return stored_by;
  const Send send = sends_.get(row.message);
  return send.row == 0 || send.several ? 0 : static_cast<std::uint32_t>(send.producer) + 1;
}

std::uint64_t OrderPartition::sent_row(MessageId id, std::uint32_t producer) const {
  const Send send = sends_.get(id);
  if (send.row != 0 && send.producer == producer) return send.row;
  const auto other = other_sends_.find({id, producer});
  return other == other_sends_.end() ? 0 : other->second;
}

/// A record that any of several producers may have sent: their later records of this id may be repeats.
void OrderPartition::met_by_someone(const Row& row) {
  const Send send = sends_.get(row.message);
  if (send.row == 0) return;
  met_.insert(row.message, tag(static_cast<std::uint32_t>(send.producer), row.place));
  for (auto other = other_sends_.lower_bound({row.message, 0});
       other != other_sends_.end() && other->first.first == row.message; ++other) {
    met_.insert(row.message, tag(other->first.second, row.place));
  }
}

void OrderPartition::met(const Row& row, std::uint64_t index) {
  ++records_;
  const std::uint32_t sender = sender_of(row);
  if (sender == 0) {
    met_by_someone(row);
    return;
  }
  const Latest now{sent_row(row.message, sender - 1), index, row.position, row.message, row.place};
  if (now.sent_row == 0) return;
  ++judged_;
  const bool fresh = met_.insert(row.message, tag(sender - 1, row.place));
  Latest& latest = latest_[std::uint64_t{sender - 1} * scope_.places.size() + row.place];
  if (latest.sent_row != 0) ++compared_;
  if (now.sent_row > latest.sent_row) {
    latest = now;
  } else if ((fresh || strict_) && now.sent_row < latest.sent_row && ++violations_ == 1) {
    first_ = {now, latest, producers_[sender - 1].process, row.key, !fresh};
  }
}

Finding OrderPartition::finish() {
  Finding finding;
  finding.observed = compared_;
  finding.population = records_;
  finding.violations = violations_;
  if (violations_ > 0) {
    finding.verdict = Verdict::violated;
    finding.message = first_.early.id;
    finding.witness = first_.witness();
    finding.explanation = tell(first_, scope_, 0);
    if (violations_ > 1) finding.explanation += " (and " + std::to_string(violations_ - 1) + " more)";
    return finding;
  }
  if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (compared_ < scope_.observed_at_least) {
    finding.explanation = too_few(finding, compared_, scope_.observed_at_least, "pair of records");
  } else if (too_uncertain(records_ - judged_, records_, scope_.unknown_at_most)) {
    finding.explanation = "who sent it is unknown for " + std::to_string(records_ - judged_) + " of " +
                          counted(records_, "record");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(judged_, "record") + " in the order they were sent";
  }
  return finding;
}

void OrderPartition::reset() {
  index_ = 0;
  end_.reset();
  reader_.reset();
  sends_.reset();
  other_sends_.clear();
  stored_by_.reset();
  for (const Producer& producer : producers_) current_[producer.process] = 0;
  producers_.clear();
  latest_.reset();
  met_.reset();
  records_ = judged_ = compared_ = violations_ = 0;
}

}  // namespace

std::unique_ptr<Checker> make_order_partition(const ClaimSpec& claim, const Scenario& scenario,
                                              const Topology& topology) {
  const Parameters parameters(claim, scenario, {"repeats"});
  const bool strict = parameters.word("repeats", {"allowed", "strict"}) == "strict";
  return std::make_unique<OrderPartition>(resolve_topic_scope(claim, scenario, topology, parameters), strict);
}

}  // namespace mqlab
