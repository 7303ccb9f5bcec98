// What happened: the only way the outside world reaches a module.
#pragma once
#include <cstdint>
#include <span>

#include "core/history/row.h"
#include "core/seam/message.h"

namespace mqlab {

enum class EventKind : std::uint8_t {
  start,      ///< first event of an incarnation
  stop,       ///< finish what is at hand, then leave
  invoke,     ///< the workload asks for `messages` to be sent; `at` is the intended time
  delivered,  ///< answer to fetch `op`: `messages`, none for an empty poll
  settled,    ///< effects named in `settlements` came to an end
  assigned,   ///< `places` (position: committed, −1 = none) come with `generation`; answer with accept
  revoking,   ///< `places` go; answer with release. `lost`: they are gone already
  blocked,    ///< the client takes no more publishes for now
  unblocked,
  up,  ///< the connection to the broker is there
  down,
  tick,  ///< the module's deadline has passed
};

enum class Outcome : std::uint8_t { ok, fail, unknown };

/// How an application is expected to react to a failure (the classes of Kafka's and NATS' client errors).
enum class ErrorClass : std::uint8_t {
  none,
  retriable,  ///< try again later
  abortable,  ///< abort the transaction, then go on
  fenced,     ///< another incarnation took over: stop
  fatal,      ///< this client can do nothing more
  full,       ///< local queue full: wait for room
};

/// The end of one effect.
struct Settlement {
  OpId op = 0;
  Kind of = Kind::publish;  ///< the kind of the effect
  Outcome outcome = Outcome::ok;
  ErrorClass error = ErrorClass::none;
  bool duplicate = false;    ///< the broker recognised a repeat and answered with the first position
  std::uint16_t code = 0;    ///< the broker's or client's own error number; 0 = none
  MessageId message = 0;     ///< for publish
  PlaceId place = no_place;  ///< where it went
  std::int64_t position = -1;
  Bytes value = {};  ///< store_read, call: the answer
};

struct Event {
  EventKind kind = EventKind::tick;
  bool lost = false;
  OpId op = 0;
  std::uint32_t generation = 0;
  Instant at = {};
  std::span<const Message> messages = {};
  std::span<const Settlement> settlements = {};
  std::span<const PlacePosition> places = {};
};

}  // namespace mqlab
