#include "core/modules/concurrent_stage.h"

#include <algorithm>
#include <cstring>

#include "core/base/plant.h"

namespace mqlab {

void HandledOffsets::done(std::int64_t position) {
  newest_ = std::max(newest_, position + 1);
  for (std::uint32_t i = 0; i < open_.size(); ++i) {
    if (open_[i].position == position) open_[i].done = true;
  }
  while (!open_.empty() && open_.front().done) {
    contiguous_ = open_.front().position + 1;
    open_.pop_front();
  }
}

ConcurrentStage::ConcurrentStage(Arena& arena, const StageSettings& settings, const ModuleContext& context)
    : settings_(settings),
      handling_(settings.handling, context),
      capabilities_(context.capabilities),
      arena_(arena),
      slots_(arena),
      waiting_(arena),
      offsets_(arena),
      paused_(arena),
      scratch_(arena) {
  slots_.resize(settings.concurrency);
}

Instant ConcurrentStage::deadline() const {
  Instant next = Instant::never();
  bool idle = false;
  for (const Slot& slot : slots_) {
    idle = idle || slot.state == Slot::State::idle;
    if (slot.state == Slot::State::working || slot.state == Slot::State::backing_off)
      next = std::min({next, slot.wake, slot.progress_at});
  }
  if (settings_.levels.empty() || !idle) return next;
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) next = std::min(next, waiting_[i].due);
  return next;
}

void ConcurrentStage::handle(const Now& now, const Event& event, Effects& effects) {
  react(now, event, effects);
  dispatch(now, effects);
  maybe_commit(effects);
  maybe_fetch(effects);
}

void ConcurrentStage::react(const Now& now, const Event& event, Effects& effects) {
  switch (event.kind) {
    case EventKind::delivered:
      return delivered(now, event, effects);
    case EventKind::settled:
      for (const Settlement& s : event.settlements) settled(s, effects);
      return;
    case EventKind::assigned:
      generation_ = event.generation;
      effects.accept(event.places, event.generation);
      return;
    case EventKind::revoking:
      return revoked(event, effects);
    case EventKind::stop:
      stopping_ = true;
      return;
    case EventKind::tick:
      return tick(now, effects);
    default:
      return;
  }
}

// ---- what comes in
// ---------------------------------------------------------------------------------------------------

void ConcurrentStage::maybe_fetch(Effects& effects) {
  if (stopping_ || fetch_open_) return;
  std::uint32_t ready = 0;
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    const Message& m = waiting_[i].message;
    if (std::find(paused_.begin(), paused_.end(), m.place) == paused_.end()) ++ready;
  }
  for (const Slot& slot : slots_) ready += slot.state != Slot::State::idle;
  if (ready >= settings_.concurrency) return;
  fetch_open_ = true;
  effects.fetch(0, settings_.batch);
}

void ConcurrentStage::delivered(const Now& now, const Event& event, Effects& effects) {
  fetch_open_ = false;
  for (Message m : event.messages) {
    if (m.payload.size > 0) {
      auto* kept = static_cast<std::byte*>(arena_.allocate(m.payload.size));
      std::memcpy(kept, m.payload.data, m.payload.size);
      m.payload.data = kept;
    }
    Instant due = now.mono;
    const RetryLevel* level = level_of(m.place);
    if (level != nullptr && level->level > 0) due = now.mono + (m.timestamp + level->wait - now.wall);
    waiting_.push_back({m, due});
    if (log()) offsets_of(m.place)->delivered(m.position);
    if (due > now.mono) pause(m.place, effects);
  }
}

void ConcurrentStage::tick(const Now& now, Effects& effects) {
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::working && now.mono >= slot.progress_at && now.mono < slot.wake) {
      effects.progress({&slot.message.receipt, 1});
      slot.progress_at = now.mono + settings_.in_progress;
    }
    if (now.mono < slot.wake) continue;
    if (slot.state == Slot::State::working) {
      worked(slot, now, effects);
    } else if (slot.state == Slot::State::backing_off) {
      work(slot, now, effects);
    }
  }
}

// ---- handlers
// --------------------------------------------------------------------------------------------------------

