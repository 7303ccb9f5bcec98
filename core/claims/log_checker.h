// What the log claims share: gather all that concerns logs, then judge it as a whole. Their evidence is what
// senders and readers were told, so they speak of histories from elsewhere, too, which have no end phase; but
// they hold only where one was seen whole.
//
// The anomalies are those that Jepsen's Kafka workload defines (jepsen.tests.kafka,
// github.com/jepsen-io/jepsen); docs/claims.md says how they were adapted.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/claims/log_order.h"
#include "core/claims/row_checker.h"

namespace mqlab {

/// What a judgement is made from, and where its findings go.
struct LogJudgement {
  const LogFacts& facts;
  const LogOrder& order;
  bool at_rest = false;  ///< the history goes to where nothing more happens

  std::vector<Anomaly> anomalies = {};
  std::uint64_t count = 0;

  void report(Anomaly anomaly);
  /// Whether the next one is still kept in full: finding its rows costs a pass.
  bool keeps() const;
};

struct LogClaim {
  bool end_judged = false;
  std::function<void(LogJudgement&)> judge;
};

/// The first row that shows the record.
std::uint64_t row_of(const LogFacts& facts, const LogOrder::Record& record);

std::unique_ptr<Checker> make_log_checker(const ClaimSpec& claim, const Scenario& scenario,
                                          const Topology& topology, const Parameters& parameters,
                                          LogClaim what);

}  // namespace mqlab
