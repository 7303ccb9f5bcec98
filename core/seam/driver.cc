#include "core/seam/driver.h"

#include <algorithm>

namespace mqlab {
namespace {

Phase phase_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::ok:
      return Phase::ok;
    case Outcome::fail:
      return Phase::fail;
    case Outcome::unknown:
      return Phase::unknown;
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
  if (m.id != 0 && m.tombstone()) row.flags |= flag::tombstone;
}

/// A header row, then one row per element. Anchors see the header only, once everything is written.
template <class Element, class Fill>
Gate write_batch(Host& host, Row head, std::span<const Element> elements, Fill fill_row) {
  const auto put = [&](std::uint16_t flags, std::size_t count) -> Row& {
    Row& row = host.row(head.kind, head.phase);
    row.op = head.op;
    row.epoch = head.epoch;
    row.transaction = head.transaction;
    row.flags = static_cast<std::uint16_t>(head.flags | flags);
    row.aux = static_cast<std::int64_t>(count);
    return row;
  };
  const Row anchor = put(flag::header, elements.size());
  for (const Element& element : elements) fill_row(put(0, 0), element);
  return host.anchored(anchor);
}

Row head_of(Kind kind, Phase phase, OpId op) {
  Row head;
  head.kind = kind;
  head.phase = phase;
  head.op = op;
  return head;
}

Gate write_places(Host& host, Row head, std::span<const PlacePosition> places) {
  return write_batch(host, head, places, [](Row& row, const PlacePosition& p) {
    row.place = p.place;
    row.position = p.position;
  });
}

/// Several rows of one event: the gravest answer counts; after `die` nothing more is written.
template <class Items, class Write>
Gate write_each(const Items& items, Gate gate, Write write) {
  for (const auto& item : items) {
    if (gate == Gate::die) break;
    gate = std::max(gate, write(item));
  }
  return gate;
}

Gate write_invoked(Host& host, const Event& event) {
  return write_each(event.messages, Gate::go, [&](const Message& m) {
    Row& row = host.row(Kind::invoke, Phase::ok);
    fill(row, m);
    row.aux = event.at.ns;
    return host.anchored(row);
  });
}

Gate write_delivered(Host& host, const Event& event) {
  Row& header = host.row(Kind::fetch, Phase::ok);
  header.op = event.op;
  header.flags = flag::header;
  header.aux = static_cast<std::int64_t>(event.messages.size());
  return write_each(event.messages, host.anchored(header), [&](const Message& m) {
    Row& row = host.row(Kind::deliver, Phase::ok);
    fill(row, m);
    row.op = event.op;
    row.aux = m.timestamp.ns;
    return host.anchored(row);
  });
}

bool of_transaction(Kind kind) {
  return kind == Kind::publish || kind == Kind::begin || kind == Kind::offsets_to_transaction ||
         kind == Kind::commit_transaction || kind == Kind::abort_transaction;
}

Gate write_settled(Host& host, DriverState& state, const Event& event) {
  return write_each(event.settlements, Gate::go, [&](const Settlement& s) {
    Row& row = host.row(s.of, phase_of(s.outcome));
    row.op = s.op;
    row.message = s.message;
    row.place = s.place;
    row.position = s.position;
    row.code = s.code;
    row.aux = static_cast<std::int64_t>(s.error);
    row.flags = s.duplicate ? flag::duplicate : std::uint16_t{0};
    if (state.in_transaction && of_transaction(s.of)) row.transaction = state.transaction;
    const bool ends =
        (s.of == Kind::commit_transaction || s.of == Kind::abort_transaction) && s.outcome == Outcome::ok;
    if (ends) state.in_transaction = false;
    return host.anchored(row);
  });
}

Kind life_kind(EventKind kind) {
  switch (kind) {
    case EventKind::start:
      return Kind::start;
    case EventKind::stop:
      return Kind::stop;
    case EventKind::blocked:
      return Kind::blocked;
    case EventKind::unblocked:
      return Kind::unblocked;
    case EventKind::up:
      return Kind::up;
    default:
      return Kind::down;
  }
}

Gate write_event(Host& host, DriverState& state, const Event& event) {
  switch (event.kind) {
    case EventKind::tick:
      return Gate::go;  // a deadline is the module's own doing: nothing happened outside
    case EventKind::invoke:
      return write_invoked(host, event);
    case EventKind::delivered:
      return write_delivered(host, event);
    case EventKind::settled:
      return write_settled(host, state, event);
    case EventKind::assigned:
    case EventKind::revoking: {
      Row head =
          head_of(event.kind == EventKind::assigned ? Kind::assigned : Kind::revoking, Phase::ok, event.op);
      head.epoch = event.generation;
      head.flags = event.lost ? flag::lost : std::uint16_t{0};
      return write_places(host, head, event.places);
    }
    default:
      return host.anchored(host.row(life_kind(event.kind), Phase::ok));
  }
}

Gate write_effect(Host& host, DriverState& state, const Effect& e) {
  if (e.kind == Kind::begin) {
    ++state.transaction;
    state.in_transaction = true;
  }
  Row head = head_of(e.kind, Phase::invoke, e.op);
  head.epoch = e.generation;
  head.transaction = state.in_transaction && of_transaction(e.kind) ? state.transaction : 0;
  switch (e.kind) {
    case Kind::commit:
    case Kind::offsets_to_transaction:
    case Kind::accept:
    case Kind::release:
    case Kind::seek:
    case Kind::pause:
    case Kind::resume:
      return write_places(host, head, e.places);
    case Kind::ack:
    case Kind::nack:
    case Kind::progress:
    case Kind::terminate:
      return write_batch(host, head, e.receipts, [](Row& row, std::uint64_t receipt) {
        row.position = static_cast<std::int64_t>(receipt);
      });
    case Kind::store_write:
      return write_batch(host, head, e.writes, [](Row& row, const StoreWrite& w) {
        row.message = w.message;
        row.digest = w.digest;
        row.position = static_cast<std::int64_t>(w.key);
        row.size = w.value.size;
      });
    default:
      break;
  }
  const Phase phase = e.kind == Kind::complete ? phase_of(e.outcome)
                      : e.kind == Kind::handle ? Phase::ok
                                               : Phase::invoke;
  Row& row = host.row(e.kind, phase);
  fill(row, e.message);
  row.op = e.op;
  row.transaction = head.transaction;
  if (e.kind == Kind::fetch) row.aux = e.max;
  return host.anchored(row);
}

bool settles(const Effect& e) { return e.kind != Kind::handle && e.kind != Kind::complete; }

Gate run_effects(Host& host, DriverState& state, std::span<const Effect> effects) {
  for (std::size_t i = 0; i < effects.size(); ++i) {
    const Gate gate = write_effect(host, state, effects[i]);
    if (gate == Gate::hold) host.defer(effects.subspan(i));
    if (gate != Gate::go) return gate;
    if (settles(effects[i])) host.carry_out(effects[i]);
  }
  return Gate::go;
}

}  // namespace

Gate drive(Module& module, Host& host, Effects& effects, DriverState& state, const Now& now,
           const Event& event) {
  host.record(now, event);
  const Gate gate = write_event(host, state, event);
  if (gate == Gate::hold) host.defer(event);
  if (gate != Gate::go) return gate;
  return drive_deferred(module, host, effects, state, now, event);
}

Gate drive_deferred(Module& module, Host& host, Effects& effects, DriverState& state, const Now& now,
                    const Event& event) {
  effects.begin(state.next_op);
  module.handle(now, event, effects);
  state.next_op = effects.next_op();
  return run_effects(host, state, effects.list());
}

Gate carry_out_deferred(Host& host, DriverState& state, std::span<const Effect> effects) {
  if (effects.empty()) return Gate::go;
  if (settles(effects.front())) host.carry_out(effects.front());
  return run_effects(host, state, effects.subspan(1));
}

}  // namespace mqlab
