#include "search/rounds.h"

#include <array>
#include <numeric>

#include "core/base/draw.h"

namespace mqlab::search {
namespace {

constexpr Round p = Round::pairs, r = Round::random, m = Round::mutation;
/// Mostly pairs: they are the cheapest, and most defects that one fault does not show need two.
constexpr std::array<Round, Rounds::generation> deal = {p, r, p, m, p, p, r, p, m, p, p, r, p, m, p, p};

}  // namespace

std::string_view name_of(Round round) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Round::count_)> names = {
      "reference", "singles", "pairs", "random", "mutation"};
  return names[static_cast<std::size_t>(round)];
}

Rounds::Rounds(std::uint64_t singles, std::uint32_t at_most, Mix mix)
    : singles_(mix.singles ? singles : 0),
      single_units_((singles_ + unit_schedules - 1) / unit_schedules),
      pairs_(mix.pairs && singles > 0 && at_most > 1),
      random_(mix.random || singles == 0),
      mutation_(mix.mutation && singles > 0) {}

/// Of a unit behind the singles. What is not to be done becomes something that is.
Round Rounds::slot(std::uint64_t k) const {
  const Round dealt = deal[k % generation];
  if (dealt == Round::pairs && !pairs_)
    return mutation_ && (!random_ || k % 3 == 0) ? Round::mutation : Round::random;
  if (dealt == Round::random && !random_) return pairs_ ? Round::pairs : Round::mutation;
  if (dealt == Round::mutation && !mutation_) return pairs_ ? Round::pairs : Round::random;
  return dealt;
}

Unit Rounds::unit(std::uint64_t k) const {
  Unit unit;
  unit.count = unit_schedules;
  if (k < single_units_) {
    unit.round = Round::singles;
    unit.index = k;
    unit.first = 1 + k * unit_schedules;
    unit.count = std::min(unit_schedules, singles_ - k * unit_schedules);
    return unit;
  }
  const std::uint64_t j = k - single_units_;
  unit.first = 1 + singles_ + j * unit_schedules;
  unit.round = slot(j % generation);
  std::uint64_t each = 0;
  for (std::uint64_t i = 0; i < generation; ++i) {
    const bool same = slot(i) == unit.round;
    each += same;
    unit.index += same && i < j % generation;
  }
  unit.index += j / generation * each;
  return unit;
}

std::uint64_t Rounds::generation_end(std::uint64_t k) const {
  if (k < single_units_) return single_units_;
  return single_units_ + ((k - single_units_) / generation + 1) * generation;
}

std::uint64_t spread(std::uint64_t j, std::uint64_t n) {
  std::uint64_t stride = n * 618 / 1000 + 1;
  while (std::gcd(stride, n) != 1) ++stride;
  return static_cast<std::uint64_t>(static_cast<Uint128>(j) * stride % n);
}

}  // namespace mqlab::search
