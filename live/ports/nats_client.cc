#include "live/ports/nats_client.h"

#include <vector>

#include "live/port.h"

namespace mqlab::live::nats {
namespace {

using OptionsPtr = std::unique_ptr<natsOptions, Freed<natsOptions_Destroy>>;

void on_down(natsConnection*, void* watcher) { static_cast<ConnectionWatcher*>(watcher)->down(); }
void on_up(natsConnection*, void* watcher) { static_cast<ConnectionWatcher*>(watcher)->up(); }
// Without a handler the library prints to stderr; errors of consequence come back with the operation.
void on_error(natsConnection*, natsSubscription*, natsStatus, void*) {}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string describe(natsStatus status) {
  natsStatus last = NATS_OK;
  const char* text = nats_GetLastError(&last);
  std::string what = natsStatus_GetText(status);
  if (last == status && text != nullptr && *text != '\0') what += std::string(": ") + text;
  return what;
}

void require(natsStatus status, const std::string& what) {
  if (status != NATS_OK) throw PortError(what + ": " + describe(status));
}

ConnectionPtr connect(const ConnectionSettings& settings, ConnectionWatcher* watcher) {
  natsOptions* raw = nullptr;
  require(natsOptions_Create(&raw), "NATS options");
  const OptionsPtr options(raw);
  const std::vector<std::string> urls = split(settings.urls);
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  require(natsOptions_SetServers(raw, servers.data(), static_cast<int>(servers.size())),
          "NATS address " + settings.urls);
  reach(raw, settings.access);
  natsOptions_SetName(raw, settings.name.c_str());
  natsOptions_SetMaxReconnect(raw, -1);
  natsOptions_SetReconnectWait(raw, settings.reconnect_wait.ns / 1'000'000);
  natsOptions_SetReconnectJitter(raw, settings.reconnect_jitter.ns / 1'000'000,
                                 settings.reconnect_jitter.ns / 1'000'000);
  natsOptions_SetPingInterval(raw, settings.ping_interval.ns / 1'000'000);
  natsOptions_SetMaxPingsOut(raw, settings.max_pings_out);
  natsOptions_SetTimeout(raw, settings.connect_timeout.ns / 1'000'000);
  natsOptions_SetSendAsap(raw, settings.send_asap);
  natsOptions_SetErrorHandler(raw, on_error, nullptr);
  if (watcher != nullptr) {
    natsOptions_SetDisconnectedCB(raw, on_down, watcher);
    natsOptions_SetReconnectedCB(raw, on_up, watcher);
  }
  natsConnection* connection = nullptr;
  require(natsConnection_Connect(&connection, raw), "no connection to NATS at " + settings.urls);
  return ConnectionPtr(connection);
}

ContextPtr jetstream(natsConnection* connection, jsOptions* options) {
  jsCtx* context = nullptr;
  require(natsConnection_JetStream(&context, connection, options), "JetStream");
  return ContextPtr(context);
}

}  // namespace mqlab::live::nats
