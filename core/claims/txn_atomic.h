// txn.atomic: a committed transaction has all its records visible and its offsets committed, an aborted one
// (or one whose commit was never asked for) none, one with an unknown outcome all or none. Judged at the end,
// across partitions, not at one moment. docs/claims.md says what counts as evidence of a committed offset.
#pragma once
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "core/claims/effects.h"
#include "core/claims/row_checker.h"
#include "core/claims/transactions.h"

namespace mqlab {

class TxnAtomic final : public RowChecker<TxnAtomic> {
 public:
  TxnAtomic(Scope scope, const Scenario& scenario, const Topology& topology);
  void see(const Row& row, std::uint64_t index);
  Finding finish() override;
  void reset() override;

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  enum class Outcome : std::uint8_t { committed, aborted, unknown };
  enum class Problem : std::uint8_t {
    none,
    record_missing,
    record_visible,
    records_torn,
    offsets_missing,
    offsets_present,
    offsets_without_records,
    records_without_offsets
  };
  struct Transaction {
    std::uint64_t first_row = none, end_row = none;
    std::uint32_t commits = 0, commits_failed = 0;  // asked for, refused
    bool committed = false, aborted = false, gives_offsets = false, pending = false;
    std::uint32_t writes = 0;                             // publishes invoked
    std::uint32_t stored = 0, found = 0;                  // positions acked; of them visible
    std::uint32_t open = 0;                               // of them still without an outcome
    std::uint32_t untold_visible = 0, untold_hidden = 0;  // publishes never acked, by what the log shows
    std::uint64_t found_row = none;                       // of a visible record
    MessageId found_message = 0;

    bool any_visible() const { return found > 0 || untold_visible > 0; }
    bool any_hidden() const { return stored > found + open || untold_hidden > 0; }
    Outcome outcome() const {
      if (committed) return Outcome::committed;
      return aborted || commits == 0 || commits_failed >= commits ? Outcome::aborted : Outcome::unknown;
    }
  };
  struct Cell {                     // a position whose publish was acked
    std::uint32_t transaction = 0;  // index plus one; no_transaction = outside any; 0 = not acked
    MessageId message = 0;
    std::uint64_t row : 63 = 0;
    std::uint64_t found : 1 = 0;
  };
  struct Publishers {         // who published an id
    std::uint32_t first = 0;  // transaction plus one, or no_transaction; 0 = nobody yet
    bool several = false;
  };
  struct Unclaimed {  // records of an id at positions where none was acked
    std::uint32_t visible = 0, open = 0;
    std::uint64_t row = 0;  // of the first visible one
  };
  struct Give {  // somebody asked for an offset to be committed
    std::int16_t stage = 0;
    PlaceId place = no_place;
    std::int64_t offset = 0;
    std::uint64_t row = 0;
    std::uint32_t transaction = no_transaction;  // no_transaction: a plain commit
    auto order() const { return std::tuple(stage, place, offset, row); }
  };
  struct Seen {  // an offset that was committed, as somebody was told
    std::int16_t stage = 0;
    PlaceId place = no_place;
    std::int64_t offset = 0;
    std::uint64_t row = 0;
  };
  using Final = std::map<std::pair<std::int16_t, PlaceId>, Seen>;
  struct Sighting {
    std::uint64_t row = none;
    PlaceId place = no_place;
    std::int64_t offset = 0;
  };
  struct Evidence {    // per transaction, while judging
    Sighting present;  // one of its offsets, seen committed
    Sighting missing;  // one of its offsets, and the final offset that lacks it
  };

  void see_publish(const Row& row, std::uint64_t index);
  void note_publisher(MessageId id, std::uint32_t publisher);
  void see_outcome(const Row& row, std::uint64_t index);
  void see_offsets(const Row& row, std::uint64_t index);
  void see_record(const Row& row, std::uint64_t index);
  void see_final_offset(const Row& row, std::uint64_t index);
  std::uint32_t transaction(const Row& row, std::uint64_t index);
  bool gone(std::uint32_t transaction) const {
    return transaction != no_transaction && transactions_[transaction].outcome() == Outcome::aborted;
  }

  void place_untold();
  void weigh_offsets();
  std::span<const Give> gives_of(const Seen& seen) const;
  std::uint64_t last_standing_give(const Seen& final_offset) const;
  void weigh_sighting(const Seen& seen);
  Problem problem(std::uint32_t transaction) const;
  bool offsets_audited() const;
  std::uint64_t ended_row(std::uint32_t transaction) const {
    const Transaction& t = transactions_[transaction];
    return t.end_row != none ? t.end_row : t.first_row;
  }
  void tell(Finding& finding, std::uint32_t transaction, Problem problem) const;
  std::string hidden_record(std::uint32_t transaction, std::uint64_t& row) const;
  std::string why_undecided(Finding& finding) const;

  Scope scope_;
  std::vector<std::uint32_t> stage_index_;  // by lane: into Scenario::stages, the key of offset audits
  std::vector<std::uint8_t> shared_input_;  // by place: several stages read it
  EndPhase end_;
  TransactionNumbers numbers_;
  OpenPublishes open_;
  std::vector<Transaction> transactions_;
  Positions<Cell> cells_;
  Paged<Publishers> publishers_;     // by id
  Paged<Unclaimed> unclaimed_;       // by id
  std::vector<OpenPublish> untold_;  // publishes whose end is unknown
  std::vector<Give> gives_;
  std::vector<Seen> seen_;
  Final final_;
  std::vector<Evidence> evidence_;  // by transaction; filled while judging
};

}  // namespace mqlab
