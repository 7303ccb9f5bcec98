// Which batches go out when, and in which requests.
#include <algorithm>

#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/frames.h"
#include "sim/clients/kafka/producer.h"
#include "sim/clients/kafka/transactions.h"

namespace mqlab::sim::kafka::client {

void Producer::kicked() {
  kicked_ = false;
  for (NodeIndex n = 0; n < lanes_.size(); ++n) {
    if (!lanes_[n].active.empty()) send_from(n);
  }
}

void Producer::linger_fired(const SimEvent& event) {
  if (!linger_.fired(client_.world(), client_, event)) return;
  for (NodeIndex n = 0; n < lanes_.size(); ++n) {
    if (!lanes_[n].active.empty()) send_from(n);
  }
}

/// Sends what one node may get now and sees to when to look again.
void Producer::send_from(NodeIndex node) {
  if (dead_ || draining_ || (settings_.idempotence && producer_id_ < 0)) return;  // what ends this kicks
  while (send_ready(node)) {
  }
  const Instant now = client_.now(), held = client_.wire().holds_until(node, RequestKind::produce);
  for (const std::uint32_t index : lanes_[node].active) {
    const Instant at = std::max(ready_at(partitions_[index]), held);
    if (at > now) linger_.set_by(client_.world(), client_, due::linger, at);
  }
}

/// java RecordAccumulator.partitionReady; librdkafka rd_kafka_toppar_producer_serve. A head that backs off
/// holds back what is behind it, in both.
Instant Producer::ready_at(OutPartition& partition) {
  const Pack& head = *partition.queue.front();
  if (held(partition, head)) return Instant::never();
  if (head.attempts > 0) return head.retry_at;
  const bool hurry =
      closing_ || full_ || !flushes_.empty() || (transactions_ != nullptr && transactions_->hurry());
  const bool full =
      head.closed || partition.queue.size() > 1 || head.batch->count >= settings_.batch_messages;
  return hurry || full ? client_.now() : head.created + settings_.linger;
}

/// Held by something other than time.
bool Producer::held(OutPartition& partition, const Pack& head) const {
  if (settings_.in_flight == 1 && partition.packs_in_flight > 0)
    return true;  // java: muted (guaranteeMessageOrder)
  if (!settings_.idempotence) return false;
  if (transactions_ != nullptr && !transactions_->may_send(partition)) return true;
  if (java_) {  // RecordAccumulator.shouldStopDrainBatchesForPartition
    const bool stale = partition.producer != producer_id_ || partition.epoch != epoch_;
    if (!head.has_sequence && ((stale && !partition.numbered.empty()) || partition.unresolved)) return true;
    return head.has_sequence && partition.numbered.front() != &head;
  }
  // At most RD_KAFKA_IDEMP_MAX_INFLIGHT (5) *messages* may be in flight for another request to go out
  // (rktp_msgs_inflight), and a retry waits for all of its partition.
  return partition.records_in_flight >= 5 || (partition.drain && partition.packs_in_flight > 0);
}

/// One request of a node, if anything is due. Java takes along the head of every partition of that node;
/// librdkafka sends one batch a request.
bool Producer::send_ready(NodeIndex node) {
  Lane& lane = lanes_[node];
  const Instant now = client_.now();
  if (lane.active.empty() || lane.in_flight >= settings_.in_flight || !client_.wire().usable(node) ||
      client_.wire().holds_until(node, RequestKind::produce) > now)
    return false;
  std::size_t first = 0;
  while (first < lane.active.size() && ready_at(partitions_[lane.active[first]]) > now) ++first;
  if (first == lane.active.size()) return false;

  Arena& arena = client_.arena();
  Flight* flight = arena.make<Flight>(arena);
  flight->node = node;
  auto* request = arena.make<ProduceRequest>(arena);
  if (!java_) {
    take(partitions_[lane.active[first]], *flight, *request);
  } else {
    request->parts.reserve(lane.active.size());
    std::uint64_t bytes = 0;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < lane.active.size(); ++i) {
      const std::uint32_t index = lane.active[i];
      OutPartition& partition = partitions_[index];
      const Pack& head = *partition.queue.front();
      const bool backing_off = head.attempts > 0 && head.retry_at > now;
      const bool fits = bytes == 0 || bytes + head.batch->bytes <= settings_.request_bytes;
      if (!backing_off && fits && !held(partition, head)) {
        bytes += head.batch->bytes;
        take(partition, *flight, *request);
      }
      if (partition.listed) lane.active[kept++] = index;
    }
    lane.active.resize(kept);
    // Those left out come first next time (drainIndex).
    if (kept > 1) std::rotate(lane.active.begin(), lane.active.begin() + 1, lane.active.end());
  }
  if (!java_ && !partitions_[lane.active[first]].listed) {
    lane.active.erase(lane.active.begin() + static_cast<std::ptrdiff_t>(first));
  }
  send(flight, request);
  return true;
}

