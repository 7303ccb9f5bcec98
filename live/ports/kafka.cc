// The port to Kafka: a producer where the process writes, a consumer where it reads.
#include <optional>

#include "live/ports/kafka_consumer.h"
#include "live/ports/kafka_producer.h"

namespace mqlab::live {
namespace kafka {
namespace {

class KafkaPort final : public Port {
 public:
  explicit KafkaPort(const PortContext& context)
      : context_(context),
        ports_(ports_of(context.scenario, context.topology, context.process)),
        names_(context.topology, context.tag) {}

  Capabilities capabilities() const override {
    Capabilities c;
    c.log = true;
    c.groups = !ports_.inputs.empty() && context_.topology.processes[context_.process].role != Role::observer;
    c.transactions = find(producer_properties(), "transactional.id") != nullptr;
    c.max_message_bytes = 1'000'000;  // message.max.bytes of librdkafka
    return c;
  }

  void start() override {
    if (!ports_.outputs.empty()) producer_.emplace(context_, names_, producer_properties(), ports_.outputs);
    if (!ports_.inputs.empty()) consumer_.emplace(context_, names_, consumer_properties(), ports_.inputs);
  }

  void carry_out(const Effect& e, std::uint32_t transaction) override {
    switch (e.kind) {
      case Kind::fetch:
      case Kind::accept:
      case Kind::release:
      case Kind::commit:
      case Kind::seek:
      case Kind::pause:
      case Kind::resume:
        if (consumer_) return consumer_->carry_out(e);
        break;
      case Kind::leave:
        if (consumer_) return consumer_->carry_out(e);
        return settle(e, Outcome::ok);
      case Kind::flush:
        if (!producer_) return settle(e, Outcome::ok);
        [[fallthrough]];
      case Kind::publish:
      case Kind::begin:
      case Kind::offsets_to_transaction:
      case Kind::commit_transaction:
      case Kind::abort_transaction:
        if (producer_) return producer_->carry_out(e, transaction, consumer_ ? &*consumer_ : nullptr);
        break;
      default:
        break;
    }
    settle(e, Outcome::fail);  // outside the capabilities: refused when the scenario loads
  }

  bool reading() const override { return !consumer_ || consumer_->reading(); }

  void close(Duration grace) override {
    if (producer_) producer_->close(grace);
    if (consumer_) consumer_->close();
  }

 private:
  const Properties& producer_properties() const {
    static const Properties none;
    const ProcessInfo& info = context_.topology.processes[context_.process];
    if (info.role == Role::workload) return context_.scenario.workloads[info.index].producer;
    return info.role == Role::stage ? context_.scenario.stages[info.index].producer : none;
  }
  const Properties& consumer_properties() const {
    const ProcessInfo& info = context_.topology.processes[context_.process];
    return info.role == Role::observer ? context_.scenario.observers[info.index].consumer
                                       : context_.scenario.stages[info.index].consumer;
  }
  void settle(const Effect& e, Outcome outcome) {
    Settlement s;
    s.op = e.op;
    s.of = e.kind;
    s.outcome = outcome;
    if (outcome != Outcome::ok) s.error = ErrorClass::fatal;
    context_.events.settle(s);
  }

  PortContext context_;
  Ports ports_;
  Names names_;
  std::optional<Producer> producer_;
  std::optional<Consumer> consumer_;
};

}  // namespace
}  // namespace kafka

std::unique_ptr<Port> make_kafka_port(const PortContext& context) {
  return std::make_unique<kafka::KafkaPort>(context);
}

}  // namespace mqlab::live
