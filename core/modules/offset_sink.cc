#include "core/modules/offset_sink.h"

#include <array>
#include <cstring>

#include "core/base/plant.h"

namespace mqlab {
namespace {

/// Keys of the store: offsets lie above all rows.
std::uint64_t offset_key(PlaceId place) { return (std::uint64_t{1} << 63) | place; }
std::uint64_t row_key(const Message& m) {
  return (std::uint64_t{m.place} << 40) | static_cast<std::uint64_t>(m.position);
}

}  // namespace

OffsetSink::OffsetSink(Arena& arena, const OffsetSinkSettings& settings, const ModuleContext& context)
    : settings_(settings),
      handling_(settings.handling, context),
      batch_(arena),
      start_(arena),
      read_ops_(arena) {}

void OffsetSink::handle(const Now& now, const Event& event, Effects& effects) {
  react(now, event, effects);
  while (step_ == Step::ready) {
    effects.handle(batch_.front());
    wake_ = now.mono + handling_.service_time(batch_.front(), 1);
    step_ = Step::working;
    if (wake_ <= now.mono) write(effects);
  }
}

void OffsetSink::react(const Now& now, const Event& event, Effects& effects) {
  switch (event.kind) {
    case EventKind::start:
      fetch(effects);
      break;
    case EventKind::delivered:
      for (const Message& m : event.messages) {
        batch_.push_back(m);
        batch_.back().payload = {};
      }
      if (batch_.empty()) {
        fetch(effects);
      } else {
        step_ = Step::ready;
      }
      break;
    case EventKind::assigned:
      assigned(event, effects);
      break;
    case EventKind::revoking:
      effects.release(event.places, event.generation);
      break;
    case EventKind::settled:
      for (const Settlement& s : event.settlements) settled(s, effects);
      break;
    case EventKind::tick:
      if (step_ == Step::working && now.mono >= wake_) write(effects);
      break;
    case EventKind::stop:
      stopping_ = true;
      if (step_ == Step::fetching) step_ = Step::stopped;
      break;
    default:
      break;
  }
}

void OffsetSink::fetch(Effects& effects) {
  step_ = stopping_ ? Step::stopped : Step::fetching;
  if (!stopping_) effects.fetch(0, settings_.batch);
}

void OffsetSink::assigned(const Event& event, Effects& effects) {
  generation_ = event.generation;
  start_.assign(event.places.begin(), event.places.end());
  read_ops_.clear();
  for (const PlacePosition& p : start_) read_ops_.push_back(effects.store_read(offset_key(p.place)));
  reads_ = static_cast<std::uint32_t>(start_.size());
  if (reads_ == 0) effects.accept(start_, generation_);
}

void OffsetSink::settled(const Settlement& s, Effects& effects) {
  if (s.of == Kind::store_read) {
    for (std::size_t i = 0; i < read_ops_.size(); ++i) {
      if (read_ops_[i] != s.op) continue;
      start_[i].position = -1;  // nothing stored yet: the broker's reset policy decides
      if (s.value.size == sizeof(std::int64_t))
        std::memcpy(&start_[i].position, s.value.data, sizeof(std::int64_t));
      if (--reads_ == 0) effects.accept(start_, generation_);
    }
  } else if (s.of == Kind::store_write && step_ == Step::writing) {
    if (s.outcome != Outcome::ok) return write(effects);
    effects.complete(batch_.front(), Outcome::ok);
    batch_.pop_front();
    if (batch_.empty()) {
      fetch(effects);
    } else {
      step_ = Step::ready;
    }
  }
}

void OffsetSink::write(Effects& effects) {
  const Message& m = batch_.front();
  const std::int64_t next = m.position + (planted(Plant::sink_offset_ahead) ? 2 : 1);
  const std::array<StoreWrite, 2> rows = {
      StoreWrite{row_key(m), m.id, m.digest, {}},
      StoreWrite{offset_key(m.place), 0, 0, {reinterpret_cast<const std::byte*>(&next), sizeof(next)}}};
  step_ = Step::writing;
  effects.store_write(rows, -1);
}

}  // namespace mqlab
