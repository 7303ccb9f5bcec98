// NATS JetStream. Server: nats-server 2.12 (server/opts.go, const.go, filestore.go); streams and consumers:
// the JetStream API (server/stream.go StreamConfig, server/consumer.go ConsumerConfig), whose JSON names
// these are; client: nats.c 3.4 (nats.h: jsOptions, jsPubOptions, jsSubOptions, natsOptions), under its names
// or the wire's.
#include <array>

#include "core/scenario/nats_settings.h"
#include "core/scenario/setting_rows.h"

namespace mqlab {
namespace {

using namespace rows;  // NOLINT(google-build-using-namespace): the rows read as a table

constexpr auto server = std::to_array<Setting>({
    duration("sync_interval", "2m", "files are synced so often; always: before each answer", "always"),
    size("max_payload", 1, 64 << 20, "1MiB",
         "largest message with its header; the client refuses larger ones (the server would hang up)"),
    duration("peer_remove_after", "",
             "no setting of the server: an operator removes servers that a stream's leader has not heard of "
             "for so long; none: never. Simulated only"),
    known(size("max_memory_store", 0, most_long, "", "limit of all streams in memory")),
    known(size("max_file_store", 0, most_long, "", "limit of all streams in files")),
    duration("write_deadline", "10s",
             "a client that does not read is cut off when a write has waited for it so long"),
    size(
        "max_pending", 1, most_long, "64MiB",
        "bytes that may wait for a client that does not read, beside some 4 MB in the kernel; more: cut off"),
    known(duration("ping_interval", "2m", "between the server's pings")),
    known(number("ping_max", 1, most_int, "2", "unanswered pings after which a client is dropped")),
});

constexpr auto stream = std::to_array<Setting>({
    word("retention", "limits|interest|workqueue", "limits",
         "workqueue: a message goes when it is acknowledged"),
    word("storage", "file|memory", "file", "memory: gone when the server ends"),
    word("persist_mode", "default|async", "default",
         "async, from 2.12 on: answered before the file is written, so that a kill may lose the last 8 ms"),
    word("discard", "old|new", "old", "at a limit: drop the oldest, or refuse the newest"),
    number("max_msgs", -1, most_long, "-1", "messages kept; -1: no limit"),
    size("max_bytes", -1, most_long, "-1", "bytes kept, overhead counted; -1: no limit"),
    duration("max_age", "0s", "messages older than this go, at most 250ms later; 0s: never"),
    number("max_msgs_per_subject", -1, most_long, "-1", "messages kept of each subject; -1: no limit"),
    flag("discard_new_per_subject", "false",
         "with discard = new: what exceeds max_msgs_per_subject is refused too, instead of the oldest "
         "dropped"),
    size("max_msg_size", -1, most_int, "-1",
         "larger messages, their header counted, are refused; -1: no limit"),
    duration("duplicate_window", "2m",
             "a Nats-Msg-Id seen within this long is a repeat; max_age if that is less"),
    text("subject_transform_src", "",
         "subject_transform.src, from 2.10 on: what matches is stored under another"),
    text("subject_transform_dest", "",
         "subject_transform.dest: tokens, {{wildcard(n)}}, $n, {{partition(count,n)}}"),
    text("mirror", "", "the stream that this one copies, under the same sequences; it takes no publishes"),
    text("sources", "", "streams whose messages come in too, numbered anew"),
    flag("no_ack", "false", "publishes are not answered; only false is modelled"),
    known(number("max_consumers", -1, most_int, "-1", "")),
    known(flag("deny_delete", "false", "")),
    known(flag("deny_purge", "false", "")),
    known(flag("allow_rollup_hdrs", "false", "")),
    known(flag("allow_direct", "false", "")),
    known(word("compression", "none|s2", "none", "")),
    known(text("description", "", "")),
});

constexpr Setting durable =
    text("durable", "", "name of the consumer, which outlives its clients; none: the stage's name");
constexpr Setting expires =
    duration("expires", "1s", "the time of one fetch; a waiting application calls it again and again");

constexpr auto consumer = std::to_array<Setting>({
    durable,
    alias("durable_name", durable),
    word(
        "action", "bind|create|update", "bind",
        "towards a durable that a stage before has made: take it as it is, make it, which is refused when it "
        "differs, or change of it what may be changed"),
    flag("ordered", "false",
         "an ordered consumer: each process gets every message in order, without acknowledgements"),
    word("ack_policy", "explicit|all|none", "explicit", "none: delivered is done; an ordered consumer: none"),
    duration("ack_wait", "30s", "a message not acknowledged for so long is delivered again"),
    text("backoff", "", "list of durations, used in place of ack_wait by delivery; the last repeats"),
    number("max_deliver", -1, most_long, "-1", "deliveries of one message; -1: no limit"),
    number("max_ack_pending", -1, most_long, "1000",
           "messages delivered and not yet acknowledged; -1: no limit"),
    number("max_waiting", 1, most_int, "512", "pull requests waiting at a time"),
    flag("push", "false", "messages come without being asked for and wait in the client"),
    text("deliver_group", "", "push: the processes share the messages as a queue group"),
    flag("flow_control", "false", "push: only as much is under way as the client keeps up with"),
    duration("idle_heartbeat", "", "push: a sign of life after so long without a message; none"),
    number("pending_msgs_limit", 0, most_int, "65536",
           "push: messages the client keeps for the application, more are dropped; 0: no limit"),
    size("pending_bytes_limit", 0, most_int, "64MiB", "push: bytes it keeps; 0: no limit"),
    word("deliver_policy", "all|last|new", "all", "where a new consumer begins"),
    flag("ack_sync", "false", "an acknowledgement waits for the server's answer (double ack)"),
    number("batch", 1, 10'000, "1", "messages one pull asks for at most"),
    expires,
    known(duration("inactive_threshold", "", "an idle consumer is removed")),
    known(word("replay_policy", "instant|original", "instant", "")),
    text("filter_subject", "", "only messages with such a subject are delivered; none: all"),
    text("filter_subjects", "", "several of them, from 2.10 on"),
    known(flag("headers_only", "false", "")),
    known(flag("mem_storage", "false", "")),
    known(number("num_replicas", 0, 5, "0", "of the consumer's state; 0: as the stream")),
    known(text("description", "", "")),
});

constexpr auto producer = std::to_array<Setting>({
    flag("msg_id", "true",
         "publishes carry Nats-Msg-Id, so that the stream drops repeats within duplicate_window"),
    number("max_pending", 1, most_int, "4000", "publishes without an answer; full: publishing waits"),
    duration("ack_timeout", "5s", "a publish not answered for so long is unknown"),
    duration("stall_wait", "5s", "longest wait when max_pending is reached (nats.c itself: 200ms)"),
    number("retry_attempts", 0, 1000, "0",
           "repeats of a publish that nobody responded to, within ack_timeout (nats.go itself: 2)"),
    duration("retry_wait", "250ms", "between them"),
});

constexpr auto connection = std::to_array<Setting>({
    duration("ping_interval", "2m", "between the client's pings"),
    number("max_pings_out", 1, most_int, "2", "unanswered pings after which the connection is given up"),
    duration("reconnect_wait", "2s", "wait before connecting again"),
    duration("reconnect_jitter", "100ms", "random part of it"),
    duration("connect_timeout", "2s", "longest wait for a connection"),
    flag("send_asap", "false", "nats.c: writes at once; false: its flusher may wait 1 ms for more"),
});

constexpr std::string_view api = "nats-server 2.12: stream.go, consumer.go";
constexpr std::string_view client = "nats.c 3.4: nats.h";

}  // namespace

const SettingTable& nats_server_settings() {
  static const SettingTable table{
      "the NATS server",
      "nats-server 2.12: opts.go",
      server,
      {},
      "max_connections max_control_line max_subscriptions max_subs lame_duck_duration lame_duck_grace_period "
      "debug trace "
      "logtime max_outstanding_catchup no_fast_producer_stall request_queue_limit strict",
      "listen host port server_name name cluster routes store_dir jetstream http monitor_port pid_file "
      "log_file"};
  return table;
}

const SettingTable& nats_stream_settings() {
  static const SettingTable table{
      "a NATS stream",
      api,
      stream,
      {},
      "first_seq allow_msg_ttl subject_delete_marker_ttl metadata "
      "mirror_direct consumer_limits allow_msg_counter allow_atomic allow_msg_schedules",
      "name subjects num_replicas replicas"};
  return table;
}

const SettingTable& nats_consumer_settings() {
  static const SettingTable table{
      "a NATS consumer",
      api,
      consumer,
      connection,
      "opt_start_seq opt_start_time rate_limit_bps sample_freq max_batch "
      "max_expires max_bytes metadata priority_groups priority_policy pause_until",
      "name stream deliver_subject"};
  return table;
}

const SettingTable& nats_producer_settings() {
  static const SettingTable table{"the nats.c producer", client, producer, connection, "", ""};
  return table;
}

}  // namespace mqlab
