// The claims about how stages read, fast and by the book, over random histories of logs and of queues.
#include "tests/core/claims_agree.h"
#include "tests/core/claims_naive_reading.h"
#include "tests/core/claims_random_reading.h"

namespace mqlab::testing {
namespace {

Rows reading(const Lab& lab, unsigned seed) {
  return RandomReading(lab, seed).make(seed % 2 == 0 ? 0 : seed % 5);
}

TEST(ClaimsAgree, CommitCoversProcessed) {
  const ClaimSpec all = claim("commit.covers_processed", "requests");
  const ClaimSpec one = claim("commit.covers_processed", "", "", "", {{"stage", "archive", 0}});
  agree(Lab(), all, naive::commit_covers_processed, 4'000, reading);
  agree(Lab(), one, naive::commit_covers_processed, 3'000, reading);
  agree(Lab(queue_scenario()), all, naive::commit_covers_processed, 4'000, reading);
}

TEST(ClaimsAgree, ProgressConsumer) {
  const ClaimSpec spec = claim("progress.consumer", "requests", "", "", {{"within", "40ms", 0}});
  agree(Lab(), spec, naive::progress_consumer, 6'000, reading);
  agree(Lab(queue_scenario()), spec, naive::progress_consumer, 6'000, reading);
}

}  // namespace
}  // namespace mqlab::testing
