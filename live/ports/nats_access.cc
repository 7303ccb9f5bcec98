// Getting into a cluster of the user's own: [live] properties as nats.c's options.
#include <algorithm>

#include "live/port.h"
#include "live/ports/nats_client.h"

namespace mqlab::live::nats {
namespace {

/// A property's value, "" when absent.
std::string value_of(const Properties& properties, std::string_view key) {
  const Property* found = find(properties, key);
  return found == nullptr ? "" : expanded(found->value, found->key);
}

void check(natsStatus status, std::string_view key) {
  if (status == NATS_OK) return;
  throw PortError("live.properties." + std::string(key) +
                  ": nats.c does not take it: " + natsStatus_GetText(status));
}

void encrypt(natsOptions* options, const Properties& properties) {
  const std::string ca = value_of(properties, "tls.ca");
  const std::string certificate = value_of(properties, "tls.cert");
  const std::string key = value_of(properties, "tls.key");
  if (ca.empty() && certificate.empty() && value_of(properties, "tls") != "true") return;
  check(natsOptions_SetSecure(options, true), "tls");
  if (!ca.empty()) check(natsOptions_LoadCATrustedCertificates(options, ca.c_str()), "tls.ca");
  if (!certificate.empty())
    check(natsOptions_LoadCertificatesChain(options, certificate.c_str(), key.c_str()), "tls.cert");
}

}  // namespace

void reach(natsOptions* options, const Properties& properties) {
  static const std::vector<std::string_view> known = {"user", "password", "token",    "creds",
                                                      "tls",  "tls.ca",   "tls.cert", "tls.key"};
  for (const Property& p : properties) {
    if (std::ranges::find(known, p.key) != known.end()) continue;
    throw PortError(
        "live.properties." + p.key +
        ": no such setting; there are user, password, token, creds, tls, tls.ca, tls.cert, tls.key");
  }
  const std::string user = value_of(properties, "user");
  if (!user.empty()) {
    const std::string password = value_of(properties, "password");
    check(natsOptions_SetUserInfo(options, user.c_str(), password.c_str()), "user");
  }
  const std::string token = value_of(properties, "token");
  if (!token.empty()) check(natsOptions_SetToken(options, token.c_str()), "token");
  const std::string creds = value_of(properties, "creds");
  if (!creds.empty())
    check(natsOptions_SetUserCredentialsFromFiles(options, creds.c_str(), nullptr), "creds");
  encrypt(options, properties);
}

}  // namespace mqlab::live::nats