/// Starts what may be started, in the order of delivery.
void ConcurrentStage::dispatch(const Now& now, Effects& effects) {
  for (std::uint32_t i = 0; i < waiting_.size();) {
    const auto idle = std::find_if(slots_.begin(), slots_.end(),
                                   [](const Slot& s) { return s.state == Slot::State::idle; });
    if (idle == slots_.end()) return;
    if (!free_to_start(waiting_[i], now)) {
      ++i;
      continue;
    }
    idle->message = waiting_[i].message;
    idle->attempt = 1;
    idle->orphan = false;
    for (std::uint32_t k = i; k > 0; --k) waiting_[k] = waiting_[k - 1];
    waiting_.pop_front();
    maybe_resume(idle->message.place, effects);
    work(*idle, now, effects);
  }
}

bool ConcurrentStage::free_to_start(const Waiting& waiting, const Now& now) const {
  if (waiting.due > now.mono) return false;
  if (settings_.serial == Serial::none) return true;
  return std::none_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    if (slot.state == Slot::State::idle || slot.message.place != waiting.message.place) return false;
    return settings_.serial == Serial::partition || slot.message.key == waiting.message.key;
  });
}

void ConcurrentStage::work(Slot& slot, const Now& now, Effects& effects) {
  slot.state = Slot::State::working;
  effects.handle(slot.message);
  slot.wake = now.mono + handling_.service_time(slot.message, slot.attempt);
  slot.progress_at = capabilities_.in_progress ? now.mono + settings_.in_progress : Instant::never();
  if (slot.wake <= now.mono) worked(slot, now, effects);
}

void ConcurrentStage::worked(Slot& slot, const Now& now, Effects& effects) {
  const RetryLevel* level = level_of(slot.message.place);
  const std::uint32_t attempt = slot.attempt + (level != nullptr ? level->level : 0);
  if (handling_.fails(slot.message, attempt)) return failed(slot, now, effects);
  if (!settings_.output && !settings_.store) return done(slot, Outcome::ok, effects);
  put(slot, 0, effects);
}

/// Set aside in the next retry topic, tried again here after a wait, given back to the queue, or given up.
void ConcurrentStage::failed(Slot& slot, const Now& now, Effects& effects) {
  const RetrySpec& retry = handling_.retry();
  const RetryLevel* level = level_of(slot.message.place);
  if (level != nullptr && level->has_next) return put(slot, level->next, effects);
  const std::uint32_t attempts = capabilities_.negative_ack ? slot.message.attempt : slot.attempt;
  if (retry.style == RetrySpec::Style::in_place && attempts < retry.attempts) {
    effects.complete(slot.message, Outcome::fail);
    if (capabilities_.negative_ack) {
      effects.nack({&slot.message.receipt, 1}, handling_.backoff(attempts));
      return clear(slot);
    }
    ++slot.attempt;
    slot.state = Slot::State::backing_off;
    slot.wake = now.mono + handling_.backoff(slot.attempt - 1);
    slot.progress_at = Instant::never();
    return;
  }
  if (settings_.has_dead_letter) return put(slot, settings_.dead_letter, effects);
  done(slot, Outcome::fail, effects);
}

void ConcurrentStage::put(Slot& slot, std::uint8_t output, Effects& effects) {
  slot.state = Slot::State::publishing;
  slot.output = output;
  Message result = slot.message;
  result.cause = slot.message.id;
  if (settings_.store && output == 0 && !(settings_.has_dead_letter && settings_.dead_letter == 0)) {
    const StoreWrite write = {result.id, result.id, result.digest, result.payload};
    slot.op = effects.store_write({&write, 1}, -1);
  } else {
    slot.op = effects.publish(output, result);
  }
}

void ConcurrentStage::settled(const Settlement& s, Effects& effects) {
  if (s.op == commit_op_ && commit_op_ != 0) {
    // A refused commit leaves the work to be done again by whoever owns it now; what is ours still is
    // committed with the next.
    commit_op_ = 0;
    if (s.outcome == Outcome::ok) return;
    for (HandledOffsets* offsets : offsets_) offsets->committed = -1;
    return;
  }
  if (s.of != Kind::publish && s.of != Kind::store_write) return;
  for (Slot& slot : slots_) {
    if (slot.state != Slot::State::publishing || slot.op != s.op) continue;
    if (s.outcome != Outcome::ok && s.error != ErrorClass::fatal && s.error != ErrorClass::fenced)
      return put(slot, slot.output, effects);  // at least once: again until it is known to be there
    const bool result = s.of == Kind::store_write || own(slot.output);
    return done(slot, s.outcome == Outcome::ok && result ? Outcome::ok : Outcome::fail, effects);
  }
}

