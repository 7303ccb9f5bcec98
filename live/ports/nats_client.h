// nats.c held safely: owners that free, errors as exceptions, one way to connect.
#pragma once
#include <nats/nats.h>

#include <functional>
#include <memory>
#include <string>

#include "core/base/time.h"
#include "core/scenario/scenario.h"

namespace mqlab::live::nats {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* p) const {
    Free(p);
  }
};
using ConnectionPtr = std::unique_ptr<natsConnection, Freed<natsConnection_Destroy>>;
using ContextPtr = std::unique_ptr<jsCtx, Freed<jsCtx_Destroy>>;
using SubscriptionPtr = std::unique_ptr<natsSubscription, Freed<natsSubscription_Destroy>>;
using MessagePtr = std::unique_ptr<natsMsg, Freed<natsMsg_Destroy>>;
using StreamInfoPtr = std::unique_ptr<jsStreamInfo, Freed<jsStreamInfo_Destroy>>;
using ConsumerInfoPtr = std::unique_ptr<jsConsumerInfo, Freed<jsConsumerInfo_Destroy>>;
using MetaPtr = std::unique_ptr<jsMsgMetaData, Freed<jsMsgMetaData_Destroy>>;

struct ConnectionSettings {
  std::string urls;                               ///< comma-separated
  std::string name;                               ///< shown in the server's monitoring
  Duration ping_interval = Duration::seconds(1);  ///< the lab's own; a process has its scenario's
  int max_pings_out = 2;
  Duration reconnect_wait = Duration::millis(100);
  Duration reconnect_jitter = Duration::millis(20);
  Duration connect_timeout = Duration::seconds(2);
  bool send_asap = false;  ///< each write at once, not by the library's flusher
  Properties access;       ///< [live]'s properties
};

/// [live]'s properties as options. Throws PortError; no value shows in it.
void reach(natsOptions* options, const Properties& properties);

/// Told of the connection's fate on a thread of the library's.
struct ConnectionWatcher {
  std::function<void()> down, up;
};

/// Throws PortError. `watcher` may be null, else it must outlive the connection.
ConnectionPtr connect(const ConnectionSettings& settings, ConnectionWatcher* watcher);
ContextPtr jetstream(natsConnection* connection, jsOptions* options);

/// The library's last error on this thread, with its status.
std::string describe(natsStatus status);
/// Throws PortError unless the status is NATS_OK.
void require(natsStatus status, const std::string& what);

}  // namespace mqlab::live::nats
