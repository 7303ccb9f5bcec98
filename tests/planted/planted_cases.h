// Planted defects, each with a small scenario that shows it and the claims that break.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/base/plant.h"
#include "core/scenario/reader.h"

namespace mqlab::test {

struct PlantedCase {
  Plant plant;
  std::string_view scenario;  ///< a name of planted_scenario(), or of a file in experiments/
  std::vector<std::string> claims;
  std::vector<Override> changes = {};
};

/// Brokers fail over in seconds; anchors are the producer's and the sink's steps.
inline constexpr std::string_view kafka_log = R"(
name = "kafka-log"
[broker]
kind = "kafka"
version = "4.1"
nodes = 3
[broker.properties]
"min.insync.replicas" = 2
"group.initial.rebalance.delay.ms" = 0
"group.min.session.timeout.ms" = 1000
"broker.session.timeout.ms" = 2000
"broker.heartbeat.interval.ms" = 500
"replica.lag.time.max.ms" = 3000
"controller.quorum.fetch.timeout.ms" = 1000
"controller.quorum.election.timeout.ms" = 500
"controller.quorum.election.backoff.max.ms" = 250
"controller.quorum.request.timeout.ms" = 1000
[[topics]]
name = "requests"
partitions = 1
replication = 3
[workload]
name = "api"
topic = "requests"
rate = "100/s"
messages = 12
[workload.producer]
"acks" = "all"
"enable.idempotence" = true
"linger.ms" = 0
"socket.timeout.ms" = 2000
"delivery.timeout.ms" = 30000
[[stages]]
name = "sink"
module = "consumer"
input = "requests"
service_time = "2ms"
[stages.consumer]
"enable.auto.commit" = false
"auto.offset.reset" = "earliest"
"session.timeout.ms" = 2000
"heartbeat.interval.ms" = 500
"fetch.wait.max.ms" = 50
"socket.timeout.ms" = 2000
[faults]
menu = ["kill", "pause", "partition", "drop_response"]
targets = ["kafka", "api"]
at_most = 2
heal = ["3s"]
[claims]
no_loss = [{ of = "requests", in = "requests" }, { of = "requests" }]
no_duplicates = { of = "requests", in = "requests" }
"order.partition" = { in = "requests" }
)";

inline constexpr std::string_view nats_queue = R"(
name = "nats-queue"
[broker]
kind = "nats"
version = "2.12"
nodes = 1
[[streams]]
name = "requests"
[streams.properties]
duplicate_window = "2m"
[workload]
name = "api"
stream = "requests"
rate = "50/s"
messages = 10
resend = true
[workload.producer]
msg_id = true
ack_timeout = "500ms"
[[stages]]
name = "worker"
module = "consumer"
input = "requests"
service_time = "30ms"
[stages.consumer]
durable = "worker"
ack_policy = "explicit"
ack_wait = "1s"
max_deliver = 20
[faults]
menu = ["kill", "pause", "drop_response"]
targets = ["nats", "worker", "api"]
at_most = 2
heal = ["2s"]
[limits]
horizon = "1m"
[claims]
no_loss = [{ of = "requests", in = "requests" }, { of = "requests" }]
no_duplicates = { of = "requests", in = "requests" }
)";

inline constexpr std::string_view kafka_store = R"(
name = "kafka-store"
[broker]
kind = "kafka"
version = "4.1"
[broker.properties]
"group.initial.rebalance.delay.ms" = 0
"group.min.session.timeout.ms" = 1000
[[topics]]
name = "requests"
partitions = 1
[workload]
name = "api"
topic = "requests"
rate = "100/s"
messages = 10
[workload.producer]
"linger.ms" = 0
[[stages]]
name = "sink"
module = "external-offset-sink"
input = "requests"
store = "table"
service_time = "2ms"
[stages.consumer]
"enable.auto.commit" = false
"auto.offset.reset" = "earliest"
"session.timeout.ms" = 2000
"heartbeat.interval.ms" = 500
[faults]
menu = ["kill", "pause"]
targets = ["sink"]
heal = ["500ms"]
[claims]
no_loss = { of = "requests", in = "table" }
no_duplicates = { of = "requests", in = "table" }
)";

