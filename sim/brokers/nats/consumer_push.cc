// Push: messages go to who has subscribed, as fast as flow control lets them.
#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/consumer.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// The window begins at a sixteenth of the limit and doubles with each confirmation. [nats-server:
/// consumer.go JsFlowControlMaxPending, setMaxPendingBytes, processFlowControl]
constexpr std::int64_t most_window = 32 << 20;
/// Bytes in one write. [client.go nbPoolSizeLarge]
constexpr std::uint32_t most_at_once = 65'536;
}  // namespace

void Consumer::subscribe(Connection* connection, std::uint32_t epoch, std::uint32_t port) {
  std::erase_if(subscribers_,
                [&](const Subscriber& s) { return s.connection == connection && s.port == port; });
  subscribers_.push_back({connection, epoch, port, nullptr});
  if (cluster_.stores(stream_.replicas().leader())) deliver();
}

bool Consumer::sends_to(const Connection& connection) const {
  return exists_ && std::ranges::any_of(subscribers_, [&](const Subscriber& s) {
           return s.connection == &connection && s.epoch == connection.epoch;
         });
}

Consumer::Flow Consumer::flow_anew() { return {most_window / 16}; }

/// [loopAndGatherMsgs]
void Consumer::push() {
  if (!exists_ || subscribers_.empty()) return;
  if (acks() && !stream_.replicas().quorum()) return;
  stream_.expire();
  bool stalled = false;
  std::int64_t sequence = 0;
  while ((!values_.flow_control || flow_.under_way <= flow_.window) && next_message(sequence, stalled)) {
    before_update();
    Subscriber& to = pick(sequence);
    if (to.delivery == nullptr) to.delivery = delivery_to(to);
    flow_.sent = cluster_.world().now();
    mark_flow(to, fill(*to.delivery, sequence, to.port));
    if (to.delivery != nullptr && to.delivery->bytes >= most_at_once) {
      send_pushed(to.delivery);
      to.delivery = nullptr;
    }
    after_update();
  }
  for (Subscriber& to : subscribers_) {
    if (to.delivery != nullptr) send_pushed(to.delivery);
    to.delivery = nullptr;
  }
}

/// A fault takes the first message of a creation: its client finds it missing by the number of the next one,
/// or of a heartbeat. [nats.c: src/js.c jsSub_checkOrderedMsg, jsSub_processSequenceMismatch]
void Consumer::send_pushed(Delivery* d) {
  if (loses_first_) {
    loses_first_ = false;
    d->messages.erase(d->messages.begin());
    ++d->first_sequence;
    cluster_.world().after(values_.heartbeat, cluster_.node(stream_.replicas().leader()), NodeEvent::idle, 0,
                           index_, 0);
    if (d->messages.empty() && d->flow_mark == 0) return cluster_.discard(d);
  }
  send_out(d);
}

Delivery* Consumer::delivery_to(const Subscriber& to) {
  auto* d = cluster_.arena().make<Delivery>(cluster_.arena());
  d->connection = to.connection;
  d->epoch = to.epoch;
  d->port = to.port;
  d->serial = serial_;
  d->first_sequence = sequence_;
  return d;
}

/// Of the heartbeats only those are played out that may find a message missing (mark 0), or a mark
/// unconfirmed: they carry it once more, and the client confirms it at once, as its first copy may have been
/// lost with a connection. [sendIdleHeartbeat: Nats-Consumer-Stalled; nats.c: src/conn.c natsConn_processMsg]
void Consumer::idle(std::uint32_t mark) {
  if (mark != flow_.mark || !exists_) return;
  const Instant due = flow_.sent + values_.heartbeat;
  World& world = cluster_.world();
  if (world.now() >= due && !subscribers_.empty()) {
    Delivery* beat = delivery_to(subscribers_.front());
    beat->flow_mark = mark;
    beat->bytes = small_op_bytes;
    send_out(beat);
    flow_.sent = world.now();
  }
  if (mark == 0) return;
  world.schedule(std::max(flow_.sent, world.now() - values_.heartbeat) + values_.heartbeat,
                 cluster_.node(stream_.replicas().leader()), NodeEvent::idle, 0, index_, mark);
}

/// Among the members of a queue group chance decides. [nats-server: client.go processMsgResults]
Consumer::Subscriber& Consumer::pick(std::int64_t sequence) {
  if (subscribers_.size() == 1) return subscribers_.front();
  const auto bits =
      cluster_.world().draw(Purpose::tie, index_, static_cast<std::uint64_t>(sequence), sequence_);
  return subscribers_[below(bits, subscribers_.size())];
}

/// [needFlowControl, sendFlowControl]
void Consumer::mark_flow(Subscriber& to, std::uint32_t bytes) {
  if (!values_.flow_control) return;
  flow_.under_way += bytes;
  if (flow_.mark == 0 && flow_.under_way > flow_.window / 2) {
    flow_.marked = flow_.under_way;
    flow_.mark = to.delivery->flow_mark = ++marks_;
    send_pushed(to.delivery);  // the mark comes right behind this message
    to.delivery = nullptr;
    cluster_.world().after(values_.heartbeat, cluster_.node(stream_.replicas().leader()), NodeEvent::idle, 0,
                           index_, flow_.mark);
  } else if (flow_.mark != 0 && flow_.under_way - flow_.marked >= flow_.window) {
    flow_.marked += bytes;
  }
}

void Consumer::flow_confirmed(std::uint32_t mark) {
  if (mark != flow_.mark || flow_.mark == 0) return;
  flow_.window = std::min(flow_.window * 2, most_window);
  flow_.under_way = std::max<std::int64_t>(flow_.under_way - flow_.marked, 0);
  flow_.mark = 0;
  flow_.marked = 0;
  deliver();
}

}  // namespace mqlab::sim::nats
