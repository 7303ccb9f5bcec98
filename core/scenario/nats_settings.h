// NATS JetStream's settings: tables, and the typed values that a scenario comes to. Checks are those of
// nats-server when a stream or consumer is made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/scenario/scenario.h"
#include "core/scenario/settings.h"
#include "core/scenario/subject_map.h"

namespace mqlab {

const SettingTable& nats_server_settings();
const SettingTable& nats_stream_settings();
const SettingTable& nats_consumer_settings();
const SettingTable& nats_producer_settings();

struct NatsServer {
  Version version;
  std::uint32_t nodes = 1;
  bool sync_always = false;
  Duration sync_interval = {};  ///< of no meaning with sync_always
  std::uint32_t max_payload = 0;
  std::uint64_t max_pending = 0;
  Duration write_deadline = {};
  Duration peer_remove_after = Duration::forever();
  // Known faults of that version.
  bool forgets_streams = false;
  bool removes_peers_alone = false;
  bool keeps_staged_ids = false;
};

struct NatsStream {
  enum class Retention : std::uint8_t { limits, interest, workqueue };
  std::uint32_t replicas = 1;
  Retention retention = Retention::limits;
  bool in_memory = false;
  bool persist_async = false;
  bool discard_new = false;
  bool discard_new_per_subject = false;
  std::int64_t max_msgs = -1;  ///< −1 = no limit, here and below
  std::int64_t max_bytes = -1;
  std::int64_t max_msgs_per_subject = -1;
  std::int64_t max_msg_size = -1;
  Duration max_age = {};           ///< 0 = no limit
  Duration duplicate_window = {};  ///< 0 = none
  std::optional<SubjectTransform> transform;
  std::string mirror;                ///< the stream that it copies; empty = none
  std::vector<std::string> sources;  ///< streams whose messages it takes in
};

struct NatsConnection {
  Duration ping_interval = {};
  std::uint32_t max_pings_out = 0;
  Duration reconnect_wait = {};
  Duration reconnect_jitter = {};
  Duration connect_timeout = {};
  bool send_asap = false;
};

struct NatsConsumer {
  enum class AckPolicy : std::uint8_t { explicit_ack, all, none };
  enum class Deliver : std::uint8_t { all, last, new_only };
  NatsConnection connection;
  std::string durable;  ///< empty = the stage's name; of no meaning when ordered
  enum class Action : std::uint8_t { bind, create, update };
  Action action = Action::bind;  ///< towards a durable that is there
  bool ordered = false;
  AckPolicy ack_policy = AckPolicy::explicit_ack;
  Duration ack_wait = {};
  std::vector<Duration> backoff;  ///< replaces ack_wait by delivery; the last one repeats
  std::int64_t max_deliver = -1;
  std::int64_t max_ack_pending = 0;  ///< −1 = no limit
  std::uint32_t max_waiting = 0;
  std::vector<std::string> filters;  ///< subjects; empty = everything
  bool push = false;                 ///< always so when ordered
  std::string deliver_group;         ///< push: a queue group; empty = one subscriber
  bool flow_control = false;
  Duration idle_heartbeat = {};  ///< 0 = none
  // Push: what the library keeps for the application; 0 = no limit, as for an ordered consumer.
  std::uint32_t pending_msgs_limit = 0;
  std::uint64_t pending_bytes_limit = 0;
  Deliver deliver = Deliver::all;
  bool ack_sync = false;
  std::uint32_t batch = 0;
  Duration expires = {};
};

struct NatsProducer {
  NatsConnection connection;
  bool msg_id = true;
  std::uint32_t max_pending = 0;
  Duration ack_timeout = {};
  Duration stall_wait = {};
  std::uint32_t retry_attempts = 0;
  Duration retry_wait = {};
};

/// What of a consumer that is there may not become as `wanted`, in the server's words; empty: all may. The
/// subjects filtered for, times, numbers of deliveries and of what is pending may change. [nats-server:
/// consumer.go updateConfig, acceptable updates]
std::string not_updatable(const NatsConsumer& there, const NatsConsumer& wanted);
/// They are made by the same request.
bool same_consumer(const NatsConsumer& a, const NatsConsumer& b);

/// All throw ScenarioError at `path` for a setting that does not exist, is out of range, or contradicts
/// another.
NatsServer resolve_nats_server(const Scenario& scenario, const BrokerSpec& broker);
NatsStream resolve_nats_stream(const Scenario& scenario, const TopicSpec& stream, const BrokerSpec& broker);
/// `instances`: processes that read by this consumer.
NatsConsumer resolve_nats_consumer(const Scenario& scenario, const Properties& properties,
                                   const BrokerSpec& broker, const std::string& path = "consumer",
                                   std::uint32_t instances = 1);
NatsProducer resolve_nats_producer(const Scenario& scenario, const Properties& properties,
                                   const BrokerSpec& broker, const std::string& path = "producer");

}  // namespace mqlab