inline std::vector<PlantedCase> planted_cases() {
  using P = Plant;
  const std::vector<std::string> log = {"no_loss", "no_duplicates", "order.partition"};
  const std::vector<std::string> once = {"exactly_once", "txn.read_committed", "txn.atomic"};
  const std::vector<std::string> loss = {"no_loss"};
  const std::vector<std::string> both = {"no_loss", "no_duplicates"};
  const std::vector<Override> few = {{"workload.messages", "10"}, {"faults.heal", "[\"3s\", \"8s\"]"}};
  const std::vector<Override> cluster = {{"broker.nodes", "3"}, {"streams.requests.replicas", "3"}};
  const std::vector<Override> failing = {{"stages.worker.failure", "{ transient = 0.3 }"},
                                         {"stages.worker.retry", "{ style = \"in_place\", attempts = 9 }"}};
  const std::vector<Override> progress = {{"stages.worker.service_time", "\"300ms\""},
                                          {"stages.worker.in_progress", "\"100ms\""}};
  const std::vector<Override> batched = {{"stages.worker.batch", "5"}};
  const std::vector<Override> small_fetches = {{"workload.rate", "\"100000/s\""},
                                               {"stages.sink.consumer.fetch.max.bytes", "2000"},
                                               {"stages.sink.consumer.message.max.bytes", "2000"}};
  const std::vector<Override> slow_work = {
      {"stages.worker.service_time", "\"600ms\""},
      {"claims.no_duplicates", "{ of = \"requests\", deliveries = true }"},
      {"faults.menu", "[\"pause\"]"},
      {"faults.targets", "[\"api\"]"}};
  const std::vector<Override> far = {{"workload.rate", "\"6/s\""},
                                     {"workload.messages", "30"},
                                     {"network.latency", "\"20ms\""},
                                     {"broker.properties.replica.fetch.max.bytes", "1"}};
  const std::vector<Override> two_producers = {
      {"workload.rate", "\"6/s\""}, {"workload.messages", "40"}, {"workload.producers", "2"}};
  const std::vector<Override> unreachable = {{"faults.targets", "[\"kafka\", \"worker\"]"},
                                             {"faults.heal", "[\"4s\"]"},
                                             {"workload.producer.delivery.timeout.ms", "60000"},
                                             {"stages.worker.producer.delivery.timeout.ms", "2500"},
                                             {"stages.worker.consumer.session.timeout.ms", "20000"},
                                             {"stages.worker.consumer.max.poll.interval.ms", "30000"}};
  return {
      {P::kafka_acks_before_replicas, "kafka_log", log},
      {P::kafka_high_watermark_early, "kafka_log", log},
      {P::kafka_dedup_off, "kafka_log", log},
      {P::kafka_isr_joins_early, "kafka_log", log, far},
      {P::kafka_truncation_off, "kafka_log", log, two_producers},
      {P::kafka_leader_cuts_to_watermark, "kafka_log", log},
      {P::kafka_stale_leader, "kafka_log", log},
      {P::kafka_client_renumbers_retries, "kafka_log", log},
      {P::kafka_client_gives_up_as_stored,
       "kafka_log",
       log,
       {{"workload.producer.delivery.timeout.ms", "2500"}}},
      {P::kafka_fetch_limit_skips, "kafka_log", log, small_fetches},
      {P::kafka_lso_ignored, "kafka-transactional.toml", once, few},
      {P::kafka_aborted_readable, "kafka-transactional.toml", once, few},
      {P::kafka_abort_marker_commits, "kafka-transactional.toml", once, few},
      {P::kafka_aborted_offsets_count, "kafka-transactional.toml", once, few},
      {P::kafka_expired_member_commits, "kafka-transactional.toml", once, few},
      {P::kafka_offsets_not_replayed, "kafka-transactional.toml", once, few},
      {P::kafka_unstable_offsets_read, "kafka-transactional.toml", once, few},
      {P::kafka_init_does_not_fence, "kafka-transactional.toml", once, few},
      {P::kafka_txn_epoch_unchecked, "kafka-transactional.toml", once, few},
      {P::kafka_assigns_twice, "kafka-transactional.toml", once, few},
      {P::kafka_offset_fetch_one_less, "kafka-transactional.toml", once, few},
      {P::txn_leaves_offsets_out, "kafka-transactional.toml", once, few},
      {P::kafka_client_ends_before_data, "kafka-transactional.toml", once, few},
      {P::txn_skips_rewind, "kafka-transactional.toml", once, few},
      {P::kafka_client_commits_one_more, "kafka-at-least-once.toml", loss},
      {P::stage_commits_first, "kafka-at-least-once.toml", loss},
      {P::stage_commits_one_more, "kafka-at-least-once.toml", loss},
      {P::stage_drops_failed_publish, "kafka-at-least-once.toml", loss, unreachable},
      {P::stage_commits_unfinished, "kafka-concurrent-handlers.toml", {"commit.covers_processed"}},
      {P::nats_dedup_off, "nats_queue", both},
      {P::nats_dedup_window_short, "nats_queue", both},
      {P::nats_dedup_lost_at_restart, "nats_queue", both},
      {P::nats_ack_before_quorum, "nats_queue", both, cluster},
      {P::nats_one_is_a_majority, "nats_queue", both, cluster},
      {P::nats_leader_cuts_one_more, "nats_queue", both, cluster},
      {P::nats_ack_before_fsync, "nats-sync-always.toml", loss},
      {P::nats_nak_settles, "nats_queue", both, failing},
      {P::nats_ack_wait_never, "nats_queue", both},
      {P::nats_max_deliver_one_less,
       "nats_queue",
       both,
       {{"stages.worker.consumer.max_deliver", "2"}, {"faults.at_most", "1"}}},
      {P::nats_ack_settles_all, "nats_queue", both, batched},
      {P::nats_progress_settles, "nats_queue", both, progress},
      {P::nats_pending_forgotten, "nats_queue", both},
      {P::nats_client_timeout_is_ok, "nats_queue", both},
      {P::nats_ack_wait_half, "nats_queue", {"no_duplicates"}, slow_work},
      {P::nats_client_resumes_one_late,
       "nats-ordered-consumer.toml",
       {"order.partition", "no_duplicates", "no_loss"}},
      {P::store_batch_torn, "kafka_store", both},
      {P::sink_offset_ahead, "kafka_store", both},
  };
}

}  // namespace mqlab::test
