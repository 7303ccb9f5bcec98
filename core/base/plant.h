// Planted defects: what the search must find. Only a build with MQLAB_PLANTED has them, one at a time, chosen
// while it runs (tests/planted); everywhere else planted() is false when compiled and costs nothing.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mqlab {

// clang-format off
#define MQLAB_PLANTS(X) \
  X(none) \
  /* Kafka's brokers */ \
  X(kafka_acks_before_replicas) X(kafka_high_watermark_early) X(kafka_dedup_off) X(kafka_isr_joins_early) \
  X(kafka_truncation_off) X(kafka_leader_cuts_to_watermark) X(kafka_lso_ignored) X(kafka_aborted_readable) X(kafka_abort_marker_commits) \
  X(kafka_aborted_offsets_count) X(kafka_expired_member_commits) \
  X(kafka_offsets_not_replayed) X(kafka_unstable_offsets_read) X(kafka_init_does_not_fence) \
  X(kafka_txn_epoch_unchecked) X(kafka_fetch_limit_skips) X(kafka_assigns_twice) X(kafka_stale_leader) \
  X(kafka_offset_fetch_one_less) \
  /* Kafka's clients */ \
  X(kafka_client_renumbers_retries) X(kafka_client_gives_up_as_stored) X(kafka_client_commits_one_more) \
  X(kafka_client_ends_before_data) \
  /* NATS servers */ \
  X(nats_dedup_off) X(nats_dedup_window_short) X(nats_dedup_lost_at_restart) X(nats_ack_before_quorum) \
  X(nats_ack_before_fsync) X(nats_one_is_a_majority) X(nats_nak_settles) X(nats_ack_wait_never) X(nats_ack_wait_half) \
  X(nats_max_deliver_one_less) X(nats_ack_settles_all) X(nats_progress_settles) X(nats_pending_forgotten) \
  X(nats_leader_cuts_one_more) X(nats_order_of_a_thousand) \
  /* NATS clients */ \
  X(nats_client_timeout_is_ok) X(nats_client_resumes_one_late) \
  /* stores and modules */ \
  X(store_batch_torn) X(stage_commits_first) X(stage_commits_one_more) X(stage_drops_failed_publish) X(stage_commits_unfinished) \
  X(txn_leaves_offsets_out) X(txn_skips_rewind) X(sink_offset_ahead)
// clang-format on

enum class Plant : std::uint8_t {
#define MQLAB_PLANT_NAME(name) name,
  MQLAB_PLANTS(MQLAB_PLANT_NAME)
#undef MQLAB_PLANT_NAME
};

#ifdef MQLAB_PLANTED
inline constexpr auto plant_names = std::to_array<std::string_view>({
#define MQLAB_PLANT_NAME(name) #name,
    MQLAB_PLANTS(MQLAB_PLANT_NAME)
#undef MQLAB_PLANT_NAME
});
/// Set before a scenario is set up, never while one runs.
inline Plant plant_in_force = Plant::none;
inline bool planted(Plant plant) { return plant_in_force == plant; }
#else
constexpr bool planted(Plant) { return false; }
#endif

}  // namespace mqlab
