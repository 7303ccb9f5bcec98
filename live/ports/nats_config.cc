#include "live/ports/nats_config.h"

#include <nlohmann/json.hpp>

#include "live/port.h"

namespace mqlab::live::nats {
namespace {
using nlohmann::json;

const char* word(NatsStream::Retention retention) {
  switch (retention) {
    case NatsStream::Retention::workqueue:
      return "workqueue";
    case NatsStream::Retention::interest:
      return "interest";
    default:
      return "limits";
  }
}

const char* word(NatsConsumer::AckPolicy policy) {
  switch (policy) {
    case NatsConsumer::AckPolicy::explicit_ack:
      return "explicit";
    case NatsConsumer::AckPolicy::all:
      return "all";
    default:
      return "none";
  }
}

const char* word(NatsConsumer::Deliver policy) {
  switch (policy) {
    case NatsConsumer::Deliver::last:
      return "last";
    case NatsConsumer::Deliver::new_only:
      return "new";
    default:
      return "all";
  }
}

}  // namespace

json stream_config(const NatsStream& s, const StreamNames& names) {
  json config = {
      {"name", names.stream},
      {"num_replicas", s.replicas},
      {"retention", word(s.retention)},
      {"storage", s.in_memory ? "memory" : "file"},
      {"discard", s.discard_new ? "new" : "old"},
      {"discard_new_per_subject", s.discard_new_per_subject},
      {"max_age", s.max_age.ns},
      {"max_msgs", s.max_msgs},
      {"max_bytes", s.max_bytes},
      {"max_msgs_per_subject", s.max_msgs_per_subject},
      {"max_msg_size", s.max_msg_size},
      {"duplicate_window", s.duplicate_window.ns},
  };
  if (s.mirror.empty()) {
    config["subjects"] = names.subjects;
  } else {
    config["mirror"] = {{"name", live::tagged(s.mirror, names.tag)}};
  }
  for (const std::string& source : s.sources)
    config["sources"].push_back({{"name", live::tagged(source, names.tag)}});
  if (s.persist_async) config["persist_mode"] = "async";
  if (s.transform) {
    config["subject_transform"] = {{"src", names.tagged(s.transform->source())},
                                   {"dest", names.tagged(s.transform->destination())}};
  }
  return config;
}

json consumer_config(const NatsConsumer& c, const std::string& durable, const StreamNames& names) {
  json config = {
      {"durable_name", durable},   {"ack_policy", word(c.ack_policy)}, {"deliver_policy", word(c.deliver)},
      {"ack_wait", c.ack_wait.ns}, {"max_deliver", c.max_deliver},     {"replay_policy", "instant"},
  };
  if (c.ack_policy != NatsConsumer::AckPolicy::none) config["max_ack_pending"] = c.max_ack_pending;
  for (const Duration d : c.backoff) config["backoff"].push_back(d.ns);
  if (c.filters.size() == 1) config["filter_subject"] = names.tagged(c.filters.front());
  if (c.filters.size() > 1) {
    for (const std::string& filter : c.filters) config["filter_subjects"].push_back(names.tagged(filter));
  }
  if (!c.push) {
    config["max_waiting"] = c.max_waiting;
    return config;
  }
  config["deliver_subject"] = "mqlab-deliver." + names.stream + "." + durable;
  if (!c.deliver_group.empty()) config["deliver_group"] = c.deliver_group;
  if (c.flow_control) config["flow_control"] = true;
  if (c.idle_heartbeat.ns > 0) config["idle_heartbeat"] = c.idle_heartbeat.ns;
  return config;
}

void api_request(natsConnection* connection, const std::string& subject, const json& body, Duration patience,
                 const std::string& what) {
  natsMsg* raw = nullptr;
  require(natsConnection_RequestString(&raw, connection, ("$JS.API." + subject).c_str(), body.dump().c_str(),
                                       patience.ns / 1'000'000),
          what);
  const MessagePtr reply(raw);
  const char* data = natsMsg_GetData(raw);
  const json answer = json::parse(data, data + natsMsg_GetDataLength(raw), nullptr, false);
  if (answer.is_object() && !answer.contains("error")) return;
  throw PortError(
      what + ": " +
      (answer.is_object() ? answer["error"].value("description", "refused") : "no answer of the API"));
}

}  // namespace mqlab::live::nats
