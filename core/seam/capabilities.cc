#include "core/seam/capabilities.h"

namespace mqlab {

bool Capabilities::allow(Kind effect) const {
  switch (effect) {
    case Kind::commit:
    case Kind::seek:
    case Kind::pause:
    case Kind::resume:
      return log;
    case Kind::accept:
    case Kind::release:
    case Kind::leave:
      return groups;
    case Kind::ack:
      return queue;
    case Kind::nack:
      return negative_ack;
    case Kind::progress:
      return in_progress;
    case Kind::terminate:
      return terminate;
    case Kind::begin:
    case Kind::offsets_to_transaction:
    case Kind::commit_transaction:
    case Kind::abort_transaction:
      return transactions;
    case Kind::store_read:
    case Kind::store_write:
      return store;
    case Kind::call:
      return services;
    default:
      return true;
  }
}

}  // namespace mqlab
