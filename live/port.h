// A port to a real system: carries out a module's effects and gives back events. One per incarnation of a
// process.
#pragma once
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/faults/anchor.h"
#include "core/modules/registry.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"
#include "core/seam/capabilities.h"
#include "core/seam/effect.h"
#include "live/event_queue.h"
#include "live/wire.h"
#include "platform/clock.h"

namespace mqlab::live {

/// The environment failed: no broker to be reached, a setting the client library refuses.
class PortError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What a port is told.
struct PortContext {
  const Scenario& scenario;
  const Topology& topology;
  ProcessId process = no_process;
  Incarnation incarnation = 0;
  std::uint64_t seed = 1;
  RunClock clock;
  std::string address;  ///< host:port,… (kafka) or URL (nats)
  std::string tag;      ///< before names on the broker, so that runs can share a cluster; may be empty
  EventQueue& events;
  /// Called on the client's own threads right after it put a request on the wire; may be empty.
  std::function<void(RequestKind)> on_request;
};

class Port {
 public:
  virtual ~Port() = default;
  virtual Capabilities capabilities() const = 0;
  /// Connects; throws PortError. Before the module's `start`.
  virtual void start() = 0;
  /// Starts an effect and returns; the result comes through the queue. Called on the loop's thread only.
  /// `transaction` is the number of the transaction the process is in; 0 = none.
  virtual void carry_out(const Effect& effect, std::uint32_t transaction) = 0;
  /// Whether what is sent from now on is read as it comes, not found later as a backlog.
  virtual bool reading() const { return true; }
  /// Clean shutdown: flushes what is under way for at most `grace`, leaves groups, joins its threads.
  virtual void close(Duration grace) = 0;
};

/// Name on the broker: the scenario's own, behind the tag.
inline std::string tagged(const std::string& name, const std::string& tag) {
  return tag.empty() ? name : tag + "-" + name;
}
/// A value with every ${NAME} in it replaced from the environment. Throws PortError naming `key` and NAME
/// when there is no such variable; the value shows in no error.
std::string expanded(const std::string& value, const std::string& key);

/// "embed-{instance}" → "embed-0".
std::string with_instance(std::string text, std::uint32_t instance);
/// The one broker that a process talks to; throws PortError when its topics lie on several.
const BrokerSpec& broker_of(const Scenario& scenario, const Topology& topology, ProcessId process);

std::unique_ptr<Port> make_kafka_port(const PortContext& context);
std::unique_ptr<Port> make_nats_port(const PortContext& context);
/// The port to the broker the process talks to, with its store behind it when the stage has one.
std::unique_ptr<Port> make_port(const PortContext& context, const std::string& store_file);

}  // namespace mqlab::live