void ConcurrentStage::done(Slot& slot, Outcome outcome, Effects& effects) {
  const Message& m = slot.message;
  effects.complete(m, outcome);
  dirty_ = true;
  if (!slot.orphan && log()) offsets_of(m.place)->done(m.position);
  if (!log()) effects.ack({&m.receipt, 1});
  clear(slot);
}

void ConcurrentStage::clear(Slot& slot) {
  drop(slot.message);
  slot = {};
}

void ConcurrentStage::drop(const Message& message) {
  const Bytes payload = message.payload;
  if (payload.size > 0) arena_.deallocate(const_cast<std::byte*>(payload.data), payload.size);
}

// ---- offsets
// ---------------------------------------------------------------------------------------------------------

HandledOffsets* ConcurrentStage::offsets_of(PlaceId place) {
  for (HandledOffsets* offsets : offsets_) {
    if (offsets->place() == place) return offsets;
  }
  offsets_.push_back(arena_.make<HandledOffsets>(arena_, place));
  return offsets_.back();
}

const RetryLevel* ConcurrentStage::level_of(PlaceId place) const {
  for (const RetryLevel& level : settings_.levels) {
    if (place >= level.first_place && place < level.first_place + level.partitions) return &level;
  }
  return nullptr;
}

/// One commit at a time; what is done meanwhile goes into the next.
void ConcurrentStage::maybe_commit(Effects& effects) {
  if (commit_op_ == 0 && dirty_) commit(effects);
}

void ConcurrentStage::commit(Effects& effects) {
  dirty_ = false;
  if (!log() || settings_.commit == CommitMode::automatic) return;
  scratch_.clear();
  for (HandledOffsets* offsets : offsets_) {
    const bool newest = settings_.commit_newest || planted(Plant::stage_commits_unfinished);
    const std::int64_t to = newest ? offsets->newest() : offsets->up_to_unfinished();
    if (to <= offsets->committed) continue;
    offsets->committed = to;
    scratch_.push_back({offsets->place(), to});
  }
  if (scratch_.empty()) return;
  commit_op_ = effects.commit(scratch_, settings_.commit == CommitMode::sync, generation_);
}

/// What is done is committed, what waits is left to the next owner; handlers at work end, for nothing.
void ConcurrentStage::revoked(const Event& event, Effects& effects) {
  const auto gone = [&](PlaceId place) {
    return std::any_of(event.places.begin(), event.places.end(),
                       [&](const PlacePosition& p) { return p.place == place; });
  };
  if (!event.lost) commit(effects);
  for (std::uint32_t n = waiting_.size(); n > 0; --n) {
    const Waiting w = waiting_.front();
    waiting_.pop_front();
    if (gone(w.message.place)) {
      drop(w.message);
    } else {
      waiting_.push_back(w);
    }
  }
  for (Slot& slot : slots_) slot.orphan = slot.orphan || gone(slot.message.place);
  std::erase_if(offsets_, [&](HandledOffsets* offsets) {
    if (!gone(offsets->place())) return false;
    std::destroy_at(offsets);
    arena_.recycle(offsets);
    return true;
  });
  std::erase_if(paused_, gone);
  effects.release(event.places, event.generation);
}

// ---- retry topics
// ----------------------------------------------------------------------------------------------------

void ConcurrentStage::pause(PlaceId place, Effects& effects) {
  if (std::find(paused_.begin(), paused_.end(), place) != paused_.end()) return;
  paused_.push_back(place);
  const PlacePosition one = {place, -1};
  effects.pause({&one, 1});
}

/// Nothing of the place waits any more.
void ConcurrentStage::maybe_resume(PlaceId place, Effects& effects) {
  const auto at = std::find(paused_.begin(), paused_.end(), place);
  if (at == paused_.end()) return;
  for (std::uint32_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].message.place == place) return;
  }
  paused_.erase(at);
  const PlacePosition one = {place, -1};
  effects.resume({&one, 1});
}

}  // namespace mqlab
