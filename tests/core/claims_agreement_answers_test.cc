// answered, recovers and order.causal, fast and by the book, over random histories.
#include "tests/core/claims_agree.h"
#include "tests/core/claims_naive_answers.h"
#include "tests/core/claims_random.h"

namespace mqlab::testing {
namespace {

void agree_on_pipelines(const ClaimSpec& spec, const Naive& naive_checker, unsigned histories) {
  agree(Lab(), spec, naive_checker, histories, [](const Lab& lab, unsigned seed) {
    return RandomHistory(lab, seed).make(seed % 2 == 0 ? 0 : seed % 5);
  });
}

TEST(ClaimsAgree, Answered) {
  const Properties within = {{"within", "60ms", 0}};
  Properties at_embed = within;
  at_embed.push_back({"stage", "embed", 0});
  agree_on_pipelines(claim("answered", "requests", "vectors", "", within), naive::answered, 4'000);
  agree_on_pipelines(claim("answered", "requests", "vectors", "billing", within), naive::answered, 4'000);
  agree_on_pipelines(claim("answered", "requests", "index", "", within), naive::answered, 4'000);
  agree_on_pipelines(claim("answered", "requests", "", "", at_embed), naive::answered, 4'000);
}

/// With faults and their ends at random moments.
Rows troubled(const Lab& lab, unsigned seed) {
  Rows rows = RandomHistory(lab, seed).make(seed % 2 == 0 ? 0 : seed % 5);
  RandomStream random(seed * 53 + 5);
  for (std::uint64_t n = below(random.next(), 3); n > 0 && !rows.empty(); --n) {
    for (const Kind kind : {Kind::fault, Kind::heal}) {
      const auto at = static_cast<std::ptrdiff_t>(below(random.next(), rows.size()));
      Row r = rows[static_cast<std::size_t>(at)];
      r.kind = kind;
      r.phase = Phase::ok;
      r.message = 0;
      rows.insert(rows.begin() + at, r);
    }
  }
  return rows;
}

TEST(ClaimsAgree, Recovers) {
  const Properties within = {{"within", "20ms", 0}};
  Properties at_embed = within;
  at_embed.push_back({"stage", "embed", 0});
  agree(Lab(), claim("recovers", "requests", "vectors", "", within), naive::recovers, 4'000, troubled);
  agree(Lab(), claim("recovers", "requests", "vectors", "billing", within), naive::recovers, 4'000, troubled);
  agree(Lab(), claim("recovers", "requests", "index", "", within), naive::recovers, 4'000, troubled);
  agree(Lab(), claim("recovers", "requests", "", "", at_embed), naive::recovers, 4'000, troubled);
}

/// Sizes measured at random moments.
Rows measured(const Lab& lab, unsigned seed) {
  Rows rows = RandomHistory(lab, seed).make(seed % 2 == 0 ? 0 : seed % 5);
  RandomStream random(seed * 59 + 11);
  for (std::uint64_t n = below(random.next(), 8); n > 0 && !rows.empty(); --n) {
    const auto at = static_cast<std::ptrdiff_t>(below(random.next(), rows.size()));
    Row r = rows[static_cast<std::size_t>(at)];
    r.kind = Kind::usage;
    r.phase = below(random.next(), 9) == 0 ? Phase::fail : Phase::ok;
    r.message = 0;
    r.place = static_cast<PlaceId>(below(random.next(), lab.topology.places.size()));
    r.aux = static_cast<std::int64_t>(below(random.next(), 900)) - 20;
    rows.insert(rows.begin() + at, r);
  }
  return rows;
}

TEST(ClaimsAgree, DiskBounded) {
  agree(Lab(), claim("disk.bounded", "", "vectors", "", {{"at_most", "1000", 0}}), naive::disk_bounded,
        12'000, measured);
}

TEST(ClaimsAgree, OrderCausal) {
  agree_on_pipelines(claim("order.causal", "", "vectors"), naive::order_causal, 12'000);
  agree_on_pipelines(claim("order.causal", "", "", "billing"), naive::order_causal, 4'000);
}

}  // namespace
}  // namespace mqlab::testing
