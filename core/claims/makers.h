// One maker a claim; the table of claims is in registry.cc.
#pragma once
#include <memory>

#include "core/claims/claim.h"

namespace mqlab {

using Maker = std::unique_ptr<Checker>(const ClaimSpec&, const Scenario&, const Topology&);

Maker make_no_loss, make_no_duplicates, make_no_phantom, make_exactly_once;
Maker make_order_partition, make_order_key;
Maker make_txn_atomic, make_txn_read_committed;
Maker make_commit_covers_processed, make_progress_consumer;
Maker make_latency, make_throughput, make_backlog_bounded;

}  // namespace mqlab
