// Connections that are not read from for a while, and the quotas that may be the reason.
// Rules: kafka SocketServer, KafkaChannel.ChannelMuteState, ClientQuotaManager,
// KafkaApis.handleProduceRequest, handleFetchRequest.
#include <algorithm>

#include "sim/brokers/kafka/node.h"
#include "sim/brokers/kafka/plan.h"
#include "sim/brokers/kafka/quota.h"
#include "sim/brokers/kafka/requests.h"

namespace mqlab::sim::kafka {

Connection* Node::find_connection(const Request& r) {
  const auto at = std::find_if(connections_.begin(), connections_.end(), [&](const Connection* c) {
    return c->client == r.reply_to && c->channel == r.channel && c->generation == r.generation;
  });
  return at == connections_.end() ? nullptr : *at;
}

/// One that the client made anew is read at once, whatever became of the one before.
Connection& Node::connection(const Request& r) {
  if (Connection* known = find_connection(r)) return *known;
  std::erase_if(connections_, [&](Connection* c) {
    if (c->process != r.from || c->channel != r.channel) return false;
    if (!c->idle(world().now())) {
      close(*c);
      return false;
    }
    destroy(arena(), c);
    return true;
  });
  auto* fresh = arena().make<Connection>(arena());
  fresh->client = r.reply_to;
  fresh->process = r.from;
  fresh->channel = r.channel;
  fresh->generation = r.generation;
  fresh->token = next_token_++;
  connections_.push_back(fresh);
  return *fresh;
}

/// True when the request has to wait for its turn on its connection. Requests of other kinds do so only while
/// the connection is muted: nothing else keeps a node busy for longer than it takes to read the next one.
bool Node::hold(Request* r) {
  if (r->kind != RequestKind::produce && rates_.empty()) return false;  // no quotas: nobody is muted
  Connection* c = find_connection(*r);
  if (c == nullptr) return false;
  const bool muted = c->muted_until > world().now();
  if (!muted && (r->kind != RequestKind::produce || c->idle(world().now()))) return false;
  for (std::uint32_t i = 0; r->kind == RequestKind::fetch && i < c->queued.size(); ++i) {
    if (c->queued[i]->kind != RequestKind::fetch) continue;  // as in Node::fetch: the later one counts
    std::swap(r, c->queued[i]);
    drop(r);
    return true;
  }
  c->queued.push_back(r);
  return true;
}

void Node::mute(Connection& c, Duration time) {
  if (time.ns <= 0) return;
  c.muted_until = world().now() + time;
  world().schedule(c.muted_until, *this, on_unmute, 0, c.token);
}

void Node::unmute(std::uint32_t token) {
  const auto at = std::find_if(connections_.begin(), connections_.end(),
                               [&](const Connection* c) { return c->token == token; });
  if (at != connections_.end()) go_on(**at);
}

void Node::go_on(Connection& c) {
  while (!c.busy && c.muted_until <= world().now() && !c.queued.empty()) {
    Request* next = c.queued.front();
    c.queued.pop_front();
    if (c.reads_left == 0) {
      drop(next);
      continue;
    }
    if (c.reads_left != 0xff) --c.reads_left;
    carry_out(next);
  }
}

/// The client has closed a connection that is muted. The node does not see it before it reads again: it
/// carries out what comes first, whose answer has the client's side reset the connection, and the next, whose
/// answer cannot be written. The rest is gone. (Seen on Kafka 4.1.1: of six requests that a client gave up
/// two were stored.)
void Node::close(Connection& c) {
  if (c.muted_until > world().now() && c.reads_left == 0xff) c.reads_left = 2;
}

/// Of a client that is gone. Only what a muted connection holds is left to be read; an answer that nobody
/// waits for is not made.
void Node::close_connections(ProcessId process) {
  std::erase_if(connections_, [&](Connection* c) {
    if (c->process != process) return false;
    const bool muted = c->muted_until > world().now();
    for (std::uint32_t left = c->queued.size(); left > 0; --left) {
      Request* r = c->queued.front();
      c->queued.pop_front();
      if (muted && r->kind == RequestKind::produce) {
        c->queued.push_back(r);
      } else {
        drop(r);
      }
    }
    close(*c);
    if (!muted) destroy(arena(), c);
    return !muted;
  });
}

// ---- quotas
// -----------------------------------------------------------------------------------------------

/// nullptr for a client without quotas.
ClientRates* Node::rates(ProcessId process) {
  if (!cluster_.plan().quota(process).any()) return nullptr;
  if (rates_.size() <= process) rates_.resize(process + 1, nullptr);
  if (rates_[process] == nullptr) {
    const KafkaBroker& values = cluster_.values();
    rates_[process] = arena().make<ClientRates>(arena(), values.quota_samples, values.quota_window);
  }
  return rates_[process];
}

/// When the request is answered, whatever the answer.
Duration Node::charge_produce(const ProduceRequest& r) {
  const std::uint64_t quota = cluster_.plan().quota(r.from).produce;
  if (quota == 0) return {};
  SampledRate& rate = rates(r.from)->produced;
  rate.record(r.bytes, world().now());
  return rate.throttle(quota, world().now());
}

/// What is not given out is not counted. (ClientQuotaManager.unrecordQuotaSensor)
Duration Node::charge_fetch(const FetchRequest& r, std::uint64_t bytes) {
  const std::uint64_t quota = cluster_.plan().quota(r.from).consume;
  if (quota == 0) return {};
  SampledRate& rate = rates(r.from)->fetched;
  const auto size = static_cast<std::int64_t>(bytes + r.frame);
  rate.record(size, world().now());
  const Duration throttle = rate.throttle(quota, world().now());
  if (throttle.ns > 0) rate.record(-size, world().now());
  return throttle;
}

/// No more than an idle client may read at once. (ClientQuotaManager.maxValueInQuotaWindow)
void Node::cap_fetch(FetchRequest& r) const {
  const std::uint64_t quota = cluster_.plan().quota(r.from).consume;
  if (quota == 0) return;
  const KafkaBroker& values = cluster_.values();
  const std::uint64_t windows = values.quota_samples - 1;
  const auto seconds = static_cast<std::uint64_t>(values.quota_window.ns / 1'000'000'000);
  constexpr std::uint64_t most = 0x7fff'ffff;
  const auto cap = static_cast<std::uint32_t>(std::min(quota * windows * seconds, most));
  r.max_bytes = std::min(r.max_bytes, cap);
  r.min_bytes = std::min(r.min_bytes, r.max_bytes);
}

}  // namespace mqlab::sim::kafka
