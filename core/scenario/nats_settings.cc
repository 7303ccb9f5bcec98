#include "core/scenario/nats_settings.h"

#include <algorithm>
#include <stdexcept>

#include "core/scenario/subject.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

Version version_of(const BrokerSpec& broker) { return parse_version(broker.version).value_or(Version{}); }

NatsConnection connection_of(const Values& v) {
  NatsConnection c;
  c.ping_interval = v.duration("ping_interval");
  c.max_pings_out = v.as<std::uint32_t>("max_pings_out");
  c.reconnect_wait = v.duration("reconnect_wait");
  c.reconnect_jitter = v.duration("reconnect_jitter");
  c.connect_timeout = v.duration("connect_timeout");
  c.send_asap = v.truth("send_asap");
  return c;
}

std::vector<Duration> backoff_of(const Values& v) {
  std::vector<Duration> list;
  for (const std::string& part : v.list("backoff")) {
    const auto duration = parse_duration(part);
    if (!duration || duration->ns <= 0)
      v.fail("backoff", quoted(part) + " is no duration with a unit, as \"30s\"");
    list.push_back(*duration);
  }
  return list;
}

/// What is known to have been wrong in a version.
void find_faults(NatsServer& s) {
  // Killed servers may come back without a stream. [nats-server#6888; mended in 2.10.23]
  s.forgets_streams = s.version >= Version{2, 10, 20} && s.version < Version{2, 10, 23};
  // A leader without a majority removes servers all the same. [nats-server#7545, #7561; mended in 2.12.3]
  const bool named = s.version.patch > 0 || s.version < Version{2, 12};  // "2.12" is its newest release
  s.removes_peers_alone = s.version < Version{2, 12, 3} && named;
  // A message id that a deposed leader had staged stays known to it. [nats-server#6415, #6486; 2.10.26]
  s.keeps_staged_ids = s.version < Version{2, 10, 26} && (s.version.patch > 0 || s.version < Version{2, 10});
}

/// [nats-server: consumer.go checkConsumerCfg, setConsumerConfigDefaults]
void check_redelivery(const Values& v, NatsConsumer& c) {
  if (c.ack_wait.ns <= 0) v.fail("ack_wait", "must be more than 0");
  if (c.max_deliver == 0) c.max_deliver = -1;
  if (c.max_ack_pending == 0) c.max_ack_pending = 1000;
  if (c.backoff.empty()) return;
  if (c.max_deliver != -1 && static_cast<std::int64_t>(c.backoff.size()) > c.max_deliver) {
    v.fail("max_deliver",
           "must not be less than the number of backoff values, " + std::to_string(c.backoff.size()));
  }
  c.ack_wait = c.backoff.front();
}

/// [nats-server: consumer.go checkConsumerCfg, errors 10080, 10083, 10108; nats.c: js.c _subscribe]
void check_push(const Values& v, NatsConsumer& c, std::uint32_t instances) {
  c.push = v.truth("push") || c.ordered;
  c.deliver_group = v.text("deliver_group");
  c.flow_control = v.truth("flow_control");
  if (v.is_set("idle_heartbeat")) c.idle_heartbeat = v.duration("idle_heartbeat");
  for (const std::string_view key :
       {"deliver_group", "flow_control", "idle_heartbeat", "pending_msgs_limit", "pending_bytes_limit"}) {
    if (!c.push && v.is_set(key)) v.fail(key, "is for push consumers: set push = true");
    if (c.ordered && v.is_set(key)) v.fail(key, "an ordered consumer has its own");
  }
  if (c.ordered) return;
  c.pending_msgs_limit = v.as<std::uint32_t>("pending_msgs_limit");
  c.pending_bytes_limit = v.as<std::uint64_t>("pending_bytes_limit");
  for (const std::string_view key : {"max_waiting", "expires"}) {
    if (c.push && v.is_set(key)) v.fail(key, "is for pull consumers");
  }
  if (c.push && c.deliver_group.empty() && instances > 1)
    v.fail("push", "several instances share a push consumer only with a deliver_group");
  if (v.is_set("idle_heartbeat") && c.idle_heartbeat < Duration::millis(100))
    v.fail("idle_heartbeat", "must be at least 100ms");
  if (c.flow_control && c.idle_heartbeat.ns == 0) v.fail("flow_control", "needs idle_heartbeat");
  if (!c.deliver_group.empty() && c.idle_heartbeat.ns > 0)
    v.fail("idle_heartbeat", "nats.c has none for a queue group's subscribers");
}

