#include "core/seam/driver.h"

namespace mqlab {
namespace {

Phase phase_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok: return Phase::ok;
    case Outcome::fail: return Phase::fail;
    case Outcome::unknown: return Phase::unknown;
  }
  return Phase::unknown;
}

void fill(Row& row, const Message& m) {
  row.message = m.id;
  row.cause = m.cause;
  row.key = m.key;
  row.size = m.size;
  row.digest = m.digest;
  row.place = m.place;
  row.position = m.position;
  row.attempt = static_cast<std::uint16_t>(m.attempt);
}

/// A header row, then one row per element. Anchors see the header only, once everything is written.
template <class Element, class Fill>
bool write_batch(Host& host, Row head, std::span<const Element> elements, Fill fill_row) {
  head.flags |= flag::header;
  head.aux = static_cast<std::int64_t>(elements.size());
  const auto put = [&](Row& row, const Row& from) {
    row.op = from.op;
    row.epoch = from.epoch;
    row.flags = from.flags;
    row.aux = from.aux;
  };
  Row& first = host.row(head.kind, head.phase);
  put(first, head);
  const Row anchor = first;
  for (const Element& element : elements) {
    Row& row = host.row(head.kind, head.phase);
    row.op = head.op;
    row.epoch = head.epoch;
    row.flags = static_cast<std::uint16_t>(head.flags & ~flag::header);
    fill_row(row, element);
  }
  return !host.anchored(anchor);
}

bool write_places(Host& host, Kind kind, Phase phase, OpId op, std::uint32_t generation, bool lost,
                  std::span<const PlacePosition> places) {
  Row head;
  head.kind = kind;
  head.phase = phase;
  head.op = op;
  head.epoch = generation;
  head.flags = lost ? flag::lost : std::uint16_t{0};
  return write_batch(host, head, places, [](Row& row, const PlacePosition& p) {
    row.place = p.place;
    row.position = p.position;
  });
}

bool write_invoked(Host& host, const Event& event) {
  for (const Message& m : event.messages) {
    Row& row = host.row(Kind::invoke, Phase::ok);
    fill(row, m);
    row.aux = event.at.ns;
    if (host.anchored(row)) return false;
  }
  return true;
}

bool write_delivered(Host& host, const Event& event) {
  Row& header = host.row(Kind::fetch, Phase::ok);
  header.op = event.op;
  header.flags = flag::header;
  header.aux = static_cast<std::int64_t>(event.messages.size());
  if (host.anchored(header)) return false;
  for (const Message& m : event.messages) {
    Row& row = host.row(Kind::deliver, Phase::ok);
    fill(row, m);
    row.op = event.op;
    row.aux = m.timestamp.ns;
    if (host.anchored(row)) return false;
  }
  return true;
}

bool write_settled(Host& host, const Event& event) {
  for (const Settlement& s : event.settlements) {
    Row& row = host.row(s.of, phase_of(s.outcome));
    row.op = s.op;
    row.message = s.message;
    row.place = s.place;
    row.position = s.position;
    row.code = s.code;
    row.aux = static_cast<std::int64_t>(s.error);
    row.flags = s.duplicate ? flag::duplicate : std::uint16_t{0};
    if (host.anchored(row)) return false;
  }
  return true;
}

Kind life_kind(EventKind kind) {
  switch (kind) {
    case EventKind::start: return Kind::start;
    case EventKind::stop: return Kind::stop;
    case EventKind::blocked: return Kind::blocked;
    case EventKind::unblocked: return Kind::unblocked;
    case EventKind::up: return Kind::up;
    default: return Kind::down;
  }
}

/// Returns false when an anchor ended the process.
bool write_event(Host& host, const Event& event) {
  switch (event.kind) {
    case EventKind::tick: return true;  // a deadline is the module's own doing: nothing happened outside
    case EventKind::invoke: return write_invoked(host, event);
    case EventKind::delivered: return write_delivered(host, event);
    case EventKind::settled: return write_settled(host, event);
    case EventKind::assigned:
      return write_places(host, Kind::assigned, Phase::ok, event.op, event.generation, false, event.places);
    case EventKind::revoking:
      return write_places(host, Kind::revoking, Phase::ok, event.op, event.generation, event.lost, event.places);
    default: return !host.anchored(host.row(life_kind(event.kind), Phase::ok));
  }
}

bool write_receipts(Host& host, const Effect& e) {
  Row head;
  head.kind = e.kind;
  head.op = e.op;
  return write_batch(host, head, e.receipts, [](Row& row, std::uint64_t receipt) {
    row.position = static_cast<std::int64_t>(receipt);
  });
}

bool write_store(Host& host, const Effect& e) {
  Row head;
  head.kind = e.kind;
  head.op = e.op;
  return write_batch(host, head, e.writes, [](Row& row, const StoreWrite& w) {
    row.message = w.message;
    row.digest = w.digest;
    row.position = static_cast<std::int64_t>(w.key);
    row.size = w.value.size;
  });
}

/// Returns false when an anchor ended the process.
bool write_effect(Host& host, const Effect& e) {
  switch (e.kind) {
    case Kind::commit:
    case Kind::offsets_to_transaction:
    case Kind::accept:
    case Kind::release:
    case Kind::seek:
    case Kind::pause:
    case Kind::resume: return write_places(host, e.kind, Phase::invoke, e.op, e.generation, false, e.places);
    case Kind::ack:
    case Kind::nack:
    case Kind::progress:
    case Kind::terminate: return write_receipts(host, e);
    case Kind::store_write: return write_store(host, e);
    default: break;
  }
  Row& row = host.row(e.kind, e.kind == Kind::complete ? phase_of(e.outcome)
                              : e.kind == Kind::handle ? Phase::ok
                                                       : Phase::invoke);
  fill(row, e.message);
  row.op = e.op;
  if (e.kind == Kind::fetch) row.aux = e.max;
  return !host.anchored(row);
}

}  // namespace

bool drive(Module& module, Host& host, Effects& effects, OpId& next_op, const Now& now, const Event& event) {
  host.record(now, event);
  if (!write_event(host, event)) return false;
  effects.begin(next_op);
  module.handle(now, event, effects);
  next_op = effects.next_op();
  for (const Effect& effect : effects.list()) {
    if (!write_effect(host, effect)) return false;
    if (effect.kind != Kind::handle && effect.kind != Kind::complete) host.carry_out(effect);
  }
  return true;
}

}  // namespace mqlab
