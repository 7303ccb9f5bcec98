// disk.bounded: a topic or stream never takes more than `at_most` bytes on disk: all its partitions together,
// of each the replica that has most, what retention has not removed yet included: a segment goes as a whole,
// not before it is rolled, and only when the broker looks.
//
// The lab measures where a scenario has this claim: of Kafka the segments (files .log), of NATS what the
// stream says. The simulated lab sees each change; the live one looks several times a second, and can miss a
// peak between. Observed: measurements.
//
// Source: Kafka's documentation, "Topic configs" (retention.bytes, segment.bytes,
// log.retention.check.interval.ms); strimzi.io/blog/2021/12/17/kafka-segment-retention.
//
//   "disk.bounded" = { in = "requests", at_most = "64MiB" }
#include <algorithm>

#include "core/claims/end_phase.h"
#include "core/claims/makers.h"
#include "core/claims/row_checker.h"
#include "core/claims/wording.h"

namespace mqlab {
namespace {

class DiskBounded final : public RowChecker<DiskBounded> {
 public:
  DiskBounded(Scope scope, std::uint64_t at_most)
      : scope_(std::move(scope)), at_most_(at_most), end_(scope_), bytes_(scope_.places.size()) {
    kinds_ = end_.kinds() | bit(Kind::usage);
  }

  void see(const Row& row, std::uint64_t index) {
    end_.see(row, index);
    if (row.kind != Kind::usage || row.phase != Phase::ok || !scope_.is_in(row.place) || row.aux < 0) return;
    const bool exceeded = total_ > at_most_;
    total_ += static_cast<std::uint64_t>(row.aux) - bytes_[row.place];
    bytes_[row.place] = static_cast<std::uint64_t>(row.aux);
    ++measured_;
    if (total_ > most_) {
      most_ = total_;
      most_row_ = index;
    }
    if (exceeded || total_ <= at_most_) return;
    if (exceeded_++ == 0) first_row_ = index;
  }
  bool decided() const override { return exceeded_ > 0; }
  Finding finish() override;
  void reset() override {
    index_ = 0;
    end_.reset();
    std::fill(bytes_.begin(), bytes_.end(), 0);
    total_ = most_ = measured_ = exceeded_ = most_row_ = first_row_ = 0;
  }

 private:
  Scope scope_;
  std::uint64_t at_most_;
  EndPhase end_;
  std::vector<std::uint64_t> bytes_;  // by place
  std::uint64_t total_ = 0, most_ = 0, measured_ = 0;
  std::uint64_t exceeded_ = 0;  // how often the bound was passed
  std::uint64_t most_row_ = 0, first_row_ = 0;
};

Finding DiskBounded::finish() {
  Finding finding;
  finding.observed = finding.population = measured_;
  finding.violations = exceeded_;
  finding.value = static_cast<double>(most_);
  if (exceeded_ > 0) {
    finding.verdict = Verdict::violated;
    finding.witness = {first_row_};
    if (most_row_ != first_row_) finding.witness.push_back(most_row_);
    finding.explanation =
        scope_.in + " took " + counted(most_, "byte") + ", more than " + std::to_string(at_most_);
  } else if (!end_.complete()) {
    finding.explanation = end_.problem(scope_);
  } else if (measured_ < scope_.observed_at_least) {
    finding.explanation = too_few(finding, measured_, scope_.observed_at_least, "measurement");
  } else {
    finding.verdict = Verdict::holds;
    finding.explanation = scope_.in + " took " + counted(most_, "byte") + " at most";
  }
  return finding;
}

}  // namespace

std::unique_ptr<Checker> make_disk_bounded(const ClaimSpec& claim, const Scenario& scenario,
                                           const Topology& topology) {
  const Parameters parameters(claim, scenario, {"at_most"});
  for (const auto& [key, value] : {std::pair{"of", claim.of}, {"as", claim.as}}) {
    if (!value.empty())
      parameters.fail(key, "has no meaning here; the claim is about what is stored (in = TOPIC)");
  }
  const std::optional<std::uint64_t> at_most = parameters.bytes("at_most");
  if (!at_most) parameters.fail("at_most", "is needed: at_most = \"64MiB\"");
  return std::make_unique<DiskBounded>(resolve_topic_scope(claim, scenario, topology, parameters), *at_most);
}

}  // namespace mqlab
