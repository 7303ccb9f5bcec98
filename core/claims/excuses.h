// What `excused` names: losses that a claim does not count, since the broker was told to remove what is old
// or too much. Each needs evidence in the history.
//
//   retention    an acked record of the id lies before the start of its log when that is audited
//   compaction   it is not found there, and a later record of its partition has its key: one that is
//                found, or a tombstone that is gone in its turn. Or it is itself such a tombstone, and no
//                handler was done with an earlier record of its key: who never knew the key need not hear
//                of its end
//   max-deliver  a stage that reads `of` was given it as often as its consumer's max_deliver says
//
// Where the record lies before it got to where its effects are found, it counts only if no handler was done
// with it: what was processed before it was removed is not lost by that. Where only a publish, a transaction
// or a handler of unknown end could excuse a loss, it is doubtful.
//
//   no_loss = { of = "requests", in = "results", excused = ["retention"] }
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/claims/paged.h"
#include "core/claims/scope.h"
#include "core/claims/transactions.h"

namespace mqlab {

enum class Excuse : std::uint8_t { none, doubtful, excused };

class Excuses {
 public:
  /// Throws ScenarioError for a name that is none.
  Excuses(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology, const Scope& scope,
          const Parameters& parameters);

  bool any() const { return retention_ || compaction_ || max_deliver_; }
  std::uint64_t kinds() const;
  void see(const Row& row);
  /// After the last row: whether it is excused that the acked id has no effect.
  Excuse of(MessageId id) const;
  void reset();

 private:
  struct Record {  // an ack
    MessageId id = 0;
    PlaceId place = no_place;
    std::int64_t position = -1;
    std::uint32_t key = 0;
    std::uint32_t before = 0;  // the ack of the same id before it, plus one
    std::uint32_t transaction = no_transaction;
    std::uint32_t before_of_key = 0;  // likewise of its place and key
    bool tombstone = false;
  };
  enum Mark : std::uint8_t { done = 1, found = 2, perhaps_done = 4 };
  enum class Outcome : std::uint8_t { unknown, committed, aborted };

  void see_publish(const Row& row);

  Outcome outcome_of(const Record& record) const {
    return record.transaction == no_transaction ? Outcome::committed : outcome_[record.transaction];
  }
  Excuse removed(const Record& record) const;
  Excuse replaced(const Record& record) const;

  bool retention_ = false, compaction_ = false, max_deliver_ = false;
  std::vector<std::uint8_t> in_place_;  // by place: where effects are found
  std::vector<std::int64_t> most_;      // by process: its max_deliver; 0 = reads something else, or no limit
  std::vector<Record> records_;
  Paged<std::uint32_t> last_of_;   // by id: its last ack, plus one
  Paged<std::uint32_t> key_of_;    // by id, as it was published
  Paged<std::uint8_t> tombstone_;  // by id: was published without value
  Paged<std::uint8_t> unsure_;     // by id: a publish of it has no known outcome
  TransactionNumbers transactions_;
  std::vector<Outcome> outcome_;  // by transaction
  Paged<std::uint8_t> given_up_;  // by id: was given as often as may be
  Positions<std::uint8_t> marks_;
  std::vector<Paged<std::uint32_t>> last_of_key_;   // by place and key: its last ack, plus one
  std::vector<std::int64_t> start_;                 // by place; −1 = not told
  std::vector<std::int64_t> end_;                   // by place, likewise
  std::vector<Paged<std::int64_t>> latest_of_key_;  // by place and key: the last audited position, plus one
};

}  // namespace mqlab
