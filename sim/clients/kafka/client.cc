#include "sim/clients/kafka/client.h"

#include "core/base/check.h"
#include "sim/brokers/kafka/requests.h"
#include "sim/clients/kafka/consumer.h"
#include "sim/clients/kafka/producer.h"
#include "sim/clients/kafka/transactions.h"

namespace mqlab::sim::kafka::client {
namespace {

const KafkaConnection& connection_of(const ClientPlan& plan) {
  return plan.outputs.empty() ? plan.consumer.connection : plan.producer.connection;
}

}  // namespace

KafkaClient::KafkaClient(World& world, Process& process, const ClientPlan& plan,
                         std::span<Component* const> nodes, PlaceId places)
    : world_(world), process_(process), plan_(plan), wire_(*this, connection_of(plan), nodes, places) {
  if (!plan.outputs.empty()) producer_ = arena().make<Producer>(*this);
  if (!plan.inputs.empty()) consumer_ = arena().make<Consumer>(*this);
}

void KafkaClient::start() {
  wire_.start();
  if (producer_ != nullptr) producer_->start();
  if (consumer_ != nullptr) consumer_->start();
}

void KafkaClient::carry_out(const Effect& effect) {
  switch (effect.kind) {
    case Kind::publish:
      return producer_->publish(effect);
    case Kind::flush:
      if (producer_ == nullptr) return settle(effect, Outcome::ok);
      return producer_->flush(effect);
    case Kind::begin:
      return producer_->transactions()->begin(effect);
    case Kind::offsets_to_transaction:
      return producer_->transactions()->offsets(effect);
    case Kind::commit_transaction:
      return producer_->transactions()->commit(effect);
    case Kind::abort_transaction:
      return producer_->transactions()->abort(effect);
    case Kind::fetch:
      return consumer_->fetch(effect);
    case Kind::commit:
      return consumer_->commit(effect);
    case Kind::accept:
      return consumer_->accept(effect);
    case Kind::release:
      return consumer_->release(effect);
    case Kind::seek:
      return consumer_->seek(effect);
    case Kind::pause:
      return consumer_->pause(effect, true);
    case Kind::resume:
      return consumer_->pause(effect, false);
    case Kind::leave:
      return consumer_->leave(effect);
    default:
      MQLAB_CHECK(false && "an effect that Setup should have refused");
  }
}

void KafkaClient::close() {
  if (producer_ != nullptr) producer_->close();
  if (consumer_ != nullptr) consumer_->close();
}

void KafkaClient::settle(OpId op, Kind of, Outcome outcome, ErrorClass error, std::int16_t code) {
  Settlement s;
  s.op = op;
  s.of = of;
  s.outcome = outcome;
  s.error = error;
  s.code = static_cast<std::uint16_t>(code);
  Event event;
  event.kind = EventKind::settled;
  event.settlements = {&s, 1};
  process_.post(event);
}

// ---- events
// ----------------------------------------------------------------------------------------------------

void KafkaClient::on(const SimEvent& event) {
  switch (event.kind) {
    case answer_event:
      return answered(reinterpret_cast<Answer*>(event.a));
    case heartbeat_event:
      return consumer_->heartbeat(event);
    case due::disconnected:
      return wire_.disconnected(event);
    case due::timeouts:
      return wire_.timeouts_fired(event);
    case due::reconnect:
      return wire_.reconnect_fired(event);
    case due::metadata:
      return wire_.metadata_fired(event);
    case due::refresh:
      return wire_.refresh_fired(event);
    case due::kick:
      return producer_->kicked();
    case due::linger:
      return producer_->linger_fired(event);
    case due::delivery:
      return producer_->delivery_fired(event);
    case due::producer_id:
      return producer_->producer_id_fired(event);
    case due::transaction:
      return producer_->transactions()->again_fired(event);
    case due::transaction_limit:
      return producer_->transactions()->limit_fired(event);
    case due::transaction_coordinator:
    case due::offsets_coordinator:
      return producer_->transactions()->coordinator_fired(event);
    case due::group_coordinator:
      return consumer_->coordinator_fired(event);
    case due::membership:
      return consumer_->membership_fired(event);
    case due::session:
      return consumer_->session_fired(event);
    case due::poll_wait:
      return consumer_->poll_wait_fired(event);
    case due::poll_limit:
      return consumer_->poll_limit_fired(event);
    case due::auto_commit:
      return consumer_->auto_commit_fired(event);
    case due::fetch:
      return consumer_->fetch_fired(event);
    default:
      MQLAB_CHECK(false && "unknown client event");
  }
}

void KafkaClient::life_changed(ProcessId changed, LifeChange change) {
  wire_.life_changed(changed, change);
  if (consumer_ != nullptr) consumer_->life_changed(changed, change);
}

void KafkaClient::answered(Answer* answer) {
  Pending pending;
  if (!wire_.take(*answer, pending)) return destroy_answer(arena(), answer);
  if (answer->throttle.ns > 0) wire_.throttled(pending, answer->throttle);
  if (answer->error == Error::disconnected) {  // the node takes no connections yet
    destroy_answer(arena(), answer);
    failed(pending, Error::disconnected);
    return wire_.disconnect(pending.node, Error::disconnected);
  }
  dispatch(pending, answer);
}

void KafkaClient::dispatch(const Pending& pending, Answer* answer) {
  const Error error = answer->error;
  switch (pending.kind) {
    case RequestKind::metadata:
      return wire_.metadata(static_cast<MetadataAnswer*>(answer));
    case RequestKind::produce:
      return producer_->answered(pending, static_cast<ProduceAnswer*>(answer));
    case RequestKind::init_producer_id: {
      const auto* typed = static_cast<InitProducerIdAnswer*>(answer);
      if (Transactions* transactions = producer_->transactions()) {
        transactions->initialised(*typed);
      } else {
        producer_->initialised(*typed);
      }
      return destroy_answer(arena(), answer);
    }
    case RequestKind::find_coordinator: {
      const auto* typed = static_cast<FindCoordinatorAnswer*>(answer);
      if (pending.context == asks::consumer) {
        consumer_->coordinator_found(*typed);
      } else {
        producer_->transactions()->coordinator_found(*typed, pending.context == asks::transaction);
      }
      return destroy_answer(arena(), answer);
    }
    case RequestKind::end_txn:
      producer_->transactions()->ended(pending, *static_cast<EndTxnAnswer*>(answer));
      return destroy_answer(arena(), answer);
    case RequestKind::add_partitions_to_txn:
    case RequestKind::add_offsets_to_txn:
    case RequestKind::txn_offset_commit:
      destroy_answer(arena(), answer);
      return producer_->transactions()->answered(pending, error);
    default:
      return consumer_->answered(pending, answer);
  }
}

void KafkaClient::failed(const Pending& pending, Error error) {
  switch (pending.kind) {
    case RequestKind::metadata:
      return wire_.metadata_failed();
    case RequestKind::produce:
      return producer_->failed(pending, error);
    case RequestKind::init_producer_id:
      if (producer_->transactions() == nullptr) return producer_->initialisation_failed();
      [[fallthrough]];
    case RequestKind::add_partitions_to_txn:
    case RequestKind::add_offsets_to_txn:
    case RequestKind::txn_offset_commit:
    case RequestKind::end_txn:
      return producer_->transactions()->answered(pending, error);
    case RequestKind::find_coordinator:
      if (pending.context == asks::consumer) return consumer_->coordinator_failed();
      return producer_->transactions()->coordinator_failed(pending.context == asks::transaction);
    default:
      return consumer_->failed(pending, error);
  }
}

// ---- nodes
// -----------------------------------------------------------------------------------------------------

void KafkaClient::node_usable(NodeIndex node) {
  if (producer_ != nullptr) producer_->node_usable(node);
  if (consumer_ != nullptr) consumer_->node_usable(node);
}

void KafkaClient::node_lost(NodeIndex node) {
  if (consumer_ != nullptr) consumer_->node_lost(node);
}

void KafkaClient::leaders_changed() {
  if (producer_ != nullptr) producer_->leaders_changed();
  if (consumer_ != nullptr) consumer_->leaders_changed();
}

void KafkaClient::topic_grew(TopicId topic) {
  if (consumer_ != nullptr) consumer_->topic_grew(topic);
}

bool KafkaClient::unroutable() const {
  return (producer_ != nullptr && producer_->unroutable()) ||
         (consumer_ != nullptr && consumer_->unroutable());
}

mqlab::sim::Client* make_client(World& world, Process& process, const ClientPlans& plans,
                                std::span<Component* const> nodes) {
  auto* client =
      world.arena().make<KafkaClient>(world, process, plans.plans[process.self()], nodes, plans.places);
  world.add(*client, process.self());
  return client;
}

}  // namespace mqlab::sim::kafka::client