/// [nats-server: consumer.go checkConsumerCfg, errors 10136, 10138, 10139]
void check_filters(const Values& v, NatsConsumer& c) {
  const std::string one = v.text("filter_subject");
  c.filters = v.list("filter_subjects");
  const char* key = c.filters.empty() ? "filter_subject" : "filter_subjects";
  if (!one.empty() && !c.filters.empty())
    v.fail("filter_subjects", "not both filter_subject and filter_subjects");
  if (!one.empty()) c.filters.push_back(one);
  for (std::size_t i = 0; i < c.filters.size(); ++i) {
    const std::string& filter = c.filters[i];
    if (!valid_subject(filter))
      v.fail(key, quoted(filter) + " is no subject: tokens between dots, '*' or a last '>'");
    for (std::size_t j = 0; j < i; ++j) {
      if (subjects_overlap(filter, c.filters[j]))
        v.fail(key, quoted(filter) + " overlaps with " + quoted(c.filters[j]) + ", which NATS refuses");
    }
  }
  if (c.ordered && c.filters.size() > 1) v.fail(key, "an ordered consumer of nats.c takes one filter");
}

/// [nats-server: stream.go checkStreamCfg, errors 10031, 10034]
void check_origins(const Values& v, const Scenario& scenario, const TopicSpec& spec, NatsStream& s) {
  s.mirror = v.text("mirror");
  s.sources = v.list("sources");
  if (s.mirror.empty() && s.sources.empty()) return;
  const char* key = s.mirror.empty() ? "sources" : "mirror";
  if (!s.mirror.empty() && !s.sources.empty()) v.fail("mirror", "a mirror has no sources");
  if (!s.mirror.empty() && spec.subjects != std::vector{spec.name + ".>"})
    v.fail("mirror", "a mirror has no subjects of its own");
  for (const char* other : {"discard_new_per_subject", "subject_transform_src", "retention"}) {
    if (v.is_set(other)) v.fail(other, "is not modelled together with " + std::string(key));
  }
  if (s.discard_new) v.fail("discard", "is not modelled together with " + std::string(key));
  std::vector<std::string> names = s.sources;
  if (!s.mirror.empty()) names.push_back(s.mirror);
  for (const std::string& name : names) {
    const auto origin = std::ranges::find(scenario.topics, name, &TopicSpec::name);
    if (origin == scenario.topics.end() || origin->broker != spec.broker)
      v.fail(key, "there is no stream " + quoted(name) + " on that broker");
    if (find(origin->properties, "mirror") != nullptr || find(origin->properties, "sources") != nullptr)
      v.fail(key, "a copy of a copy is not modelled");
    const Property* retention = find(origin->properties, "retention");
    if (retention != nullptr && retention->value != "limits")
      v.fail(key, "modelled for origins that keep their messages by limits");
  }
  // Nothing is looked up by its id unless the stream says so; a mirror never does. [stream.go checkStreamCfg]
  if (!v.is_set("duplicate_window") || !s.mirror.empty()) s.duplicate_window = {};
}

std::optional<SubjectTransform> transform_of(const Values& v) {
  const std::string source = v.text("subject_transform_src"), destination = v.text("subject_transform_dest");
  if (source.empty() && destination.empty()) return std::nullopt;
  try {
    return SubjectTransform(source, destination);
  } catch (const std::invalid_argument& error) {
    v.fail("subject_transform_dest", error.what());
  }
}

/// An ordered consumer is the client's doing: no acknowledgements, one delivery. [nats.c: js.c; ADR-17]
void check_ordered(const Values& v, NatsConsumer& c) {
  if (!c.ordered) return;
  for (const std::string_view key :
       {"durable", "action", "push", "max_deliver", "ack_wait", "backoff", "max_ack_pending", "ack_sync"}) {
    if (v.is_set(key))
      v.fail(key, "an ordered consumer has none: it is not durable and acknowledges nothing");
  }
  if (v.is_set("ack_policy") && c.ack_policy != NatsConsumer::AckPolicy::none)
    v.fail("ack_policy", "an ordered consumer has \"none\"");
  c.ack_policy = NatsConsumer::AckPolicy::none;
}

}  // namespace

