// Fetch: what may be read, limits of size, long polling.
// Rules: kafka ReplicaManager.readFromLog, FetchParams, LogSegment.read, DelayedFetch, UnifiedLog.
#include <algorithm>

#include "core/base/plant.h"
#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/requests.h"

namespace mqlab::sim::kafka {

std::int64_t Node::fetch_bound(const Replica& replica, bool read_committed) const {
  const bool stable = read_committed && !planted(Plant::kafka_lso_ignored);
  return stable ? replica.lead->ledger.last_stable(replica.high_watermark) : replica.high_watermark;
}

/// Whether the node leads the replica, under the epoch that the client knows of (kafka
/// Partition.checkCurrentLeaderEpoch).
Error Node::led(const Replica* replica, std::int64_t epoch) const {
  if (replica == nullptr || replica->lead == nullptr) return Error::not_leader_or_follower;
  if (epoch == no_epoch || epoch == replica->lead->epoch) return Error::none;
  return epoch < replica->lead->epoch ? Error::fenced_leader_epoch : Error::unknown_leader_epoch;
}

/// Whether the request is to be answered now: an error, or min_bytes are there. `some`: there is at least
/// something.
bool Node::fetchable(const FetchRequest& r, bool& some) const {
  some = r.max_wait.ns == 0;
  std::uint64_t bytes = 0;
  for (const FetchPart& part : r.parts) {
    const Partition* partition = cluster_.partition(part.place);
    const Replica* replica = partition == nullptr ? nullptr : partition->replica(index_);
    if (led(replica, part.leader_epoch) != Error::none) return true;
    if (part.offset < replica->log.start() || part.offset > replica->log.end()) return true;
    if (part.offset >= replica->high_watermark) continue;  // cheap: most parts of an idle poll end here
    const std::int64_t bound = fetch_bound(*replica, r.read_committed);
    if (part.offset >= bound) continue;
    some = true;
    if (r.min_bytes <= 1) return true;
    const Vec<LogEntry>& entries = replica->log.entries();
    for (std::size_t i = replica->log.find(part.offset); i < entries.size() && entries[i].base < bound; ++i) {
      bytes += entries[i].bytes;
      if (bytes >= r.min_bytes) return true;
    }
  }
  return r.max_wait.ns == 0;
}

void Node::fetch(FetchRequest* r) {
  cap_fetch(*r);
  for (ParkedFetch* parked : parked_) {
    if (parked->request->reply_to != r->reply_to) continue;
    if (r->correlation < parked->request->correlation)
      return drop(r);  // late, over a connection given up since
    FetchRequest* replaced = parked->request;
    unpark(parked);
    drop(replaced);
    break;
  }
  bool some = false;
  if (fetchable(*r, some)) {
    answer_fetch(r);
  } else {
    park(r, some);
  }
}

void Node::answer_fetch(FetchRequest* r) {
  auto* answer = new_answer<FetchAnswer>(*r);
  answer->parts.reserve(r->parts.size());
  std::uint64_t bytes = 0;
  for (const FetchPart& part : r->parts) read(*r, part, *answer, bytes);
  const Duration throttle = charge_fetch(*r, bytes);
  if (throttle.ns >
      0) {  // nothing is given out: KafkaApis.handleFetchRequest, FetchContext.getThrottledResponse
    destroy_answer(arena(), answer);
    answer = new_answer<FetchAnswer>(*r);
    answer->throttle = throttle;
    bytes = 0;
    mute(connection(*r), throttle);
  }
  send_answer(*r, answer, static_cast<std::uint32_t>(bytes));
  drop(r);
}

/// Adds one partition's records. As in an incremental fetch session, partitions without news are left out
/// (KIP-227).
void Node::read(const FetchRequest& r, const FetchPart& part, FetchAnswer& answer, std::uint64_t& bytes) {
  FetchedPart out;
  out.place = part.place;
  out.next_offset = part.offset;
  out.first_run = static_cast<std::uint32_t>(answer.runs.size());
  const Partition* partition = cluster_.partition(part.place);
  const Replica* replica = partition == nullptr ? nullptr : partition->replica(index_);
  out.error = partition == nullptr ? Error::unknown_topic_or_partition : led(replica, part.leader_epoch);
  if (out.error != Error::none) {
    answer.parts.push_back(out);
    return;
  }
  out.high_watermark = replica->high_watermark;
  out.last_stable = replica->lead->ledger.last_stable(replica->high_watermark);
  out.log_start = replica->log.start();
  if (part.offset < replica->log.start() || part.offset > replica->log.end()) {
    out.error = Error::offset_out_of_range;
    answer.parts.push_back(out);
    return;
  }
  const std::int64_t past = r.read_committed && cluster_.values().reads_past_stable ? 1 : 0;
  const std::int64_t bound = std::min(fetch_bound(*replica, r.read_committed) + past, out.high_watermark);
  const std::uint64_t limit = std::min(r.max_bytes, cluster_.values().fetch_max_bytes);
  const Vec<LogEntry>& entries = replica->log.entries();
  std::uint64_t taken = 0;
  for (std::size_t i = replica->log.find(part.offset); i < entries.size() && entries[i].base < bound; ++i) {
    const LogEntry& e = entries[i];
    // Limits are soft: the very first batch of an answer comes whole however large it is (since KIP-74).
    const bool fits = taken + e.bytes <= part.max_bytes && bytes + e.bytes <= limit;
    if (bytes > 0 && !fits) {
      if (planted(Plant::kafka_fetch_limit_skips)) out.next_offset = e.end();
      break;
    }
    taken += e.bytes;
    bytes += e.bytes;
    const auto skip = static_cast<std::uint32_t>(std::max<std::int64_t>(part.offset - e.base, 0));
    out.next_offset = e.end();
    out.next_epoch = e.leader_epoch;
    if (e.batch->control != Control::none || e.count == 0) continue;
    const bool skips = r.read_committed && !planted(Plant::kafka_aborted_readable);
    if (skips && replica->lead->ledger.aborted(*e.batch, e.base)) continue;
    ++e.batch->references;
    answer.runs.push_back({e.batch, e.first + skip, e.count - skip, e.base + skip, e.leader_epoch});
  }
  if (out.next_offset == part.offset) return;
  out.runs = static_cast<std::uint32_t>(answer.runs.size()) - out.first_run;
  answer.parts.push_back(out);
}

// ---- long polling
// ----------------------------------------------------------------------------------------------

void Node::park(FetchRequest* r, bool some) {
  auto* parked = arena().make<ParkedFetch>();
  parked->request = r;
  parked->token = next_token_++;
  parked->since = world().now();
  parked_.push_back(parked);
  for (const FetchPart& part : r->parts)
    cluster_.partition(part.place)->replica(index_)->lead->fetches.push_back(parked);
  if (some) wait_no_longer(*parked);
}

/// Something is there, if less than min_bytes: it goes out when max_wait has passed. (An empty answer at that
/// time would only have the client ask the same again: a fetch without data stays parked.)
void Node::wait_no_longer(ParkedFetch& parked) {
  if (parked.timed) return;
  parked.timed = true;
  const Instant at = std::max(parked.since + parked.request->max_wait, world().now());
  world().schedule(at, *this, on_fetch_wait, 0, parked.token);
}

void Node::unpark(ParkedFetch* parked) {
  for (const FetchPart& part : parked->request->parts) {
    const Replica* replica = cluster_.partition(part.place)->replica(index_);
    if (replica->lead != nullptr) std::erase(replica->lead->fetches, parked);
  }
  std::erase(parked_, parked);
  arena().recycle(parked);
}

/// The readable end of a partition moved.
void Node::wake(Leadership& lead) {
  for (std::size_t i = 0; i < lead.fetches.size();) {
    ParkedFetch* parked = lead.fetches[i];
    bool some = false;
    if (fetchable(*parked->request, some)) {
      FetchRequest* r = parked->request;
      unpark(parked);
      answer_fetch(r);
    } else {
      if (some) wait_no_longer(*parked);
      ++i;
    }
  }
}

void Node::fetch_waited(std::uint32_t token) {
  const auto at = std::find_if(parked_.begin(), parked_.end(), [&](auto* p) { return p->token == token; });
  if (at == parked_.end()) return;
  FetchRequest* r = (*at)->request;
  unpark(*at);
  answer_fetch(r);
}

}  // namespace mqlab::sim::kafka
