#include "live/admin.h"

#include "live/port.h"

namespace mqlab::live {

std::unique_ptr<Admin> make_admin(const AdminContext& context) {
  const BrokerKind kind = context.scenario.brokers[context.broker].kind;
  switch (kind) {
    case BrokerKind::kafka:
      return make_kafka_admin(context);
    case BrokerKind::nats:
      return make_nats_admin(context);
    default:
      throw PortError("no live port to " + std::string(name_of(kind)));
  }
}

}  // namespace mqlab::live