std::string not_updatable(const NatsConsumer& there, const NatsConsumer& wanted) {
  if (wanted.deliver != there.deliver) return "deliver policy can not be updated";
  if (wanted.ack_policy != there.ack_policy) return "ack policy can not be updated";
  if (wanted.push != there.push)
    return wanted.push ? "can not update pull consumer to push based"
                       : "can not update push consumer to pull based";
  if (!wanted.push && wanted.max_waiting != there.max_waiting) return "max waiting can not be updated";
  if (wanted.idle_heartbeat != there.idle_heartbeat) return "heart beats can not be updated";
  if (wanted.flow_control != there.flow_control) return "flow control can not be updated";
  return {};
}

bool same_consumer(const NatsConsumer& a, const NatsConsumer& b) {
  return not_updatable(a, b).empty() && a.ack_wait == b.ack_wait && a.backoff == b.backoff &&
         a.max_deliver == b.max_deliver && a.max_ack_pending == b.max_ack_pending && a.filters == b.filters &&
         a.deliver_group == b.deliver_group;
}

NatsServer resolve_nats_server(const Scenario& scenario, const BrokerSpec& broker) {
  const bool only = scenario.brokers.size() == 1;
  const std::string path = only ? "broker.properties" : "brokers." + broker.name + ".properties";
  const Values v(nats_server_settings(), broker.properties, version_of(broker),
                 {scenario.file, path, broker.line});
  NatsServer s;
  s.version = version_of(broker);
  s.nodes = broker.nodes;
  s.sync_always = v.text("sync_interval") == "always";
  s.sync_interval = v.duration("sync_interval");
  if (!s.sync_always && s.sync_interval.ns <= 0)
    v.fail("sync_interval", "must be more than 0, or \"always\"");
  if (s.sync_always && s.version < Version{2, 10})
    v.fail("sync_interval", "\"always\" exists from NATS 2.10 on");
  if (v.is_set("peer_remove_after")) s.peer_remove_after = v.duration("peer_remove_after");
  find_faults(s);
  s.max_payload = v.as<std::uint32_t>("max_payload");
  s.max_pending = v.as<std::uint64_t>("max_pending");
  s.write_deadline = v.duration("write_deadline");
  if (s.write_deadline.ns <= 0) v.fail("write_deadline", "must be more than 0");
  return s;
}

NatsStream resolve_nats_stream(const Scenario& scenario, const TopicSpec& stream, const BrokerSpec& broker) {
  const std::string path = "streams." + stream.name + ".properties";
  const Values v(nats_stream_settings(), stream.properties, version_of(broker),
                 {scenario.file, path, stream.line});
  if (v.truth("no_ack")) v.fail("no_ack", "true is not modelled");
  NatsStream s;
  s.replicas = stream.replication;
  const std::string retention = v.text("retention");
  s.retention = retention == "limits"     ? NatsStream::Retention::limits
                : retention == "interest" ? NatsStream::Retention::interest
                                          : NatsStream::Retention::workqueue;
  s.in_memory = v.text("storage") == "memory";
  s.persist_async = v.text("persist_mode") == "async";
  // [nats-server: stream.go checkStreamCfg]
  if (s.persist_async && s.replicas > 1) v.fail("persist_mode", "\"async\" is for one replica only");
  if (s.persist_async && s.in_memory) v.fail("persist_mode", "\"async\" is for storage = \"file\" only");
  if (v.is_set("persist_mode") && version_of(broker) < Version{2, 12})
    v.fail("persist_mode", "exists from NATS 2.12 on");
  s.discard_new = v.text("discard") == "new";
  // The server takes 0 as "no limit". [nats-server: stream.go checkStreamCfg]
  const auto limit = [&](std::string_view key) { return v.integer(key) == 0 ? -1 : v.integer(key); };
  s.max_msgs = limit("max_msgs");
  s.max_bytes = limit("max_bytes");
  s.max_msgs_per_subject = limit("max_msgs_per_subject");
  s.max_msg_size = limit("max_msg_size");
  s.discard_new_per_subject = v.truth("discard_new_per_subject");
  // [nats-server: stream.go checkStreamCfg, error 10052]
  if (s.discard_new_per_subject && !s.discard_new)
    v.fail("discard_new_per_subject", "needs discard = \"new\"");
  if (s.discard_new_per_subject && s.max_msgs_per_subject <= 0)
    v.fail("discard_new_per_subject", "needs max_msgs_per_subject");
  s.max_age = v.duration("max_age");
  if (s.max_age.ns != 0 && s.max_age < Duration::millis(100)) v.fail("max_age", "must be at least 100ms");
  s.duplicate_window = v.duration("duplicate_window");
  if (s.max_age.ns != 0 && s.duplicate_window > s.max_age) {
    if (v.is_set("duplicate_window")) v.fail("duplicate_window", "must not be more than max_age");
    s.duplicate_window = s.max_age;
  }
  if (s.duplicate_window.ns != 0 && s.duplicate_window < Duration::millis(100))
    v.fail("duplicate_window", "must be at least 100ms");
  s.transform = transform_of(v);
  check_origins(v, scenario, stream, s);
  for (const std::string_view key : {"subject_transform_src", "subject_transform_dest"}) {
    if (v.is_set(key) && version_of(broker) < Version{2, 10}) v.fail(key, "exists from NATS 2.10 on");
  }
  return s;
}

