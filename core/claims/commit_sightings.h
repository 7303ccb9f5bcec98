// What stages have committed, as rows of both worlds tell it: positions of logs, acks of queues.
#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "core/claims/end_phase.h"
#include "core/claims/paged.h"
#include "core/claims/scope.h"

namespace mqlab {

/// The first row at which a record lay below a committed position.
struct Covered {
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t certainly = never;
  std::uint64_t perhaps = never;  ///< counting commits whose outcome is unknown, too; ≤ certainly
};

/// For the stages of a reader scope. A commit is seen at the row that asks for it, once it has settled ok; a
/// transaction's at the row that gives its offsets, once it was committed.
class CommitSightings {
 public:
  explicit CommitSightings(const Scope& scope);

  std::uint64_t kinds() const {
    return bit(Kind::commit) | bit(Kind::ack) | bit(Kind::offsets_to_transaction) |
           bit(Kind::commit_transaction) | bit(Kind::abort_transaction) | bit(Kind::assigned) |
           bit(Kind::audit);
  }
  void see(const Row& row, std::uint64_t index);
  /// Whether the record lies below a position known by now to be committed.
  bool passed(std::size_t lane, PlaceId place, std::int64_t position) const;
  /// After the last row: what is still open may have been committed. Call before covered().
  void settle();
  Covered covered(std::size_t lane, PlaceId place, std::int64_t position) const;
  void reset();

 private:
  struct Sighting {
    std::uint64_t row = 0;
    std::int64_t next = 0;  ///< positions below are covered
  };
  struct Place {  // of one lane
    std::vector<Sighting> certain, all;
    std::vector<Sighting> certain_by_row, all_by_row;  ///< by settle()
    std::int64_t passed = 0;
  };
  struct Acked {
    std::uint64_t certainly = Covered::never, perhaps = Covered::never;
  };
  struct Asked {  // a commit, ack or offset whose outcome is to come
    Kind kind = Kind::commit;
    OpId op = 0;
    Incarnation incarnation = 0;
    std::uint32_t transaction = 0;
    PlaceId place = no_place;
    std::int64_t position = 0;
    std::uint64_t row = 0;
    bool commit_asked = false;  ///< offsets: of their transaction
  };

  void see_settled(const Row& row, std::size_t lane);
  void see_transaction(const Row& row, std::size_t lane);
  void sight(std::size_t lane, const Asked& asked, bool certain);
  void perhaps_at_the_end(std::size_t lane, const Asked& asked);
  void committed(std::size_t lane, PlaceId place, std::int64_t next, std::uint64_t row, bool certain);
  Place& at(std::size_t lane, PlaceId place) { return committed_[lane * places_ + place]; }
  const Place& at(std::size_t lane, PlaceId place) const { return committed_[lane * places_ + place]; }
  static std::vector<Sighting> by_row(std::vector<Sighting> sightings);
  static std::uint64_t first_past(const std::vector<Sighting>& sightings, std::int64_t position);

  const Scope* scope_;
  std::size_t places_;
  std::vector<std::vector<std::uint16_t>> readers_;  // by place: lanes that read it
  std::vector<Place> committed_;                     // by lane and place
  std::vector<Positions<Acked>> acked_;              // by lane
  std::vector<std::vector<Asked>> open_;             // by process
  std::map<std::tuple<std::size_t, PlaceId, std::int64_t>, std::uint64_t> open_acks_;  // by settle()
};

}  // namespace mqlab
