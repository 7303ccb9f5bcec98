// order.key: per key and producer, the first effects of ids follow the order in which they were sent,
// whichever consumer made them. Where only the log tells the order, effects in different partitions have
// none.
#include <map>
#include <tuple>

#include "core/claims/effects.h"
#include "core/claims/makers.h"
#include "core/claims/order.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class OrderKey final : public RowChecker<OrderKey> {
 public:
  explicit OrderKey(Scope scope) : scope_(std::move(scope)), end_(scope_), reader_(scope_), writes_(scope_) {
    std::uint16_t senders = 0;
    for (const std::uint8_t sends : scope_.sender) sender_number_.push_back(sends != 0 ? senders++ : 0);
    latest_.resize(senders * scope_.lanes.size());
    kinds_ = end_.kinds() | bit(Kind::publish);
    kinds_ |= scope_.source == Source::store ? bit(Kind::store_write) : reader_.kinds();
  }

  void see(const Row& row, std::uint64_t index) {
    if (row.kind == Kind::publish) {
      if (row.phase == Phase::invoke && scope_.sends(row.process)) see_send(row, index);
      return;
    }
    end_.see(row, index);
    if (scope_.source == Source::store) {
      writes_.see(row,
                  [&](MessageId id, bool certain) { met(id, 0, no_place, -1, certain ? index : doubtful); });
      return;
    }
    const int lane = reader_.lane_of(row);
    if (lane >= 0) met(row.message, static_cast<std::size_t>(lane), row.place, row.position, index);
    const int perhaps = reader_.doubtful_lane(row);
    if (perhaps >= 0) met(row.message, static_cast<std::size_t>(perhaps), row.place, row.position, doubtful);
  }
  bool decided() const override { return violations_ > 0; }
  Finding finish() override;
  void reset() override;

 private:
  static constexpr std::uint64_t doubtful = ~std::uint64_t{0};  // the row of an effect that may not have been

  struct Send {
    std::uint64_t row : 48 = 0;  // plus one
    std::uint64_t process : 16 = 0;
    std::uint32_t key = 0;
  };
  using Others = std::map<std::tuple<std::size_t, std::uint32_t, PlaceId>, Latest>;

  void see_send(const Row& row, std::uint64_t index) {
    if (row.message == 0) return;
    Send& send = sends_[row.message];
    if (send.row != 0) return;
    send.row = index + 1;
    send.process = row.process;
    send.key = row.key;
    ++sent_;
  }
  void met(MessageId id, std::size_t lane, PlaceId place, std::int64_t position, std::uint64_t index);
  Latest& latest(std::size_t reader, std::uint32_t key, PlaceId place);

  Scope scope_;
  EndPhase end_;
  EffectReader reader_;
  StoreWrites writes_;
  std::vector<std::uint16_t> sender_number_;  // by process
  Paged<Send> sends_;
  std::vector<Paged<Latest>> latest_;  // by sender and lane, then by key
  Others other_latest_;                // of a key's further partitions
  FirstMet met_;
  std::uint64_t sent_ = 0, compared_ = 0, violations_ = 0;
  Inversion first_;
  std::size_t first_lane_ = 0;
};

Latest& OrderKey::latest(std::size_t reader, std::uint32_t key, PlaceId place) {
  Latest& usual = latest_[reader][key];
  if (scope_.source != Source::audit || usual.sent_row == 0 || usual.place == place) return usual;
  return other_latest_[{reader, key, place}];
}

void OrderKey::met(MessageId id, std::size_t lane, PlaceId place, std::int64_t position,
                   std::uint64_t index) {
  const Send send = sends_.get(id);
  if (send.row == 0) return;
  const std::uint64_t tag = scope_.source == Source::audit ? std::uint64_t{place} + 1 : 1;
  const bool fresh = met_.insert(std::uint64_t{id} * scope_.lanes.size() + lane, tag);
  // Repeats have no place in the order of first effects; nor has what may follow a first that is in doubt.
  if (!fresh || index == doubtful) return;
  const auto sender = static_cast<ProcessId>(send.process);
  Latest& latest = this->latest(sender_number_[sender] * scope_.lanes.size() + lane, send.key, place);
  if (latest.sent_row != 0) ++compared_;
  const Latest now{send.row, index, position, id, place};
  if (now.sent_row > latest.sent_row) {
    latest = now;
  } else if (++violations_ == 1) {
    first_ = {now, latest, sender, send.key, false};
    first_lane_ = lane;
  }
}

Finding OrderKey::finish() {
  Finding finding;
  finding.observed = compared_;
  finding.population = sent_;
  finding.violations = violations_;
  if (violations_ > 0) {
    finding.verdict = Verdict::violated;
    finding.message = first_.early.id;
    finding.witness = first_.witness();
    finding.explanation = "key " + std::to_string(first_.key) + ": " + tell(first_, scope_, first_lane_);
    if (violations_ > 1) finding.explanation += " (and " + std::to_string(violations_ - 1) + " more)";
    return finding;
  }
  if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (compared_ < scope_.observed_at_least) {
    finding.explanation =
        too_few(finding, compared_, scope_.observed_at_least, "pair of effects with one key");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = counted(compared_, "pair") + " of effects with one key in the order they were sent";
  }
  return finding;
}

void OrderKey::reset() {
  index_ = 0;
  end_.reset();
  reader_.reset();
  writes_.reset();
  sends_.reset();
  for (Paged<Latest>& latest : latest_) latest.reset();
  other_latest_.clear();
  met_.reset();
  sent_ = compared_ = violations_ = 0;
}

bool keyed(const Scenario& scenario, const std::string& topic) {
  for (const WorkloadSpec& workload : scenario.workloads) {
    if (workload.topic == topic && workload.keys.kind != KeySpec::Kind::none) return true;
  }
  return false;
}

}  // namespace

std::unique_ptr<Checker> make_order_key(const ClaimSpec& claim, const Scenario& scenario,
                                        const Topology& topology) {
  const Parameters parameters(claim, scenario, {"deliveries", "stage"});
  Scope scope = resolve_scope(claim, scenario, topology, parameters);
  if (!keyed(scenario, scope.of)) {
    parameters.fail(
        "", "the messages of \"" + scope.of + "\" have no keys; give the workload keys = { kind = … }");
  }
  return std::make_unique<OrderKey>(std::move(scope));
}

}  // namespace mqlab
