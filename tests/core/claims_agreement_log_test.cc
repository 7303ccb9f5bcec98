// The log claims, fast and by the book, over random histories.
#include "tests/core/claims_agree.h"
#include "tests/core/claims_naive_log_claims.h"
#include "tests/core/claims_random_log.h"

namespace mqlab::testing {
namespace {

class LogClaimsAgree : public ::testing::TestWithParam<const char*> {};

TEST_P(LogClaimsAgree, OnRandomHistories) {
  agree(
      Lab(), claim(GetParam(), "", "requests"), naive::log_claim, 10'000,
      [](const Lab& lab, unsigned seed) { return RandomLog(lab, seed).make(seed % 2 == 0 ? 0 : seed % 5); });
}

INSTANTIATE_TEST_SUITE_P(All, LogClaimsAgree,
                         ::testing::Values("log.offsets_consistent", "log.no_poll_skip", "log.monotonic_poll",
                                           "log.monotonic_send", "log.no_send_skip", "log.no_duplicates",
                                           "log.no_lost_write", "log.no_aborted_read",
                                           "log.no_precommitted_read", "log.no_write_cycle",
                                           "log.no_information_cycle"),
                         [](const auto& test) {
                           std::string name(test.param);
                           for (char& c : name) c = c == '.' || c == '_' ? 'X' : c;
                           return name;
                         });

}  // namespace
}  // namespace mqlab::testing
