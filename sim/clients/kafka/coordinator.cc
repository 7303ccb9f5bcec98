#include "sim/clients/kafka/client.h"

namespace mqlab::sim::kafka::client {

NodeIndex Coordinator::node(KafkaClient& client) {
  if (node_ != no_node && client.wire().usable(node_)) return node_;
  if (node_ != no_node && client.wire().reconnecting(node_)) return no_node;
  node_ = no_node;
  wanted_ = true;
  find(client);
  return no_node;
}

void Coordinator::find(KafkaClient& client) {
  if (!wanted_ || asking_ || timer_.due() != Instant::never()) return;
  const NodeIndex node = client.wire().any();
  if (node == no_node) return;  // tried again when a node is usable
  auto* request = client.arena().make<FindCoordinatorRequest>();
  request->transaction = transaction_;
  request->key = key_;
  asking_ = true;
  client.wire().send(node, RequestKind::find_coordinator, request, 40,
                     client.wire().settings().request_timeout, who_);
}

bool Coordinator::answered(KafkaClient& client, const FindCoordinatorAnswer& answer) {
  const NodeIndex node = answer.error == Error::none ? client.wire().index_of(answer.node) : no_node;
  if (node == no_node || (!client.wire().usable(node) && !client.wire().reconnecting(node))) {
    failed(client);
    return false;
  }
  asking_ = false;
  wanted_ = false;
  attempts_ = 0;
  node_ = node;
  return true;
}

void Coordinator::failed(KafkaClient& client) {
  asking_ = false;
  timer_.set(client.world(), client, timer_kind_, client.now() + client.wire().backoff(++attempts_));
}

void Coordinator::timer_fired(KafkaClient& client, const SimEvent& event) {
  if (timer_.fired(client.world(), client, event)) find(client);
}

}  // namespace mqlab::sim::kafka::client