/// librdkafka puts messages back, not batches: what is sent again goes out with what is behind it, unless its
/// sequence is given. [rd_kafka_retry_msgq, rd_kafka_msgset_writer_write_msgq]
bool Producer::joins(const Pack& head, const Pack& next) const {
  if (java_ || settings_.idempotence || head.attempts + next.attempts == 0) return false;
  const std::uint32_t bytes = head.batch->bytes + next.batch->bytes;
  return next.retry_at <= client_.now() &&
         head.batch->count + next.batch->count <= settings_.batch_messages &&
         bytes <= std::min(settings_.batch_bytes, settings_.request_bytes);
}

/// The head of the partition goes into the request. The caller takes the partition off the lane's list.
void Producer::take(OutPartition& partition, Flight& flight, ProduceRequest& request) {
  const auto pop = [&] {
    Pack* head = partition.queue.front();
    partition.queue.pop_front();
    if (head == partition.open) partition.open = nullptr;
    return head;
  };
  Pack* pack = pop();
  while (!partition.queue.empty() && joins(*pack, *partition.queue.front()))
    pack = join(client_.arena(), pack, pop());
  pack->closed = true;
  if (partition.queue.empty()) partition.listed = false;
  if (settings_.idempotence && !pack->has_sequence) number(partition, *pack);
  ++pack->attempts;
  pack->in_flight = true;
  ++partition.packs_in_flight;
  partition.records_in_flight += pack->batch->count;
  ++packs_in_flight_;
  ++pack->batch->references;
  flight.packs.push_back(pack);
  request.parts.push_back({partition.place, pack->batch});
}

/// Sequences are given at drain time (java RecordAccumulator.drainBatchesForOneNode).
void Producer::number(OutPartition& partition, Pack& pack) {
  if (partition.producer != producer_id_ || partition.epoch != epoch_) {
    partition.producer = producer_id_;
    partition.epoch = epoch_;
    partition.next_sequence = 0;
    partition.acked_sequence = -1;
  }
  detach(client_.arena(), pack);  // numbered anew: a log may hold it under its old number
  Batch& batch = *pack.batch;
  batch.producer = producer_id_;
  batch.epoch = epoch_;
  batch.first_sequence = partition.next_sequence;
  batch.transactional = transactions_ != nullptr;
  partition.next_sequence += static_cast<std::int32_t>(batch.count);
  pack.has_sequence = true;
  partition.numbered.push_back(&pack);
}

/// To the byte, since quotas are.
std::uint32_t Producer::counted_bytes(const ProduceRequest& request) const {
  std::uint32_t bytes = client_.plan().produce_bytes;
  for (const OutputPlan& output : client_.plan().outputs) {
    bool named = false;
    for (const ProducePart& part : request.parts) {
      if (part.place < output.first_place || part.place >= output.first_place + output.partitions) continue;
      if (!named) bytes += output.topic_bytes;
      named = true;
      bytes += frames::produced_partition(java_, part.batch->bytes) + part.batch->bytes;
    }
  }
  return bytes;
}

void Producer::send(Flight* flight, ProduceRequest* request) {
  request->acks = static_cast<std::int8_t>(settings_.acks);
  request->timeout = settings_.broker_timeout;
  request->transactional_id = client_.plan().transactional_id;
  request->second_protocol = settings_.second_protocol;
  std::uint32_t bytes = 60;
  for (const ProducePart& part : request->parts) bytes += part.batch->bytes + 20;
  request->bytes = counted_bytes(*request);
  Duration timeout = settings_.connection.request_timeout;
  if (!java_) {  // rd_kafka_ProduceRequest: no longer than the first message has left, at least 100 ms
    const Pack& pack = *flight->packs.front();
    Duration left = pack.created + settings_.delivery_timeout - client_.now();
    if (left.ns <= 0) left = Duration::millis(100);
    timeout = std::min(timeout, left);
  }
  ++lanes_[flight->node].in_flight;
  if (java_) flights_.push_back(flight);
  const std::uint32_t correlation = client_.wire().send(flight->node, RequestKind::produce, request, bytes,
                                                        timeout, reinterpret_cast<std::uint64_t>(flight));
  if (settings_.acks != 0) return;
  // acks=0: success is reported as soon as it is written to the socket, without an offset.
  client_.wire().forget(flight->node, correlation);
  for (Pack* pack : flight->packs) ended(pack, Error::none, -1);
  land(flight);
}

}  // namespace mqlab::sim::kafka::client
