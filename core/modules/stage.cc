#include "core/modules/stage.h"

#include <algorithm>
#include <cstring>

#include "core/base/plant.h"

namespace mqlab {

Stage::Stage(Arena& arena, const StageSettings& settings, const ModuleContext& context)
    : settings_(settings),
      handling_(settings.handling, context),
      capabilities_(context.capabilities),
      arena_(arena),
      batch_(arena),
      pending_(arena),
      processed_(arena),
      receipts_(arena) {}

Instant Stage::deadline() const {
  return step_ == Step::working || step_ == Step::backing_off ? std::min(wake_, progress_at_)
                                                              : Instant::never();
}

void Stage::handle(const Now& now, const Event& event, Effects& effects) {
  react(now, event, effects);
  while (step_ == Step::ready) work(now, effects);
}

void Stage::react(const Now& now, const Event& event, Effects& effects) {
  switch (event.kind) {
    case EventKind::start:
      fetch(effects);
      break;
    case EventKind::delivered:
      delivered(event, effects);
      break;
    case EventKind::settled:
      for (const Settlement& s : event.settlements) settled(s, effects);
      break;
    case EventKind::assigned:
      generation_ = event.generation;
      effects.accept(event.places, event.generation);
      break;
    case EventKind::revoking:
      revoked(event, effects);
      break;
    case EventKind::stop:
      stopping_ = true;
      if (batch_.empty() && pending_.empty()) step_ = Step::stopped;
      break;
    case EventKind::tick:
      if (now.mono >= progress_at_ && now.mono < wake_ && !batch_.empty()) {
        effects.progress({&batch_.front().receipt, 1});
        progress_at_ = now.mono + settings_.in_progress;
      }
      if (now.mono < wake_) break;
      if (step_ == Step::working)
        worked(now, effects);
      else if (step_ == Step::backing_off)
        step_ = Step::ready;
      break;
    default:
      break;
  }
}

void Stage::fetch(Effects& effects) {
  if (stopping_) {
    step_ = Step::stopped;
    return;
  }
  step_ = Step::fetching;
  fetch_open_ = true;
  effects.fetch(0, settings_.batch);
}

void Stage::delivered(const Event& event, Effects& effects) {
  fetch_open_ = false;
  for (Message m : event.messages) {
    if (m.payload.size > 0) {
      auto* kept = static_cast<std::byte*>(arena_.allocate(m.payload.size));
      std::memcpy(kept, m.payload.data, m.payload.size);
      m.payload.data = kept;
    }
    batch_.push_back(m);
  }
  if (batch_.empty()) return fetch(effects);
  attempt_ = 1;
  if (settings_.before && settings_.commit != CommitMode::automatic) {
    if (log()) {
      for (const Message& m : event.messages) note(m);
      commit_op_ = commit(settings_.commit == CommitMode::sync, effects);
    } else {
      receipts_.clear();
      for (const Message& m : event.messages) receipts_.push_back(m.receipt);
      commit_op_ = effects.ack(receipts_);
    }
    if (settings_.commit == CommitMode::sync) {
      step_ = Step::committing_before;
      return;
    }
  }
  step_ = Step::ready;
}

void Stage::work(const Now& now, Effects& effects) {
  const Message& m = batch_.front();
  step_ = Step::working;
  effects.handle(m);
  wake_ = now.mono + handling_.service_time(m, attempt_);
  progress_at_ =
      capabilities_.in_progress && !settings_.before ? now.mono + settings_.in_progress : Instant::never();
  if (wake_ <= now.mono) worked(now, effects);
}

void Stage::worked(const Now& now, Effects& effects) {
  const Message m = batch_.front();
  if (handling_.fails(m, attempt_)) return failed(now, effects);
  if (!settings_.output && !settings_.store) {
    done(m, Outcome::ok, effects);
    return next(effects);
  }
  put(m, 0, effects);
  if (settings_.publish_waits || settings_.store || !log()) {
    step_ = Step::publishing;
  } else {
    next(effects);
  }
}

/// Tried again here after a wait, given back to the queue, set aside, or given up.
void Stage::failed(const Now& now, Effects& effects) {
  const Message m = batch_.front();
  const RetrySpec& retry = handling_.retry();
  const std::uint32_t attempts = capabilities_.negative_ack ? m.attempt : attempt_;
  if (retry.style == RetrySpec::Style::in_place && attempts < retry.attempts) {
    effects.complete(m, Outcome::fail);
    if (capabilities_.negative_ack && !settings_.before) {
      effects.nack({&m.receipt, 1}, handling_.backoff(attempts));
      return next(effects);
    }
    ++attempt_;
    step_ = Step::backing_off;
    wake_ = now.mono + handling_.backoff(attempt_ - 1);
    return;
  }
  if (settings_.has_dead_letter) {
    put(m, settings_.dead_letter, effects);
    step_ = Step::publishing;
    return;
  }
  done(m, Outcome::fail, effects);
  next(effects);
}

void Stage::put(const Message& message, std::uint8_t output, Effects& effects) {
  Message result = message;
  result.cause = message.id;
  OpId op = 0;
  if (settings_.store && !(settings_.has_dead_letter && output == settings_.dead_letter)) {
    const StoreWrite write = {message.id, message.id, message.digest, message.payload};
    op = effects.store_write({&write, 1}, -1);
  } else {
    op = effects.publish(output, result);
  }
  Message kept = message;
  kept.payload = {};
  pending_.push_back({op, kept, output});
}

void Stage::done(const Message& message, Outcome outcome, Effects& effects) {
  effects.complete(message, outcome);
  if (settings_.before || settings_.commit == CommitMode::automatic) return;
  if (log()) {
    note(message);
  } else {
    effects.ack({&message.receipt, 1});
  }
}

void Stage::take_off() {
  const Bytes payload = batch_.front().payload;
  if (payload.size > 0) arena_.deallocate(const_cast<std::byte*>(payload.data), payload.size);
  batch_.pop_front();
}

void Stage::next(Effects& effects) {
  take_off();
  attempt_ = 1;
  if (!batch_.empty()) {
    step_ = Step::ready;
  } else if (pending_.empty()) {
    end_batch(effects);
  } else {
    step_ = Step::publishing;
  }
}

void Stage::end_batch(Effects& effects) {
  const bool commits = !settings_.before && settings_.commit != CommitMode::automatic && !processed_.empty();
  if (!commits) return fetch(effects);
  commit_op_ = commit(settings_.commit == CommitMode::sync, effects);
  if (settings_.commit == CommitMode::sync) {
    step_ = Step::committing_after;
  } else {
    fetch(effects);
  }
}

void Stage::settled(const Settlement& s, Effects& effects) {
  if (s.op == commit_op_ && commit_op_ != 0) {
    // A refused commit (say, the group moved on) leaves the work to be done again by whoever owns it now.
    commit_op_ = 0;
    if (step_ == Step::committing_before)
      step_ = Step::ready;
    else if (step_ == Step::committing_after)
      fetch(effects);
    return;
  }
  if (s.of != Kind::publish && s.of != Kind::store_write) return;
  for (std::uint32_t i = 0; i < pending_.size(); ++i) {
    if (pending_[i].op != s.op) continue;
    const Pending pending = pending_[i];
    pending_[i] = pending_.front();
    pending_.pop_front();
    const bool again = s.error != ErrorClass::fatal && s.error != ErrorClass::fenced;
    if (s.outcome != Outcome::ok && again && !planted(Plant::stage_drops_failed_publish)) {
      put(pending.message, pending.output,
          effects);  // at least once: published again until it is known to be there
      return;
    }
    const bool set_aside = settings_.has_dead_letter && pending.output == settings_.dead_letter;
    done(pending.message, s.outcome == Outcome::ok && !set_aside ? Outcome::ok : Outcome::fail, effects);
    break;
  }
  if (step_ != Step::publishing || !pending_.empty()) return;
  if (batch_.empty()) {
    end_batch(effects);
  } else {
    next(effects);
  }
}

void Stage::note(const Message& message) {
  const auto at = std::find_if(processed_.begin(), processed_.end(),
                               [&](const auto& p) { return p.place == message.place; });
  if (at == processed_.end()) {
    const std::int64_t more = planted(Plant::stage_commits_one_more) ? 1 : 0;
    processed_.push_back({message.place, message.position + 1 + more});
  } else {
    at->position = std::max(at->position, message.position + 1);
  }
}

OpId Stage::commit(bool sync, Effects& effects) {
  const OpId op = effects.commit(processed_, sync, generation_);
  processed_.clear();
  return op;
}

/// A rebalance comes while this loop waits in a fetch, so nothing is in hand unless the partitions are lost
/// already: then what is left of them must not be touched any more.
void Stage::revoked(const Event& event, Effects& effects) {
  const auto gone = [&](PlaceId place) {
    return std::any_of(event.places.begin(), event.places.end(),
                       [&](const auto& p) { return p.place == place; });
  };
  std::erase_if(processed_, [&](const PlacePosition& p) { return event.lost && gone(p.place); });
  for (std::uint32_t n = batch_.size(), i = 0; i < n; ++i) {
    const Message m = batch_.front();
    const bool in_hand = i == 0 && step_ != Step::fetching;
    if (in_hand || !gone(m.place)) {
      batch_.pop_front();
      batch_.push_back(m);
    } else {
      take_off();
    }
  }
  effects.release(event.places, event.generation);
}

}  // namespace mqlab
