// The settings of a simulated NATS system as typed values. Names, defaults and their sources are those of
// core/scenario/nats_settings.h; the defaults below are nats-server's and nats.c's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/scenario/subject_map.h"
#include "core/workload/distribution.h"

namespace mqlab::sim::nats {

/// What one operation keeps a server busy for. Measured with nats.c 3.4.1 and nats-server 2.15.1 on a machine
/// of two cores, as the inverse of the highest rate: publishes of 100 B and 1 KB one copy 93 k/s and 57 k/s,
/// three copies 34 k/s and 24 k/s; fetch and ack 75 k/s and 35 k/s; an ordered consumer 169 k/s and 140 k/s.
struct ServiceTimes {
  Duration publish;
  Duration publish_kib;  ///< for each 1024 bytes of the message
  Duration deliver;
  Duration ack;
};
inline constexpr ServiceTimes alone_times = {Duration::micros(10), Duration::nanos(7'500),
                                             Duration::micros(6), Duration::micros(7)};
inline constexpr ServiceTimes replicated_times = {Duration::micros(28), Duration::micros(14),
                                                  Duration::micros(7), Duration::micros(21)};

/// One server. [nats-server: server/const.go, server/filestore.go]
struct ServerValues {
  std::uint32_t nodes = 1;
  bool sync_always = false;                         ///< sync_interval: always
  Duration sync_interval = Duration::seconds(120);  ///< the first sync comes 1 to 2 minutes after the start
  std::uint32_t max_payload = 1u << 20;             ///< bytes
  std::uint64_t max_pending = 64u << 20;            ///< bytes that may wait for one client
  Duration write_deadline = Duration::seconds(10);  ///< longest wait for a client that does not read
  /// One fsync. Measured on a disk of this kind: p50 0.2 ms, p99 7 ms.
  Sampler fsync{DurationSpec{DurationSpec::Shape::lognormal, Duration::micros(200), Duration::millis(7)}};
  /// From the start of a process until it serves. Measured: 0.03 s alone, 0.63 s back in a cluster.
  Duration boot = Duration::millis(30);
  /// An operator (often a program) removes servers that a stream's leader has not heard of for so long.
  Duration peer_remove_after = Duration::forever();

  // Known faults, by version; see core/scenario/nats_settings.cc.
  bool forgets_streams = false;      ///< nats-server#6888
  bool removes_peers_alone = false;  ///< nats-server#7545, mended by #7561
  bool keeps_staged_ids = false;     ///< mended by nats-server#6415, #6486
};

enum class AckPolicy : std::uint8_t { none, all, explicit_ack };
enum class DeliverPolicy : std::uint8_t { all, last, new_only };

/// What makes a message go, beside the limits: every consumer has acknowledged it (interest), one has
/// (workqueue).
enum class Retention : std::uint8_t { limits, interest, workqueue };

/// The subjects of messages whose subject differs in the key only: core/scenario/subject.h.
struct SubjectForm {
  std::string form;
  std::uint32_t keys = 0;   ///< how often the key's text comes in it
  std::uint32_t fixed = 0;  ///< bytes of the rest

  std::uint32_t bytes(std::uint32_t key) const {
    std::uint32_t digits = 1;
    for (std::uint32_t k = key; k >= 10; k /= 10) ++digits;
    return fixed + keys * (key == 0 ? 1 : 1 + digits);
  }
};

/// A stream that another one copies; its forms are the copy's from `form` on.
struct OriginValues {
  std::uint32_t stream = 0;
  std::uint32_t form = 0;
};

/// [nats-server: server/stream.go]
struct StreamValues {
  PlaceId place = no_place;
  /// A message's subject is forms[record.form] with its key. What is published here has the first form, or
  /// with a transform that of its partition, from the second on.
  std::vector<SubjectForm> forms;
  std::optional<SubjectTransform> transform;
  KeyMatch transformed;  ///< messages of the first form that it applies to
  std::uint32_t replicas = 1;
  Retention retention = Retention::limits;
  bool mirror = false;  ///< it has its origin's messages, under the same sequences, and no others
  std::vector<OriginValues> origins;  ///< of a mirror, or a stream's sources
  bool in_memory = false;             ///< a server's copy ends with it
  bool written_later = false;         ///< answered before it is in the page cache (persist_mode = async)
  std::int64_t max_msgs = -1;         ///< −1 = no limit, here and below
  std::int64_t max_bytes = -1;
  std::int64_t max_msg_size = -1;
  Duration max_age = {};  ///< 0 = no limit
  bool discard_new = false;
  bool discard_new_per_subject = false;
  std::int64_t max_msgs_per_subject = -1;
  Duration duplicate_window = Duration::seconds(120);  ///< 0 = no deduplication
};

/// A durable consumer. [nats-server: server/consumer.go]
struct ConsumerValues {
  std::string name;
  std::uint32_t stream = 0;  ///< into the plan's streams
  std::uint32_t stage = 0;   ///< whose it is, for the audit: docs/history.md
  AckPolicy ack = AckPolicy::explicit_ack;
  DeliverPolicy deliver = DeliverPolicy::all;
  Duration ack_wait = Duration::seconds(30);
  std::vector<Duration> backoff;  ///< replaces ack_wait, by delivery; the last one repeats
  std::int64_t max_deliver = -1;
  std::uint32_t max_ack_pending = 1000;  ///< 0 = no limit
  std::uint32_t max_waiting = 512;       ///< pull requests parked at a time
  std::vector<std::string> filters;      ///< subjects; empty = everything
  std::vector<KeyMatch> takes;           ///< what they match of each of the stream's forms
  bool push = false;                     ///< messages go to who has subscribed, without being asked for
  bool grouped = false;                  ///< push: subscribers are a queue group, else there is one
  bool flow_control = false;             ///< push: only as much is under way as the client keeps up with
  Duration heartbeat = {};               ///< push: a sign of life after so long without a message; 0 = none

  /// How long delivery `attempt` (from 1) may stay unacknowledged.
  Duration wait(std::uint32_t attempt) const {
    if (backoff.empty()) return ack_wait;
    const std::size_t i = attempt - 1;
    return backoff[i < backoff.size() ? i : backoff.size() - 1];
  }
};

/// One input of a process.
struct InputValues {
  std::uint32_t stream = 0;
  std::uint32_t consumer = 0;  ///< into the plan's consumers, or into its ordered ones
  bool ordered = false;        ///< an ordered consumer of its own: client-side, no acknowledgements
  bool push = false;           ///< always so when ordered
  // Push: what is kept for the application; more is dropped. 0 = no limit.
  std::uint32_t pending_msgs = 0;
  std::uint64_t pending_bytes = 0;
  DeliverPolicy deliver = DeliverPolicy::all;
  bool double_ack = false;  ///< an ack settles when the server has confirmed it (AckSync)
};

struct OutputValues {
  std::uint32_t stream = 0;
};

/// The client library in one process. [nats.c: src/opts.h, src/js.c. It tries no publish again: that is its
/// user's, done as nats.go does it]
struct ClientValues {
  std::vector<InputValues> inputs;  ///< by the module's port number
  std::vector<OutputValues> outputs;
  bool message_id = true;                       ///< send Nats-Msg-Id
  std::uint32_t max_pending = 4000;             ///< publishes without an answer
  Duration ack_timeout = Duration::seconds(5);  ///< for a publish's answer
  Duration stall_wait = Duration::seconds(5);   ///< for room among them
  std::uint32_t retry_attempts = 0;             ///< after "no responders"
  Duration retry_wait = Duration::millis(250);
  Duration reconnect_wait = Duration::seconds(2);
  Duration reconnect_jitter = Duration::millis(100);
  Duration connect_timeout = Duration::seconds(2);
  Duration ping_interval = Duration::seconds(120);
  std::uint32_t max_pings_out = 2;
  /// nats.c's flusher waits so long for more to write after an asynchronous publish, an ack or a pull
  /// request; 0 with SendAsap. [nats.c: src/conn.c _flusher; measured: an asynchronous publish is answered
  /// after 0.85 ms, with SendAsap after 0.13 ms]
  Duration flush_delay = Duration::millis(1);
  /// The time of one natsSubscription_Fetch; a waiting application calls it again and again.
  Duration pull_expires = Duration::seconds(1);
  Duration pull_retry = Duration::millis(20);  ///< after a pull was refused
};

/// All of one cluster; what a run is made from.
struct Values {
  ServerValues server;
  std::vector<StreamValues> streams;
  std::vector<ConsumerValues> consumers;
  std::vector<ConsumerValues> ordered;  ///< what ordered consumers have on the server: no acks, in memory
  std::vector<ClientValues> clients;    ///< by process
  ProcessId first_node = 0;             ///< node i is process first_node + i
  /// The stream of a place; no_stream for other brokers' places.
  std::vector<std::uint32_t> stream_of;
};
inline constexpr std::uint32_t no_stream = 0xffff'ffff;

}  // namespace mqlab::sim::nats
