// What the delivery claims count: per id what became of its sending, and its effects. One pass, four
// verdicts.
#pragma once
#include <array>
#include <map>
#include <utility>

#include "core/claims/effects.h"
#include "core/claims/excuses.h"
#include "core/claims/row_checker.h"

namespace mqlab {

/// Which parts of "exactly once" a checker judges.
struct DeliveryParts {
  bool loss = false, duplicates = false, phantoms = false;
  bool end_judged() const { return loss || duplicates; }
};

class DeliveryChecker final : public RowChecker<DeliveryChecker> {
 public:
  DeliveryChecker(Scope scope, DeliveryParts parts, Excuses excuses);
  Finding finish() override;
  void reset() override;
  void see(const Row& row, std::uint64_t index);

 private:
  struct Sent {                          // one word per id
    std::uint64_t settled_row : 44 = 0;  // of the first ok; without one of the last fail
    std::uint64_t open : 12 = 0;         // publishes without an end yet
    std::uint64_t invoked : 1 = 0;
    std::uint64_t elsewhere : 1 = 0;  // invoked by a workload that sends to another topic
    std::uint64_t acked : 1 = 0;
    std::uint64_t failed : 1 = 0;
    std::uint64_t unknown : 1 = 0;
    std::uint64_t dead : 1 = 0;     // a dead letter was found
    std::uint64_t pending : 1 = 0;  // an effect may yet be: an open transaction's, or of unknown end
    std::uint64_t spare : 1 = 0;
    bool excluded() const { return failed && !acked && !unknown && open == 0; }
  };
  static_assert(sizeof(Sent) == 8);
  struct Effects {  // per id and lane
    std::uint64_t count : 20 = 0;
    std::uint64_t first_row : 44 = 0;
    std::uint64_t position : 46 = 0;  // of the first; plus one
    std::uint64_t place : 18 = 0;     // plus one
  };
  static_assert(sizeof(Effects) == 16);
  struct Suspect {  // an effect that nobody seems to have asked for
    std::uint64_t row = 0;
    MessageId id = 0;
    PlaceId place = no_place;
    std::int64_t position = -1;
    std::uint64_t digest = 0;
    bool aborted = false;
  };
  struct Tally {
    std::uint64_t invoked = 0, acked = 0, unknown = 0, pending = 0, lost = 0, phantoms = 0;
    std::uint64_t excused = 0, doubtful = 0;  // of those without effect
    MessageId first_lost = 0;
    std::size_t lost_lane = 0;
  };

  void see_publish(const Row& row, std::uint64_t index);
  void see_audit(const Row& row, std::uint64_t index);
  void note_digest(const Row& row);
  bool known_digest(MessageId id, std::uint64_t digest) const;
  void effect(const Row& row, std::uint64_t index, std::size_t lane);
  bool phantom(const Suspect& suspect) const;
  Tally tally() const;
  std::vector<Suspect> phantoms() const;

  void tell_duplicate(Finding& finding) const;
  void tell_loss(Finding& finding, const Tally& tally) const;
  void tell_phantom(Finding& finding, const Suspect& suspect) const;
  std::string why_undecided(const Tally& tally, Finding& finding) const;

  Scope scope_;
  DeliveryParts parts_;
  Excuses excuses_;
  EndPhase end_;
  EffectReader reader_;
  Paged<Sent> sent_;
  Paged<Effects> effects_;
  Paged<std::uint64_t> digest_, other_digest_;  // of what was handed over for an id; most ids have one
  std::map<MessageId, std::vector<std::uint64_t>> more_digests_;  // looked up only
  std::vector<Suspect> suspects_;
  std::uint64_t observed_ = 0;
  std::uint64_t duplicates_ = 0;  // ids (per lane) with more than one effect
  Row second_;                    // of the first duplicate
  std::uint64_t second_row_ = 0;
  Effects first_;
  std::size_t duplicate_lane_ = 0;
};

std::unique_ptr<Checker> make_delivery_checker(const ClaimSpec& claim, const Scenario& scenario,
                                               const Topology& topology, DeliveryParts parts);

}  // namespace mqlab
