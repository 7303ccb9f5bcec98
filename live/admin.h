// The lab's own hand on a broker: it makes topics, asks how far things are, and audits what is stored.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "live/wire.h"
#include "platform/clock.h"

namespace mqlab::live {

struct PlaceState {
  PlaceId place = no_place;
  std::int64_t end = 0;     ///< next offset, or last sequence + 1
  std::int64_t stable = 0;  ///< behind it lie transactions without an outcome; = end where there are none
  std::int64_t bytes = -1;  ///< what it takes on disk; −1 = the broker does not say
  std::string log = {};     ///< its folder in a node's data, where the broker keeps one
};

struct GroupState {
  std::string group;
  std::uint32_t stage = 0;  ///< into Scenario::stages
  PlaceId place = no_place;
  std::int64_t committed = -1;   ///< next position to read; −1 = none
  std::int64_t undelivered = 0;  ///< queues: not yet handed out
  std::int64_t unacked = 0;      ///< queues: handed out, not acknowledged
};

struct SystemState {
  std::vector<PlaceState> places;
  std::vector<GroupState> groups;
  bool whole = true;  ///< every partition has its leader and all replicas in sync
};

/// Where audited records go.
class AuditSink {
 public:
  virtual ~AuditSink() = default;
  struct Record {
    PlaceId place;
    std::int64_t position;
    Instant timestamp;
    std::uint16_t flags;  ///< of Row::flags
  };
  virtual void record(const Record& record, const WireMessage& message) = 0;
  struct Bounds {
    std::int64_t start;  ///< what lies before it was removed; −1 = not told
    std::int64_t end;
  };
  /// The place was read up to its end; not `complete`: it could not be.
  virtual void end(PlaceId place, Bounds bounds, std::int64_t count, bool complete) = 0;
  virtual void committed(PlaceId place, std::int64_t position, std::uint32_t stage) = 0;
};

struct AdminContext {
  const Scenario& scenario;
  const Topology& topology;
  std::uint32_t broker = 0;  ///< into Scenario::brokers
  std::string address;
  std::string tag;
  RunClock clock;
  bool warm = false;  ///< an earlier run on this cluster went the whole way: a short round trip will do
};

class Admin {
 public:
  virtual ~Admin() = default;
  /// Waits until the cluster answers, makes the scenario's topics or streams with their consumers, and
  /// carries a message through a place of its own and back. Throws PortError with what was still missing
  /// after `patience`.
  virtual void setup(Duration patience) = 0;
  /// Deletes what setup() made.
  virtual void remove() = 0;
  virtual SystemState state() = 0;
  /// The node, from 1, that leads a place now; 0 = none.
  virtual std::uint32_t leader(PlaceId place) = 0;
  virtual void audit(AuditSink& sink) = 0;
  /// Makes the partitions that a topic is to get during the run. Throws PortError.
  virtual void grow(TopicId topic) = 0;
  /// For the environment of a result: "nats.c 3.4.1".
  virtual std::string client_version() const = 0;
};

std::unique_ptr<Admin> make_kafka_admin(const AdminContext& context);
std::unique_ptr<Admin> make_nats_admin(const AdminContext& context);
/// Throws PortError for a kind without a live port.
std::unique_ptr<Admin> make_admin(const AdminContext& context);

}  // namespace mqlab::live
