// Fetching ahead, and where a partition without a position begins.
#include <algorithm>

#include "sim/clients/kafka/client.h"
#include "sim/clients/kafka/consumer.h"
#include "sim/clients/kafka/frames.h"

namespace mqlab::sim::kafka::client {

/// java: partitions without fetched records (AbstractFetch.fetchablePartitions); librdkafka: those whose
/// queue is below its limits (rd_kafka_toppar_fetch_decide), none while a rebalance waits for the application
/// (rd_kafka_assignment_pause).
bool Consumer::wanted(const InPartition& p) const {
  if (p.state != InPartition::State::reading || p.paused || p.leaving || p.fetch_at > client_.now())
    return false;
  if (java_) return p.buffered == 0;
  if (revoke_.pending || revoke_.posted) return false;
  return p.buffered < settings_.queued_messages && buffered_bytes_ < settings_.queued_bytes;
}

void Consumer::fetch_all() {
  for (NodeIndex n = 0; n < lanes_.size(); ++n) {
    if (lanes_[n].correlation == 0) fetch_from(n);
  }
  // A node may hold a fetch that was sent while this partition's buffer was full, or led by another node.
  for (InPartition& p : partitions_) {
    const NodeIndex node = client_.wire().leader(p.place);
    if (node != no_node && wanted(p) && p.asked_in != lanes_[node].correlation) changed(p);
  }
}

/// librdkafka is told of every partition it asked for, Java in its fetch session only of those with news
/// (KIP-227): about one.
std::uint32_t Consumer::answer_frame(const FetchRequest& request) const {
  std::uint32_t bytes = frames::fetched(java_);
  for (const InputPlan& input : client_.plan().inputs) {
    std::uint32_t parts = 0;
    for (const FetchPart& part : request.parts)
      parts += part.place >= input.first_place && part.place < input.first_place + input.partitions ? 1 : 0;
    if (parts > 0 && java_) return bytes + input.topic_bytes + frames::fetched_partition(true);
    if (parts > 0) bytes += input.topic_bytes + parts * frames::fetched_partition(false);
  }
  return bytes;
}

/// One request a node at a time, for all partitions it leads. librdkafka begins each with the next of them
/// (rd_kafka_broker_fetch_toppars: rkb_active_toppar_next), which decides what comes first in the answer.
void Consumer::fetch_from(NodeIndex node) {
  Lane& lane = lanes_[node];
  if (lane.correlation != 0 || state_ == State::gone) return;
  const Instant held = client_.wire().holds_until(node, RequestKind::fetch);
  if (held > client_.now()) return fetch_timer_.set_by(client_.world(), client_, due::fetch, held);
  FetchRequest* request = nullptr;
  const std::uint32_t count = partitions_.size(), first = java_ ? 0 : lane.first;
  for (std::uint32_t i = 0; i < count; ++i) {
    InPartition& p = partitions_[(first + i) % count];
    if (client_.wire().leader(p.place) != node || !wanted(p)) continue;
    if (request == nullptr) {
      if (!client_.wire().usable(node)) return client_.wire().refresh();
      lane.first = (first + i + 1) % count;
      request = client_.arena().make<FetchRequest>(client_.arena());
      request->parts.reserve(partitions_.size());
    }
    request->parts.push_back({p.place, p.fetched, settings_.partition_bytes, p.leader_epoch});
    p.sent_version = p.version;
  }
  if (request == nullptr) return;
  request->read_committed = settings_.read_committed;
  request->min_bytes = settings_.fetch_min_bytes;
  request->max_bytes = settings_.fetch_max_bytes;
  request->max_wait = settings_.fetch_wait;
  request->frame = answer_frame(*request);
  lane.sent = client_.now();
  lane.changed = false;
  const auto bytes = static_cast<std::uint32_t>(80 + 24 * request->parts.size());
  const Duration timeout = settings_.connection.request_timeout + (java_ ? Duration{} : settings_.fetch_wait);
  const std::size_t asked = request->parts.size();
  std::size_t next = 0;
  lane.correlation = client_.wire().send(node, RequestKind::fetch, request, bytes, timeout);
  for (InPartition& p : partitions_) {
    if (next == asked || client_.wire().leader(p.place) != node || !wanted(p)) continue;
    p.asked_in = lane.correlation;
    ++next;
  }
}

/// What is wanted of a partition is not what its node was asked for. The broker holds a fetch without data
/// for fetch.max.wait.ms; the new wish goes out when it would have answered.
void Consumer::changed(InPartition& p) {
  const NodeIndex node = client_.wire().leader(p.place);
  if (node == no_node) return client_.wire().refresh();
  Lane& lane = lanes_[node];
  if (lane.correlation == 0) {
    if (!java_ || polling()) fetch_from(node);
    return;
  }
  lane.changed = true;
  const std::int64_t wait = std::max<std::int64_t>(settings_.fetch_wait.ns, 1);
  const std::int64_t waits = (client_.now() - lane.sent).ns / wait + 1;
  fetch_timer_.set_by(client_.world(), client_, due::fetch, lane.sent + Duration::nanos(waits * wait));
}

void Consumer::fetch_fired(const SimEvent& event) {
  if (!fetch_timer_.fired(client_.world(), client_, event)) return;
  for (NodeIndex n = 0; n < lanes_.size(); ++n) {
    Lane& lane = lanes_[n];
    if (lane.changed && lane.correlation != 0) {
      client_.wire().forget(n, lane.correlation);
      lane.correlation = 0;
      lane.changed = false;
    }
  }
  if (!java_ || polling()) fetch_all();
  Instant next = Instant::never();
  for (const InPartition& p : partitions_) {
    const bool waits = p.state >= InPartition::State::resolving && !p.asking;
    if (waits && p.fetch_at > client_.now()) next = std::min(next, p.fetch_at);
  }
  fetch_timer_.set_by(client_.world(), client_, due::fetch, next);
  for (InPartition& p : partitions_) {
    if (p.fetch_at <= client_.now()) ask(p);
  }
}

void Consumer::fetched(const Pending& pending, FetchAnswer* answer) {
  lanes_[pending.node].correlation = 0;
  lanes_[pending.node].changed = false;
  if (answer->error != Error::none) client_.wire().refresh();
  for (const FetchedPart& part : answer->parts) take(*answer, part, pending.correlation);
  const bool refused = answer->error != Error::none;
  destroy(client_.arena(), answer);
  deliver();
  if ((!java_ || polling()) && !refused) fetch_from(pending.node);
}

/// Only the latest fetch of a partition counts: an answer of its former leader may come all the same.
void Consumer::take(FetchAnswer& answer, const FetchedPart& part, std::uint32_t correlation) {
  InPartition* p = find(part.place);
  const bool current = p != nullptr && p->state == InPartition::State::reading && !p->paused &&
                       p->sent_version == p->version && p->asked_in == correlation;
  const FetchedRecords* run = answer.runs.data() + part.first_run;
  if (!current || part.error != Error::none) {
    for (std::uint32_t i = 0; i < part.runs; ++i) mqlab::sim::kafka::release(client_.arena(), run[i].batch);
    if (current) fetch_error(*p, part.error);
    return;
  }
  const auto index = static_cast<std::uint32_t>(p - partitions_.data());
  std::int64_t end = p->fetched;
  for (std::uint32_t i = 0; i < part.runs; ++i, ++run) {
    ready_.push_back({run->batch, index, p->version, run->first, run->count, run->offset, run->leader_epoch});
    p->buffered += run->count;
    buffered_bytes_ += run->batch->bytes;
    end = run->offset + run->count;
  }
  if (end != part.next_offset)
    ready_.push_back({nullptr, index, p->version, 0, 0, part.next_offset, part.next_epoch});
  p->fetched = part.next_offset;
}

void Consumer::fetch_error(InPartition& p, Error error) {
  switch (error) {
    case Error::offset_out_of_range:
      voided(p);
      return reset(p);
    case Error::not_leader_or_follower:
    case Error::fenced_leader_epoch:
    case Error::leader_not_available:
    case Error::unknown_topic_or_partition:
      client_.wire().refresh();
      [[fallthrough]];
    default:
      p.fetch_at =
          client_.now() + (java_ ? settings_.connection.retry_backoff : settings_.fetch_error_backoff);
      fetch_timer_.set_by(client_.world(), client_, due::fetch, p.fetch_at);
  }
}

// ---- a start without a position
// --------------------------------------------------------------------------------

/// auto.offset.reset. With "none" Java's poll throws (NoOffsetForPartitionException,
/// OffsetOutOfRangeException) and librdkafka reports _AUTO_OFFSET_RESET: the module's fetch fails.
void Consumer::reset(InPartition& p) {
  if (settings_.reset == OffsetReset::none) {
    p.state = InPartition::State::assigned;
    no_position_ = true;
    return fail_parked(ErrorClass::fatal, Error::offset_out_of_range);
  }
  p.state = InPartition::State::resolving;
  ask_offset(p);
}

void Consumer::ask_offset(InPartition& p) {
  const NodeIndex node = client_.wire().leader(p.place);
  if (node == no_node || !client_.wire().usable(node)) return client_.wire().refresh();
  auto* request = client_.arena().make<ListOffsetsRequest>();
  request->place = p.place;
  request->latest = settings_.reset == OffsetReset::latest;
  request->read_committed = settings_.read_committed;
  p.asking = true;
  client_.wire().send(node, RequestKind::list_offsets, request, 60, settings_.connection.request_timeout,
                      context_of(p));
}

void Consumer::offset_known(const Pending& pending, Error error, std::int64_t offset) {
  InPartition& p = partitions_[static_cast<std::uint32_t>(pending.context)];
  if (asks_again(pending, InPartition::State::resolving, error)) return;
  p.stored = p.auto_committed = offset;
  read_from(p, offset, no_epoch);  // java OffsetFetcher.resetPositionIfNeeded: nothing to be checked
}

/// Whether the answer that a partition in that state waits for has not come with this one.
bool Consumer::asks_again(const Pending& pending, InPartition::State state, Error error) {
  InPartition& p = partitions_[static_cast<std::uint32_t>(pending.context)];
  const bool current = p.version == static_cast<std::uint32_t>(pending.context >> 32);
  if (current) p.asking = false;
  if (!current || p.state != state) return true;
  if (error == Error::none) return false;
  if (error != Error::disconnected && error != Error::timed_out_local) client_.wire().refresh();
  p.fetch_at = client_.now() + settings_.connection.retry_backoff;
  fetch_timer_.set_by(client_.world(), client_, due::fetch, p.fetch_at);
  return true;
}

}  // namespace mqlab::sim::kafka::client
