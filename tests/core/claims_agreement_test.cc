// The fast checkers and the slow, obviously correct ones agree on thousands of random histories.
#include <gtest/gtest.h>

#include "tests/core/claims_agree.h"
#include "tests/core/claims_naive.h"
#include "tests/core/claims_naive_order.h"
#include "tests/core/claims_naive_time.h"
#include "tests/core/claims_naive_txn.h"
#include "tests/core/claims_random.h"

namespace mqlab::testing {
namespace {

void agree(const ClaimSpec& spec, const Naive& naive_checker, unsigned histories = 12'000,
           MessageId messages = 6) {
  agree(Lab(), spec, naive_checker, histories, [&](const Lab& lab, unsigned seed) {
    return RandomHistory(lab, seed, messages).make(seed % 2 == 0 ? 0 : seed % 5);
  });
}

const std::vector<ClaimSpec>& scopes(const std::string& id) {
  static std::vector<ClaimSpec> list;
  list = {claim(id, "requests", "vectors"), claim(id, "requests", "vectors", "billing"),
          claim(id, "requests", "index"), claim(id, "requests"),
          claim(id, "requests", "", "", {{"deliveries", "true", 0}})};
  return list;
}

TEST(ClaimsAgree, NoLoss) {
  for (const ClaimSpec& spec : scopes("no_loss")) agree(spec, naive::delivery, 2'500);
}
TEST(ClaimsAgree, NoDuplicates) {
  for (const ClaimSpec& spec : scopes("no_duplicates")) agree(spec, naive::delivery, 2'500);
}
TEST(ClaimsAgree, NoPhantom) {
  for (const ClaimSpec& spec : scopes("no_phantom")) agree(spec, naive::delivery, 2'500);
}
TEST(ClaimsAgree, ExactlyOnce) {
  for (const ClaimSpec& spec : scopes("exactly_once")) agree(spec, naive::delivery, 2'500);
}
TEST(ClaimsAgree, OrderPartition) {
  agree(claim("order.partition", "", "requests"), naive::order_partition, 5'000);
  agree(claim("order.partition", "", "vectors"), naive::order_partition, 5'000);
  agree(claim("order.partition", "", "vectors", "billing"), naive::order_partition, 5'000);
}
TEST(ClaimsAgree, OrderPartitionStrict) {
  const Properties strict = {{"repeats", "strict", 0}};
  agree(claim("order.partition", "", "requests", "", strict), naive::order_partition, 5'000);
  agree(claim("order.partition", "", "vectors", "", strict), naive::order_partition, 5'000);
  agree(claim("order.partition", "", "vectors", "billing", strict), naive::order_partition, 5'000);
}
TEST(ClaimsAgree, OrderKey) {
  for (const ClaimSpec& spec : scopes("order.key")) agree(spec, naive::order_key, 2'500);
}

TEST(ClaimsAgree, ReadCommitted) {
  agree(claim("txn.read_committed", "", "vectors", "billing"), naive::read_committed, 15'000);
}

TEST(ClaimsAgree, TxnAtomic) { agree(claim("txn.atomic"), naive::atomic, 20'000); }

/// Claims with a bound, for every kind of effect: topic, observer, store, completion, handler start. The
/// bounds are such that random histories fall on both sides.
std::vector<ClaimSpec> bounded(const std::string& id, const std::string& key,
                               const std::vector<std::string>& bounds) {
  std::vector<ClaimSpec> list = {claim(id, "requests", "vectors"),
                                 claim(id, "requests", "vectors", "billing"), claim(id, "requests", "index"),
                                 claim(id, "requests"),
                                 claim(id, "requests", "", "", {{"deliveries", "true", 0}})};
  for (std::size_t i = 0; i < list.size(); ++i) {
    list[i].parameters.push_back({key, bounds[i], 0});
    if (list[i].in.empty()) list[i].parameters.push_back({"stage", "embed", 0});
  }
  return list;
}

TEST(ClaimsAgree, LatencyMax) {
  for (const ClaimSpec& spec : bounded("latency.max", "at_most", {"80ms", "80ms", "80ms", "80ms", "80ms"})) {
    agree(spec, naive::latency, 2'500);
  }
}
TEST(ClaimsAgree, LatencyP50) {
  for (const ClaimSpec& spec : bounded("latency.p50", "at_most", {"300ms", "300ms", "900ms", "8ms", "6ms"})) {
    agree(spec, naive::latency, 2'000, 45);
  }
}
TEST(ClaimsAgree, Throughput) {
  for (const ClaimSpec& spec : bounded("throughput", "at_least", {"30/s", "20/s", "10/s", "40/s", "48/s"})) {
    agree(spec, naive::throughput, 500, 160);
  }
}
TEST(ClaimsAgree, BacklogBounded) {
  for (const ClaimSpec& spec : bounded("backlog.bounded", "at_most", {"2", "2", "2", "2", "2"}))
    agree(spec, naive::backlog, 2'500);
}

}  // namespace
}  // namespace mqlab::testing
