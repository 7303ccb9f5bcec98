// One maker a claim; the table of claims is in registry.cc.
#pragma once
#include <memory>

#include "core/claims/claim.h"

namespace mqlab {

using Maker = std::unique_ptr<Checker>(const ClaimSpec&, const Scenario&, const Topology&);

Maker make_no_loss, make_no_duplicates, make_no_phantom, make_exactly_once;
Maker make_accounted, make_effect_once, make_rate_loss, make_rate_duplicates;
Maker make_order_partition, make_order_key, make_order_total, make_order_causal;
Maker make_answered, make_recovers;
Maker make_log_offsets_consistent, make_log_no_poll_skip, make_log_monotonic_poll, make_log_monotonic_send;
Maker make_log_no_send_skip, make_log_no_duplicates, make_log_no_lost_write, make_log_no_aborted_read;
Maker make_log_no_precommitted_read, make_log_no_write_cycle, make_log_no_information_cycle;
Maker make_txn_atomic, make_txn_read_committed;
Maker make_commit_covers_processed, make_progress_consumer;
Maker make_disk_bounded;
Maker make_latency, make_throughput, make_backlog_bounded;

}  // namespace mqlab
