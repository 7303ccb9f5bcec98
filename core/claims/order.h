// What the order claims share: first occurrences, and two records that stand the wrong way round.
#pragma once
#include <cstdint>
#include <set>
#include <utility>

#include "core/claims/paged.h"
#include "core/claims/scope.h"

namespace mqlab {

/// The latest in send order of what one reader has met from one sender.
struct Latest {
  std::uint64_t sent_row = 0;  ///< where it was sent, plus one; 0 = nothing met yet
  std::uint64_t met_row = 0;
  std::int64_t position = -1;
  MessageId id = 0;
  PlaceId place = no_place;
};

/// `id` was sent before `other`, yet met after it.
struct Inversion {
  Latest early, late;  ///< sent first, sent later
  ProcessId sender = no_process;
  std::uint32_t key = 0;
  bool repeat = false;

  std::vector<std::uint64_t> witness() const {
    std::vector<std::uint64_t> rows = {early.sent_row - 1, late.sent_row - 1, late.met_row, early.met_row};
    std::sort(rows.begin(), rows.end());
    return rows;
  }
};

/// "api sent id 1 before id 2, but vectors has id 2 first: vectors/0@3, then vectors/0@4"
inline std::string tell(const Inversion& inversion, const Scope& scope, std::size_t lane) {
  const std::string early = "id " + std::to_string(inversion.early.id);
  const std::string late = "id " + std::to_string(inversion.late.id);
  const std::string& where = scope.lanes[lane];
  std::string what =
      scope.name_of_process(inversion.sender) + " sent " + early + " before " + late + ", but ";
  const std::string order = inversion.repeat ? early + " again after " + late : late + " first";
  switch (scope.source) {
    case Source::audit:
    case Source::store:
      what += where + " has " + order;
      break;
    case Source::observer:
      what += where + " read " + order;
      break;
    case Source::completed:
      what += where + " completed " + order;
      break;
    case Source::handled:
      what += where + " handled " + order;
      break;
  }
  if (inversion.late.place == no_place) return what;
  return what + ": " + scope.at(inversion.late.place, inversion.late.position) + ", then " +
         scope.at(inversion.early.place, inversion.early.position);
}

/// Which (id, tag) were met before; nearly every id has one tag.
class FirstMet {
 public:
  /// True when it was not there before. tag ≠ 0.
  bool insert(std::uint64_t id, std::uint64_t tag) {
    std::uint64_t& first = tag_[id];
    if (first == 0) {
      first = tag;
      return true;
    }
    return first != tag && more_.emplace(id, tag).second;
  }
  void reset() {
    tag_.reset();
    more_.clear();
  }

 private:
  Paged<std::uint64_t> tag_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> more_;
};

}  // namespace mqlab
