// What a simulated broker offers the rest of the world.
#pragma once
#include <memory>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/faults/anchor.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "core/seam/capabilities.h"
#include "core/seam/effect.h"
#include "sim/component.h"

namespace mqlab::sim {

class World;
class Process;

/// A client library inside one incarnation of a process. Lives in the arena and is dropped with the
/// incarnation.
class Client {
 public:
  virtual ~Client() = default;
  /// Starts an effect; the answer comes by Process::post, never from inside this call.
  virtual void carry_out(const Effect& effect) = 0;
  /// Called once, before the process's `start` event.
  virtual void start() {}
  /// Clean shutdown (SIGTERM after the module's stop): leave the group, flush.
  virtual void close() {}
};

/// One broker cluster: its nodes are components owned by the broker processes. Lives in the arena.
class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual Client* connect(Process& process) = 0;
  /// The node that leads this place now; no_process when none does.
  virtual ProcessId leader(PlaceId place) const = 0;
  /// After the quiet point: audit and audit_end rows for all its places, offset audits for its groups.
  virtual void audit() = 0;
  /// Whether a topic has all its partitions. grow() makes those that are missing.
  virtual bool grown(TopicId topic) const {
    (void)topic;
    return true;
  }
  virtual void grow(TopicId topic) { (void)topic; }
  /// A node's disk has room again; true when it does not go on before it was started anew.
  virtual bool restarts_for_disk(ProcessId node) {
    (void)node;
    return false;
  }
  /// A node is asked to stop (SIGTERM). True when it will end its process itself, by World::kill; else it has
  /// nothing to do first.
  virtual bool stop(ProcessId node) {
    (void)node;
    return false;
  }
};

/// A broker's settings, read and checked once; makes the cluster of each run.
class ClusterPlan {
 public:
  virtual ~ClusterPlan() = default;
  virtual Cluster* make(World& world) const = 0;
  virtual Capabilities capabilities(ProcessId process) const = 0;
  /// How long the system must have been idle before it counts as at rest: beyond session, acknowledgement
  /// wait, delivery and transaction timeouts as the scenario sets them.
  virtual Duration settle() const = 0;
};

}  // namespace mqlab::sim
