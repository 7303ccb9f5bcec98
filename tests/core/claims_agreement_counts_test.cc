// accounted, effect_once and the rates, fast and by the book, over random histories.
#include "tests/core/claims_agree.h"
#include "tests/core/claims_naive_counts.h"
#include "tests/core/claims_random.h"

namespace mqlab::testing {
namespace {

void agree_on_pipelines(const ClaimSpec& spec, const Naive& naive_checker, unsigned histories) {
  agree(Lab(), spec, naive_checker, histories, [](const Lab& lab, unsigned seed) {
    return RandomHistory(lab, seed).make(seed % 2 == 0 ? 0 : seed % 5);
  });
}

TEST(ClaimsAgree, Accounted) {
  agree_on_pipelines(claim("accounted", "requests", "vectors"), naive::accounted, 6'000);
  agree_on_pipelines(claim("accounted", "requests", "index"), naive::accounted, 6'000);
}

TEST(ClaimsAgree, EffectOnce) {
  agree_on_pipelines(claim("effect_once", "requests", "index"), naive::effect_once, 40'000);
}

TEST(ClaimsAgree, Rates) {
  for (const char* id : {"rate.loss", "rate.duplicates"}) {
    const Properties bound = {{"at_most", "0.34", 0}};
    agree_on_pipelines(claim(id, "requests", "vectors", "", bound), naive::rate, 4'000);
    agree_on_pipelines(claim(id, "requests", "vectors", "billing", bound), naive::rate, 3'000);
    agree_on_pipelines(claim(id, "requests", "index", "", bound), naive::rate, 3'000);
  }
}

}  // namespace
}  // namespace mqlab::testing
