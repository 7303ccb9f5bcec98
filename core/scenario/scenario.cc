#include "core/scenario/scenario.h"

namespace mqlab {

const Property* find(const Properties& properties, std::string_view key) {
  for (const Property& property : properties) {
    if (property.key == key) return &property;
  }
  return nullptr;
}

std::string ClaimSpec::scope() const {
  std::string out = id;
  const Property* deliveries = mqlab::find(parameters, "deliveries");
  if (!of.empty())
    out += (deliveries != nullptr && deliveries->value == "true" ? " of deliveries of " : " of ") + of;
  if (!in.empty()) out += " in " + in;
  if (!as.empty()) out += " as " + as;
  return out;
}

std::vector<std::string> retry_topics(const StageSpec& stage) {
  std::vector<std::string> names;
  const RetrySpec& retry = stage.retry;
  if (retry.style != RetrySpec::Style::topics) return names;
  for (const std::string& input : stage.inputs) {
    std::int64_t wait = retry.backoff.ns / 1'000'000;
    for (std::uint32_t level = 1; level < retry.attempts; ++level, wait *= retry.multiplier) {
      const auto number = retry.multiplier > 1 ? wait : std::int64_t{level};
      names.push_back(input + "-retry-" + std::to_string(number));
    }
  }
  return names;
}

std::string_view name_of(BrokerKind kind) {
  switch (kind) {
    case BrokerKind::kafka:
      return "kafka";
    case BrokerKind::redpanda:
      return "redpanda";
    case BrokerKind::nats:
      return "nats";
    case BrokerKind::redis:
      return "redis";
    case BrokerKind::rabbitmq:
      return "rabbitmq";
    case BrokerKind::pulsar:
      return "pulsar";
  }
  return "";
}

std::string_view name_of(Flavour flavour) {
  switch (flavour) {
    case Flavour::java:
      return "java";
    case Flavour::librdkafka:
      return "librdkafka";
    case Flavour::nats_c:
      return "nats.c";
  }
  return "";
}

std::string_view name_of(Action action) {
  switch (action) {
    case Action::kill:
      return "kill";
    case Action::restart:
      return "restart";
    case Action::pause:
      return "pause";
    case Action::power_loss:
      return "power_loss";
    case Action::partition:
      return "partition";
    case Action::delay:
      return "delay";
    case Action::drop_response:
      return "drop_response";
    case Action::reset:
      return "reset";
    case Action::disk_full:
      return "disk_full";
    case Action::clock_jump:
      return "clock_jump";
    case Action::scale_out:
      return "scale_out";
    case Action::scale_in:
      return "scale_in";
    case Action::add_partitions:
      return "add_partitions";
    case Action::fsync_error:
      return "fsync_error";
  }
  return "";
}

}  // namespace mqlab
