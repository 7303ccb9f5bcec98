// What the client libraries make of an answer that says how long its connection is not read from (KIP-219).
#include <algorithm>

#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/wire.h"

namespace mqlab::sim::kafka::client {

Instant Wire::holds_until(NodeIndex index, RequestKind kind) const {
  return client_.plan().java() ? nodes_[index].throttled_until[channel(kind)] : Instant{};
}

/// Java does not count the time against what is under way. [InFlightRequests.incrementThrottleTime]
void Wire::throttled(const Pending& of, Duration time) {
  Node& node = nodes_[of.node];
  const std::size_t over = channel(of.kind);
  node.throttled_until[over] = std::max(node.throttled_until[over], client_.now() + time);
  for (std::uint32_t i = 0; client_.plan().java() && i < node.pending.size(); ++i) {
    Pending& pending = node.pending[i];
    if (channel(pending.kind) == over) pending.deadline = pending.deadline + time;
  }
}

}  // namespace mqlab::sim::kafka::client
