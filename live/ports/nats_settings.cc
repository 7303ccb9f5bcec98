#include "live/ports/nats_settings.h"

#include "core/seam/partitioner.h"
#include "live/port.h"
#include "live/settings.h"

namespace mqlab::live::nats {
namespace {

jsDeliverPolicy deliver_policy(const std::string& text, const std::string& owner) {
  if (text == "all") return js_DeliverAll;
  if (text == "new") return js_DeliverNew;
  if (text == "last") return js_DeliverLast;
  throw PortError(owner + ": deliver_policy = \"" + text + "\": the live world knows all, new and last");
}

}  // namespace

ConsumerSettings consumer_settings(const Properties& properties, const std::string& default_name, bool observer) {
  const std::string owner = "consumer of " + default_name;
  SettingsReader read(properties, owner);
  ConsumerSettings settings;
  settings.ordered = read.boolean("ordered").value_or(observer);
  settings.name = read.text("durable_name").value_or(default_name);
  if (const auto durable = read.text("durable")) settings.name = *durable;
  settings.ack_wait = read.duration("ack_wait").value_or(settings.ack_wait);
  settings.max_deliver = read.integer("max_deliver").value_or(settings.max_deliver);
  settings.max_ack_pending = read.integer("max_ack_pending").value_or(settings.max_ack_pending);
  settings.backoff = read.durations("backoff").value_or(settings.backoff);
  settings.ack_sync = read.boolean("ack_sync").value_or(false);
  settings.deliver = deliver_policy(read.text("deliver_policy").value_or("all"), owner);
  const std::string policy = read.text("ack_policy").value_or(settings.ordered ? "none" : "explicit");
  if (policy != (settings.ordered ? "none" : "explicit")) {
    throw PortError(owner + ": ack_policy = \"" + policy + "\": pull consumers acknowledge explicitly, ordered ones not at all");
  }
  read.finish();
  return settings;
}

ProducerSettings producer_settings(const Properties& properties, const std::string& owner) {
  SettingsReader read(properties, "producer of " + owner);
  ProducerSettings settings;
  settings.message_id = read.boolean("msg_id").value_or(settings.message_id);
  settings.max_pending = read.integer("max_pending").value_or(settings.max_pending);
  settings.ack_timeout = read.duration("ack_timeout").value_or(settings.ack_timeout);
  settings.stall_wait = read.duration("stall_wait").value_or(settings.stall_wait);
  read.finish();
  return settings;
}

ConnectionSettings connection_settings(const std::string& urls, const std::string& name) {
  ConnectionSettings settings;
  settings.urls = urls;
  settings.name = name;
  return settings;
}

std::string StreamNames::subject_of(std::uint32_t key) const {
  std::string subject = subjects.front();
  const std::string token = key != 0 ? key_text(key) : "m";
  while (!subject.empty()) {
    const std::size_t wildcard = subject.find_last_of("*>");
    if (wildcard == std::string::npos) break;
    subject.replace(wildcard, 1, token);
  }
  return subject;
}

StreamNames stream_names(const TopicSpec& topic, const std::string& tag) {
  StreamNames names;
  names.stream = tagged(topic.name, tag);
  for (const std::string& subject : topic.subjects) names.subjects.push_back(tag.empty() ? subject : tag + "." + subject);
  if (names.subjects.empty()) names.subjects.push_back(names.stream + ".>");
  return names;
}

}  // namespace mqlab::live::nats
