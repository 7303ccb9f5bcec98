#include "core/modules/transactional_stage.h"

#include <algorithm>
#include <cstring>

#include "core/base/plant.h"

namespace mqlab {

TransactionalStage::TransactionalStage(Arena& arena, const TransactionalSettings& settings,
                                       const ModuleContext& context)
    : settings_(settings),
      handling_(settings.handling, context),
      arena_(arena),
      batch_(arena),
      first_(arena),
      after_(arena) {}

void TransactionalStage::handle(const Now& now, const Event& event, Effects& effects) {
  react(now, event, effects);
  while (step_ == Step::ready) work(now, effects);
}

void TransactionalStage::react(const Now& now, const Event& event, Effects& effects) {
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
      // Comes while this loop waits in a fetch: no transaction is open. One that is (the partitions are lost)
      // must not be committed any more.
      if (step_ == Step::working || step_ == Step::offsets) abort(effects);
      effects.release(event.places, event.generation);
      break;
    case EventKind::stop:
      stopping_ = true;
      if (step_ == Step::fetching) step_ = Step::halted;
      break;
    case EventKind::tick:
      if (step_ == Step::working && now.mono >= wake_) worked(now, effects);
      break;
    default:
      break;
  }
}

void TransactionalStage::fetch(Effects& effects) {
  step_ = stopping_ ? Step::halted : Step::fetching;
  if (!stopping_) effects.fetch(0, settings_.batch);
}

void TransactionalStage::delivered(const Event& event, Effects& effects) {
  if (event.messages.empty()) return fetch(effects);
  for (Message m : event.messages) {
    if (m.payload.size > 0) {
      auto* kept = static_cast<std::byte*>(arena_.allocate(m.payload.size));
      std::memcpy(kept, m.payload.data, m.payload.size);
      m.payload.data = kept;
    }
    batch_.push_back(m);
    const auto at =
        std::find_if(after_.begin(), after_.end(), [&](const auto& p) { return p.place == m.place; });
    if (at == after_.end()) {
      first_.push_back({m.place, m.position});
      after_.push_back({m.place, m.position + 1});
    } else {
      at->position = m.position + 1;
    }
  }
  next_ = 0;
  attempt_ = 1;
  step_ = Step::beginning;
  effects.begin_transaction();
}

void TransactionalStage::work(const Now& now, Effects& effects) {
  if (next_ == batch_.size() && planted(Plant::txn_leaves_offsets_out)) {
    step_ = Step::committing;
    effects.commit_transaction();
    return;
  }
  if (next_ == batch_.size()) {
    step_ = Step::offsets;
    effects.offsets_to_transaction(after_, generation_);
    return;
  }
  const Message& m = batch_[next_];
  step_ = Step::working;
  effects.handle(m);
  wake_ = now.mono + handling_.service_time(m, attempt_);
  if (wake_ <= now.mono) worked(now, effects);
}

void TransactionalStage::worked(const Now& now, Effects& effects) {
  Message result = batch_[next_];
  result.cause = result.id;
  std::uint8_t output = 0;
  if (handling_.fails(batch_[next_], attempt_)) {
    const RetrySpec& retry = handling_.retry();
    if (retry.style == RetrySpec::Style::in_place && attempt_ < retry.attempts) {
      ++attempt_;
      wake_ = now.mono + handling_.backoff(attempt_ - 1) + handling_.service_time(batch_[next_], attempt_);
      return;
    }
    if (!settings_.has_dead_letter) {
      effects.complete(batch_[next_], Outcome::fail);
      ++next_;
      attempt_ = 1;
      step_ = Step::ready;
      return;
    }
    output = settings_.dead_letter;
  }
  effects.publish(output, result);
  ++next_;
  attempt_ = 1;
  step_ = Step::ready;
}

void TransactionalStage::settled(const Settlement& s, Effects& effects) {
  const bool ok = s.outcome == Outcome::ok;
  if (!ok && gone_for_good(s)) {
    step_ = Step::halted;
    return effects.exit();
  }
  if (s.of == Kind::publish) {
    // From offsets to commit its failure is told by the request that ends the transaction.
    if (!ok && (step_ == Step::ready || step_ == Step::working || step_ == Step::offsets)) abort(effects);
    return;
  }
  if (s.of != awaited()) return;  // of a step that was given up for an abort
  if (ok) return done(effects);
  failed(s.error, effects);
}

bool TransactionalStage::gone_for_good(const Settlement& s) const {
  const bool for_good = s.error == ErrorClass::fenced || s.error == ErrorClass::fatal;
  return for_good && step_ != Step::halted && step_ != Step::fetching;
}

/// What the module asked for last, and waits for.
Kind TransactionalStage::awaited() const {
  switch (step_) {
    case Step::beginning:
      return Kind::begin;
    case Step::offsets:
      return Kind::offsets_to_transaction;
    case Step::committing:
      return Kind::commit_transaction;
    case Step::aborting:
      return Kind::abort_transaction;
    case Step::rewinding:
      return Kind::seek;
    default:
      return Kind::fetch;
  }
}

void TransactionalStage::done(Effects& effects) {
  switch (step_) {
    case Step::beginning:
      step_ = Step::ready;
      break;
    case Step::offsets:
      step_ = Step::committing;
      effects.commit_transaction();
      break;
    case Step::committing:
      end(Outcome::ok, effects);
      break;
    case Step::aborting:
      if (planted(Plant::txn_skips_rewind)) return end(Outcome::fail, effects);
      step_ = Step::rewinding;
      effects.seek(first_);
      break;
    case Step::rewinding:
      end(Outcome::fail, effects);
      break;
    default:
      break;
  }
}

void TransactionalStage::failed(ErrorClass error, Effects& effects) {
  const bool again = error == ErrorClass::retriable;
  switch (step_) {
    case Step::beginning:
      effects.begin_transaction();
      break;
    case Step::offsets:
      if (!again) return abort(effects);
      effects.offsets_to_transaction(after_, generation_);
      break;
    case Step::committing:
      if (!again) return abort(effects);
      effects.commit_transaction();  // its outcome is open: asking again is the only safe way on
      break;
    case Step::aborting:
      effects.abort_transaction();
      break;
    case Step::rewinding:
      end(Outcome::fail, effects);  // the partition is gone: its next owner rewinds
      break;
    default:
      break;
  }
}

void TransactionalStage::abort(Effects& effects) {
  step_ = Step::aborting;
  effects.abort_transaction();
}

void TransactionalStage::end(Outcome outcome, Effects& effects) {
  for (const Message& m : batch_) {
    if (outcome == Outcome::ok) effects.complete(m, outcome);
    if (m.payload.size > 0) arena_.deallocate(const_cast<std::byte*>(m.payload.data), m.payload.size);
  }
  batch_.clear();
  first_.clear();
  after_.clear();
  fetch(effects);
}

}  // namespace mqlab
