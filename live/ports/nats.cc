// The port to NATS JetStream.
#include <algorithm>
#include <atomic>
#include <optional>
#include <vector>

#include "live/port.h"
#include "live/ports/nats_publisher.h"
#include "live/ports/nats_reader.h"

namespace mqlab::live {
namespace nats {
namespace {

class NatsPort final : public Port {
 public:
  explicit NatsPort(const PortContext& context)
      : context_(context),
        ports_(ports_of(context.scenario, context.topology, context.process)),
        info_(context.topology.processes[context.process]) {}

  Capabilities capabilities() const override {
    Capabilities c;
    c.queue = c.negative_ack = c.in_progress = c.terminate = c.deduplicates = true;
    c.max_message_bytes = 1 << 20;  // max_payload, server/const.go
    return c;
  }

  void start() override {
    const BrokerSpec& broker = broker_of(context_.scenario, context_.topology, context_.process);
    const NatsProducer producer =
        resolve_nats_producer(context_.scenario, producer_properties(), broker, info_.group + ".producer");
    std::optional<ReaderSettings> reader;
    if (!ports_.inputs.empty()) reader = reader_of(broker);
    watcher_.down = [this] { tell(EventKind::down); };
    watcher_.up = [this] { tell(EventKind::up); };
    const NatsConnection& how = reader ? reader->values.connection : producer.connection;
    connection_ =
        connect(connection_settings(context_.scenario, context_.address, info_.name, how), &watcher_);
    for (const TopicId topic : ports_.outputs) outputs_.push_back(stream_names(spec(topic), context_.tag));
    if (!outputs_.empty())
      publisher_ = std::make_unique<Publisher>(connection_.get(), producer, context_.events);
    for (const TopicId topic : ports_.inputs) {
      const Reader::Setup setup{connection_.get(), stream_names(spec(topic), context_.tag), *reader,
                                context_.topology.topics[topic].first_place, context_.clock};
      readers_.push_back(std::make_unique<Reader>(setup, context_.events));
    }
  }

  void carry_out(const Effect& e, std::uint32_t transaction) override {
    switch (e.kind) {
      case Kind::publish:
        return publish(e, transaction);
      case Kind::fetch:
        return readers_.at(e.port)->fetch(e.op, e.max, e.wait);
      case Kind::ack:
        return answer(e, Reader::Answer::ack);
      case Kind::nack:
        return answer(e, Reader::Answer::nack);
      case Kind::progress:
        return answer(e, Reader::Answer::progress);
      case Kind::terminate:
        return answer(e, Reader::Answer::terminate);
      case Kind::flush:
        if (publisher_) return publisher_->flush(e.op);
        return settle(e, NATS_OK);
      case Kind::leave:
        return settle(e, NATS_OK);  // a pull consumer has no membership to give up
      default:
        return settle(e, NATS_INVALID_ARG);  // outside the capabilities: refused when the scenario loads
    }
  }

  void close(Duration grace) override {
    closing_ = true;
    if (publisher_) publisher_->close(grace);
    if (connection_) {
      natsConnection_FlushTimeout(connection_.get(),
                                  std::max<std::int64_t>(grace.ns / 1'000'000, 1));  // acks under way
      natsConnection_Close(connection_.get());
    }
    for (auto& reader : readers_) reader->close();
  }

 private:
  const TopicSpec& spec(TopicId topic) const {
    return context_.scenario.topics[context_.topology.topics[topic].index];
  }

  const Properties& producer_properties() const {
    static const Properties none;
    if (info_.role == Role::workload) return context_.scenario.workloads[info_.index].producer;
    return info_.role == Role::stage ? context_.scenario.stages[info_.index].producer : none;
  }
  ReaderSettings reader_of(const BrokerSpec& broker) const {
    if (info_.role == Role::observer)
      return reader_settings(context_.scenario, broker, context_.scenario.observers[info_.index]);
    return reader_settings(context_.scenario, broker, context_.scenario.stages[info_.index]);
  }

  void tell(EventKind kind) {
    if (closing_) return;
    OwnedEvent event;
    event.kind = kind;
    context_.events.push(std::move(event));
  }

  void settle(const Effect& e, natsStatus status) {
    Settlement s;
    s.op = e.op;
    s.of = e.kind;
    s.code = static_cast<std::uint16_t>(status);
    if (status != NATS_OK) {
      s.outcome = Outcome::fail;
      s.error = ErrorClass::retriable;
    }
    context_.events.settle(s);
  }

  void publish(const Effect& e, std::uint32_t transaction) {
    const Message& m = e.message;
    encode(m, {context_.process, context_.incarnation, transaction}, buffer_);
    const std::string subject = outputs_.at(e.port).subject_of(m.key);
    natsMsg* wire = nullptr;
    const natsStatus status =
        natsMsg_Create(&wire, subject.c_str(), nullptr, reinterpret_cast<const char*>(buffer_.data()),
                       static_cast<int>(buffer_.size()));
    if (status != NATS_OK) return settle(e, status);
    Publisher::Job job{
        e.op, m.id, context_.topology.topics[ports_.outputs[e.port]].first_place, MessagePtr(wire), {}};
    if (publisher_->settings().msg_id) job.message_id = std::to_string(m.id);
    publisher_->publish(std::move(job));
  }

  void answer(const Effect& e, Reader::Answer how) {
    natsStatus worst = NATS_OK;
    for (const std::uint64_t receipt : e.receipts) {
      const auto reader = std::ranges::find_if(readers_, [&](auto& r) { return r->holds(receipt); });
      if (reader == readers_.end()) continue;
      const natsStatus status = (*reader)->answer(receipt, how, e.wait);
      if (status != NATS_OK) worst = status;
    }
    settle(e, worst);
  }

  PortContext context_;
  Ports ports_;
  const ProcessInfo& info_;
  ConnectionWatcher watcher_;
  ConnectionPtr connection_;
  std::vector<StreamNames> outputs_;
  std::unique_ptr<Publisher> publisher_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::byte> buffer_;
  std::atomic<bool> closing_ = false;
};

}  // namespace
}  // namespace nats

std::unique_ptr<Port> make_nats_port(const PortContext& context) {
  return std::make_unique<nats::NatsPort>(context);
}

}  // namespace mqlab::live
