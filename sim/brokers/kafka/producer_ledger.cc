#include "sim/brokers/kafka/producer_ledger.h"

#include <algorithm>

#include "core/base/plant.h"

namespace mqlab::sim::kafka {

const ProducerLedger::Producer* ProducerLedger::find(std::int64_t id) const {
  for (const Producer& p : producers_) {
    if (p.id == id) return &p;
  }
  return nullptr;
}

ProducerLedger::Check ProducerLedger::check(const Batch& batch, bool second_protocol) const {
  if (batch.producer < 0 || planted(Plant::kafka_dedup_off)) return {};
  const Producer* p = find(batch.producer);
  if (p == nullptr) {  // state lost or never there: any sequence is taken (ProducerAppendInfo.checkSequence)
    return {second_protocol && batch.first_sequence != 0 ? Error::out_of_order_sequence : Error::none, -1};
  }
  if (batch.epoch < p->epoch) return {Error::invalid_producer_epoch, -1};
  const std::int32_t last = sequence_after(batch.first_sequence, batch.count - 1);
  if (batch.epoch == p->epoch) {
    for (std::uint32_t i = 0; i < p->count; ++i) {
      if (p->sent[i].first == batch.first_sequence && p->sent[i].last == last)
        return {Error::none, p->sent[i].base};
    }
  }
  const std::int32_t expected =
      batch.epoch != p->epoch || p->count == 0 ? 0 : sequence_after(p->last_sequence(), 1);
  if (batch.first_sequence != expected) return {Error::out_of_order_sequence, -1};
  if (!batch.transactional && p->open_first >= 0) return {Error::invalid_txn_state, -1};
  return {};
}

Error ProducerLedger::check_epoch(std::int64_t producer, std::int16_t epoch) const {
  const Producer* p = find(producer);
  return p != nullptr && epoch < p->epoch ? Error::invalid_producer_epoch : Error::none;
}

Error ProducerLedger::check_marker(std::int64_t producer, std::int16_t epoch,
                                   std::int32_t coordinator_epoch) const {
  const Producer* p = find(producer);
  if (p == nullptr) return Error::none;
  if (epoch < p->epoch) return Error::invalid_producer_epoch;
  if (coordinator_epoch < p->coordinator_epoch) return Error::transaction_coordinator_fenced;
  return Error::none;
}

bool ProducerLedger::opens_transaction(const Batch& batch) const {
  if (!batch.transactional || batch.control != Control::none) return false;
  const Producer* p = find(batch.producer);
  return p == nullptr || p->open_first < 0 || p->epoch != batch.epoch;
}

bool ProducerLedger::guarded(std::int64_t producer, std::uint32_t token) const {
  return std::any_of(guards_.begin(), guards_.end(),
                     [&](const Guard& g) { return g.producer == producer && g.token == token; });
}

void ProducerLedger::appended(const Batch& batch, std::int64_t base) {
  if (batch.producer < 0) return;
  auto* p = const_cast<Producer*>(find(batch.producer));
  if (p == nullptr) {
    producers_.push_back({});
    p = &producers_.back();
    p->id = batch.producer;
  }
  if (batch.epoch != p->epoch) {  // a new epoch forgets the window
    p->epoch = batch.epoch;
    p->count = p->next = 0;
  }
  if (batch.control != Control::none) {
    end_transaction(*p, batch, base);
    return;
  }
  p->sent[p->next] = {batch.first_sequence, sequence_after(batch.first_sequence, batch.count - 1), base};
  p->next = static_cast<std::uint8_t>((p->next + 1) % window);
  if (p->count < window) ++p->count;
  if (batch.transactional && p->open_first < 0) {
    p->open_first = base;
    std::erase_if(guards_, [&](const Guard& g) { return g.producer == p->id; });
  }
}

void ProducerLedger::end_transaction(Producer& p, const Batch& marker, std::int64_t base) {
  std::erase_if(guards_, [&](const Guard& g) { return g.producer == p.id; });
  p.coordinator_epoch = std::max(p.coordinator_epoch, marker.first_sequence);  // see marker_batch()
  if (p.open_first < 0) return;
  const Ended ended = {p.id, p.open_first, base};
  p.open_first = -1;
  unreplicated_.push_back(ended);
  if (marker.control == Control::abort) aborted_.push_back(ended);
}

void ProducerLedger::rebuild(const Log& log) {
  producers_.clear();
  aborted_.clear();
  unreplicated_.clear();
  const Batch* before = nullptr;
  for (const LogEntry& e : log.entries()) {  // (of a compacted log, runs of one batch are one batch)
    if (e.batch != before) appended(*e.batch, e.batch_base());
    before = e.batch;
  }
}

std::int64_t ProducerLedger::last_stable(std::int64_t high_watermark) {
  std::erase_if(unreplicated_, [&](const Ended& e) { return e.marker < high_watermark; });
  std::int64_t first = high_watermark;
  for (const Producer& p : producers_) {
    if (p.open_first >= 0) first = std::min(first, p.open_first);
  }
  for (const Ended& e : unreplicated_) first = std::min(first, e.first);
  return first;
}

bool ProducerLedger::aborted(const Batch& batch, std::int64_t base) const {
  if (!batch.transactional || aborted_.empty()) return false;
  const auto from = std::upper_bound(aborted_.begin(), aborted_.end(), base,
                                     [](std::int64_t o, const Ended& e) { return o < e.marker; });
  for (auto e = from; e != aborted_.end(); ++e) {
    if (e->producer == batch.producer) return e->first <= base;  // its later ones began later still
  }
  return false;
}

bool ProducerLedger::open(const Batch& batch, std::int64_t base) const {
  if (!batch.transactional || batch.control != Control::none) return false;
  const Producer* p = find(batch.producer);
  return p != nullptr && p->open_first >= 0 && p->open_first <= base;
}

}  // namespace mqlab::sim::kafka
