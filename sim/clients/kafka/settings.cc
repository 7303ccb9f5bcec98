#include "sim/clients/kafka/settings.h"

#include <string_view>

namespace mqlab::sim::kafka::client {
namespace {

/// Values have been checked when the scenario was read.
class Reader {
 public:
  explicit Reader(const Properties& properties) : properties_(properties) {}

  const std::string* text(std::string_view key) const {
    const Property* found = find(properties_, key);
    return found == nullptr ? nullptr : &found->value;
  }
  template <class T>
  void number(std::string_view key, T& to) const {
    if (const std::string* value = text(key)) to = static_cast<T>(std::stoll(*value));
  }
  void millis(std::string_view key, Duration& to) const {
    if (const std::string* value = text(key)) to = Duration::millis(std::stoll(*value));
  }
  void flag(std::string_view key, bool& to) const {
    if (const std::string* value = text(key)) to = *value == "true";
  }
  void string(std::string_view key, std::string& to) const {
    if (const std::string* value = text(key)) to = *value;
  }

 private:
  const Properties& properties_;
};

ConnectionSettings connection(bool java, const Reader& r) {
  ConnectionSettings c;
  if (java) {
    r.millis("request.timeout.ms", c.request_timeout);
  } else {
    c.request_timeout = Duration::seconds(60);
    c.reconnect_backoff = Duration::millis(100);
    c.reconnect_backoff_max = Duration::seconds(10);
    r.millis("socket.timeout.ms", c.request_timeout);
  }
  r.millis("retry.backoff.ms", c.retry_backoff);
  r.millis("retry.backoff.max.ms", c.retry_backoff_max);
  r.millis("reconnect.backoff.ms", c.reconnect_backoff);
  r.millis("reconnect.backoff.max.ms", c.reconnect_backoff_max);
  return c;
}

void librdkafka_defaults(ProducerSettings& p, const Reader& r) {
  p.idempotence = false;
  p.batch_bytes = 1'000'000;
  p.batch_messages = 10'000;
  p.request_bytes = 1'000'000;
  p.buffer_bytes = std::uint64_t{1'048'576} << 10;
  p.buffer_messages = 100'000;
  p.in_flight = 1'000'000;
  p.delivery_timeout = Duration::seconds(300);
  r.number("batch.num.messages", p.batch_messages);
  r.number("message.max.bytes", p.request_bytes);
  std::uint64_t kilobytes = p.buffer_bytes >> 10;
  r.number("queue.buffering.max.kbytes", kilobytes);
  p.buffer_bytes = kilobytes << 10;
  r.number("queue.buffering.max.messages", p.buffer_messages);
  r.millis("queue.buffering.max.ms", p.linger);
  r.number("max.in.flight", p.in_flight);
  r.number("message.send.max.retries", p.retries);
  r.millis("message.timeout.ms", p.delivery_timeout);
  r.flag("enable.gapless.guarantee", p.gapless);
  r.millis("sticky.partitioning.linger.ms", p.sticky_linger);
}

std::int8_t acks_of(const std::string& text) {
  return text == "all" ? std::int8_t{-1} : static_cast<std::int8_t>(std::stoi(text));
}

}  // namespace

ProducerSettings producer_settings(Flavour flavour, const Properties& properties) {
  const bool java = flavour == Flavour::java;
  const Reader r(properties);
  ProducerSettings p;
  p.connection = connection(java, r);
  if (!java) librdkafka_defaults(p, r);
  if (java) {
    r.number("max.request.size", p.request_bytes);
    r.number("buffer.memory", p.buffer_bytes);
    r.millis("max.block.ms", p.max_block);
  }
  if (const std::string* acks = r.text("acks")) p.acks = acks_of(*acks);
  if (const std::string* acks = r.text("request.required.acks")) p.acks = acks_of(*acks);
  r.millis("linger.ms", p.linger);
  r.number("batch.size", p.batch_bytes);
  r.number("max.in.flight.requests.per.connection", p.in_flight);
  r.number("retries", p.retries);
  r.millis("delivery.timeout.ms", p.delivery_timeout);
  r.millis("request.timeout.ms", p.broker_timeout);
  r.string("transactional.id", p.transactional_id);
  r.millis("transaction.timeout.ms", p.transaction_timeout);
  // Java turns idempotence off by itself when other settings contradict it (ProducerConfig.maybeOverrideEnableIdempotence).
  const bool contradicted = p.acks != -1 || p.retries == 0 || p.in_flight > 5;
  if (java && contradicted) p.idempotence = false;
  r.flag("enable.idempotence", p.idempotence);
  if (!p.transactional_id.empty()) p.idempotence = true;
  if (p.idempotence) {
    p.acks = -1;
    if (p.in_flight > 5) p.in_flight = 5;  // librdkafka adjusts it (rdkafka_conf.c)
  }
  return p;
}

ConsumerSettings consumer_settings(Flavour flavour, const Properties& properties) {
  const bool java = flavour == Flavour::java;
  const Reader r(properties);
  ConsumerSettings c;
  c.connection = connection(java, r);
  c.read_committed = !java;
  r.string("group.id", c.group);
  r.string("group.instance.id", c.instance);
  if (const std::string* strategy = r.text("partition.assignment.strategy")) {
    c.cooperative = strategy->find("ooperative") != std::string::npos;
  }
  r.millis("session.timeout.ms", c.session_timeout);
  r.millis("heartbeat.interval.ms", c.heartbeat_interval);
  r.millis("max.poll.interval.ms", c.max_poll_interval);
  r.number("max.poll.records", c.max_poll_records);
  r.flag("enable.auto.commit", c.auto_commit);
  r.flag("enable.auto.offset.store", c.auto_store);
  r.millis("auto.commit.interval.ms", c.auto_commit_interval);
  if (const std::string* reset = r.text("auto.offset.reset")) {
    const bool earliest = *reset == "earliest" || *reset == "smallest" || *reset == "beginning";
    const bool latest = *reset == "latest" || *reset == "largest" || *reset == "end";
    c.reset = earliest ? OffsetReset::earliest : latest ? OffsetReset::latest : OffsetReset::none;
  }
  if (const std::string* level = r.text("isolation.level")) c.read_committed = *level == "read_committed";
  r.number("fetch.min.bytes", c.fetch_min_bytes);
  r.number("fetch.max.bytes", c.fetch_max_bytes);
  r.number("max.partition.fetch.bytes", c.partition_bytes);
  r.number("fetch.message.max.bytes", c.partition_bytes);
  r.millis("fetch.max.wait.ms", c.fetch_wait);
  r.millis("fetch.wait.max.ms", c.fetch_wait);
  r.millis("fetch.error.backoff.ms", c.fetch_error_backoff);
  r.number("queued.min.messages", c.queued_messages);
  std::uint64_t kilobytes = c.queued_bytes >> 10;
  r.number("queued.max.messages.kbytes", kilobytes);
  c.queued_bytes = kilobytes << 10;
  return c;
}

}  // namespace mqlab::sim::kafka::client