NatsConsumer resolve_nats_consumer(const Scenario& scenario, const Properties& properties,
                                   const BrokerSpec& broker, const std::string& path,
                                   std::uint32_t instances) {
  const Values v(nats_consumer_settings(), properties, version_of(broker), {scenario.file, path});
  NatsConsumer c;
  c.connection = connection_of(v);
  c.durable = v.text("durable");
  c.ordered = v.truth("ordered");
  const std::string action = v.text("action");
  c.action = action == "bind"     ? NatsConsumer::Action::bind
             : action == "create" ? NatsConsumer::Action::create
                                  : NatsConsumer::Action::update;
  const std::string policy = v.text("ack_policy");
  c.ack_policy = policy == "explicit" ? NatsConsumer::AckPolicy::explicit_ack
                 : policy == "all"    ? NatsConsumer::AckPolicy::all
                                      : NatsConsumer::AckPolicy::none;
  c.ack_wait = v.duration("ack_wait");
  c.backoff = backoff_of(v);
  c.max_deliver = v.integer("max_deliver");
  c.max_ack_pending = v.integer("max_ack_pending");
  c.max_waiting = v.as<std::uint32_t>("max_waiting");
  const std::string deliver = v.text("deliver_policy");
  c.deliver = deliver == "all"    ? NatsConsumer::Deliver::all
              : deliver == "last" ? NatsConsumer::Deliver::last
                                  : NatsConsumer::Deliver::new_only;
  c.ack_sync = v.truth("ack_sync");
  c.batch = v.as<std::uint32_t>("batch");
  c.expires = v.duration("expires");
  if (c.expires.ns <= 0) v.fail("expires", "must be more than 0");
  check_redelivery(v, c);
  check_ordered(v, c);
  if (v.is_set("filter_subjects") && version_of(broker) < Version{2, 10})
    v.fail("filter_subjects", "exists from NATS 2.10 on");
  check_push(v, c, instances);
  check_filters(v, c);
  return c;
}

NatsProducer resolve_nats_producer(const Scenario& scenario, const Properties& properties,
                                   const BrokerSpec& broker, const std::string& path) {
  const Values v(nats_producer_settings(), properties, version_of(broker), {scenario.file, path});
  NatsProducer p;
  p.connection = connection_of(v);
  p.msg_id = v.truth("msg_id");
  p.max_pending = v.as<std::uint32_t>("max_pending");
  p.ack_timeout = v.duration("ack_timeout");
  p.stall_wait = v.duration("stall_wait");
  p.retry_attempts = v.as<std::uint32_t>("retry_attempts");
  p.retry_wait = v.duration("retry_wait");
  return p;
}

}  // namespace mqlab
