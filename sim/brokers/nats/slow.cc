// Clients that do not read: a paused process, one behind a partition. What is written to them fills the
// kernel's buffers, then the server's; at max_pending, or when a write has waited for write_deadline, the
// server hangs up, and what was not in the kernel yet is lost. [nats-server: client.go queueOutbound,
// handleWriteTimeout]
#include "sim/brokers/nats/cluster.h"
#include "sim/clients/nats/client.h"
#include "sim/world.h"

namespace mqlab::sim::nats {
namespace {
/// Of both sockets. Measured on Linux 6 over loopback with nats-server 2.15.1: 3.97 MB of 30 MB reached a
/// client that did not read.
constexpr std::uint64_t kernel_bytes = 4'000'000;
}  // namespace

bool NatsCluster::reads(const Connection& c) const {
  return world_.running(c.process) && world_.network().reachable(c.node, c.process);
}

/// From the server that has the connection to its client.
void NatsCluster::write(Packet* packet, Duration extra) {
  Connection& c = *packet->connection;
  if (!reads(c)) {
    c.unread += packet->bytes;
    if (c.unread > kernel_bytes) {
      held_back_.push_back(packet);
      if (c.unread - kernel_bytes > values_.server.max_pending) return hang_up(c);
      if (c.blocked != 0) return;
      c.blocked = ++blocked_;
      world_.after(values_.server.write_deadline, node(c.node), NodeEvent::write_deadline,
                   reinterpret_cast<std::uint64_t>(&c), c.epoch, c.blocked);
      return;
    }
  }
  world_.network().send(c.node, *c.client, packet->bytes, ClientEvent::packet,
                        reinterpret_cast<std::uint64_t>(packet), 0, 0, extra);
}

/// Clients read again.
void NatsCluster::unblock() {
  for (Connection* c : connections_) {
    if (c->unread == 0 || !reads(*c)) continue;
    c->unread = 0;
    c->blocked = 0;
  }
  for (std::uint32_t n = held_back_.size(); n > 0; --n) {
    Packet* packet = held_back_.front();
    held_back_.pop_front();
    packet->connection->blocked == 0 ? write(packet) : held_back_.push_back(packet);
  }
}

void NatsCluster::write_deadline(Connection& c, std::uint32_t epoch, std::uint32_t write) {
  if (c.served == epoch && c.blocked == write) hang_up(c);
}

void NatsCluster::hang_up(Connection& c) {
  world_.network().send(c.node, *c.client, 0, ClientEvent::disconnected, 0, c.epoch);
  client_gone(&c, c.epoch);
}

void NatsCluster::drop_held_back(Connection& c) {
  c.unread = 0;
  c.blocked = 0;
  for (std::uint32_t n = held_back_.size(); n > 0; --n) {
    Packet* packet = held_back_.front();
    held_back_.pop_front();
    packet->connection == &c ? discard(packet) : held_back_.push_back(packet);
  }
}

}  // namespace mqlab::sim::nats
