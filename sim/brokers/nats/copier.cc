#include "sim/brokers/nats/copier.h"

#include <algorithm>

#include "sim/brokers/nats/cluster.h"
#include "sim/brokers/nats/stream.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// How often it is checked whether anything was heard in as long. [stream.go sourceHealthCheckInterval]
constexpr Duration health_check = Duration::seconds(10);
}  // namespace

Copier::Copier(NatsCluster& cluster, Stream& from, Stream& to, std::uint32_t index, std::uint32_t origin)
    : cluster_(cluster), from_(from), to_(to), index_(index), origin_(origin) {}

bool Copier::hears() const {
  const World& world = cluster_.world();
  return receiver_ != no_process && sender_ != no_process && sender_ == from_.replicas().leader() &&
         cluster_.stores(sender_) && sender_life_ == world.incarnation(sender_) &&
         (sender_ == receiver_ || cluster_.world().network().reachable(sender_, receiver_));
}

void Copier::begin() {
  const World& world = cluster_.world();
  ++session_;
  next_ = to_.next_of(origin_);
  receiver_ = to_.replicas().leader();
  sender_ = from_.replicas().leader();
  sender_life_ = sender_ == no_process ? 0 : world.incarnation(sender_);
  begun_ = world.now();
  watching_ = false;
  ++generation_;
  offer();
}

void Copier::offer() {
  if (!hears() || next_ > from_.last()) return;
  Arena& arena = cluster_.arena();
  auto* copies = arena.make<Copies>(arena);
  copies->session = session_;
  std::uint32_t bytes = 0;
  for (; next_ <= from_.last(); ++next_) {
    if (!from_.has(next_)) continue;
    copies->messages.push_back({next_, from_.log()[next_], from_.log().payload(next_)});
    bytes += copies->messages.back().record.size + deliver_overhead_bytes;
  }
  const auto a = reinterpret_cast<std::uint64_t>(copies);
  Node& to = cluster_.node(receiver_);
  if (sender_ == receiver_) {
    cluster_.world().soon(to, NodeEvent::copied, a, index_);
  } else {
    cluster_.world().network().send(sender_, to, bytes, NodeEvent::copied, a, index_);
  }
}

void Copier::arrived(ProcessId node, Copies* copies) {
  if (copies->session == session_ && to_.replicas().leads(node)) {
    for (const Copies::One& one : copies->messages) to_.copy(origin_, one);
    to_.packet_done();
  }
  copies->~Copies();
  cluster_.arena().recycle(copies);
}

/// What a stream's own server restores with it begins with it.
void Copier::is_back(const Stream& stream) {
  const bool with_it = &stream == &from_ && from_.replicas().leader() == to_.replicas().leader();
  if (&stream == &to_ || with_it) begin();
}

void Copier::look() {
  const World& world = cluster_.world();
  const ProcessId leader = to_.replicas().leader();
  if (leader == no_process || !cluster_.stores(leader)) return;
  if (hears()) {
    watching_ = false;
    ++generation_;
    offer();
  } else if (!watching_) {
    watching_ = true;
    // The first check that finds silence of its length.
    const std::int64_t checks = (world.now() + health_check - begun_).ns / health_check.ns + 1;
    cluster_.world().schedule(begun_ + health_check * checks, cluster_.node(leader), NodeEvent::copy_check, 0,
                              index_, ++generation_);
  }
}

void Copier::check(std::uint32_t generation) {
  if (generation != generation_) return;
  begin();
  look();
}

}  // namespace mqlab::sim::nats
