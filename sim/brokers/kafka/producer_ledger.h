// What a partition's leader knows of producers: the last batches of each, open and aborted transactions. It
// is a function of the log alone, so a new leader rebuilds it from its log and followers need none. Rules:
// kafka ProducerStateEntry, ProducerAppendInfo, UnifiedLog.
#pragma once
#include <cstdint>

#include "sim/brokers/kafka/log.h"
#include "sim/brokers/kafka/protocol.h"

namespace mqlab::sim::kafka {

class ProducerLedger {
 public:
  explicit ProducerLedger(Arena& arena)
      : producers_(arena), aborted_(arena), unreplicated_(arena), guards_(arena) {}

  struct Check {
    Error error = Error::none;
    std::int64_t duplicate_of = -1;  ///< base offset of the first append when the batch is a repeat
  };
  /// Whether a client's batch may be appended: epoch, repeats within the last five batches, gap in the
  /// sequence.
  /// `second_protocol`: a producer that is not known here begins with sequence 0.
  Check check(const Batch& batch, bool second_protocol = false) const;
  /// Whether the group coordinator may append for this producer: only the epoch counts.
  Error check_epoch(std::int64_t producer, std::int16_t epoch) const;
  /// Whether a transaction marker may be written (kafka ProducerAppendInfo.checkProducerEpoch,
  /// appendEndTxnMarker).
  Error check_marker(std::int64_t producer, std::int16_t epoch, std::int32_t coordinator_epoch) const;
  /// True when the batch would be the first of its transaction here.
  bool opens_transaction(const Batch& batch) const;

  /// A question to the coordinator whether this producer's transaction is open is under way. A marker voids
  /// it: what the answer says of an earlier transaction lets nothing in (kafka VerificationGuard).
  void guard(std::int64_t producer, std::uint32_t token) { guards_.push_back({producer, token}); }
  bool guarded(std::int64_t producer, std::uint32_t token) const;
  void unguard(std::uint32_t token) {
    std::erase_if(guards_, [&](const Guard& g) { return g.token == token; });
  }

  /// Takes note of what was appended. `base` is its offset.
  void appended(const Batch& batch, std::int64_t base);
  void rebuild(const Log& log);

  /// The last stable offset: the first offset of the earliest transaction that is open, or whose marker is
  /// not yet replicated, else the high watermark.
  std::int64_t last_stable(std::int64_t high_watermark);
  bool aborted(const Batch& batch, std::int64_t base) const;
  bool open(const Batch& batch, std::int64_t base) const;

 private:
  static constexpr std::uint32_t window =
      5;  ///< batches kept per producer (ProducerStateEntry.NUM_BATCHES_TO_RETAIN)
  struct Sent {
    std::int32_t first = -1;
    std::int32_t last = -1;
    std::int64_t base = -1;
  };
  struct Producer {
    std::int64_t id = -1;
    std::int64_t open_first = -1;  ///< first offset of its open transaction
    std::int32_t coordinator_epoch = -1;
    std::int16_t epoch = -1;
    std::uint8_t next = 0;  ///< where the next batch goes in `sent`
    std::uint8_t count = 0;
    Sent sent[window] = {};
    std::int32_t last_sequence() const { return count == 0 ? -1 : sent[(next + window - 1) % window].last; }
  };
  struct Ended {  ///< a transaction with its marker
    std::int64_t producer = -1;
    std::int64_t first = 0;
    std::int64_t marker = 0;
  };
  struct Guard {
    std::int64_t producer = -1;
    std::uint32_t token = 0;
  };
  const Producer* find(std::int64_t id) const;
  void end_transaction(Producer& producer, const Batch& marker, std::int64_t base);

  Vec<Producer> producers_;
  Vec<Ended> aborted_;       // in the order of their markers
  Vec<Ended> unreplicated_;  // markers not yet below the high watermark
  Vec<Guard> guards_;        // lost with the leadership
};

/// Number of a sequence `n` steps after `first`; wraps after 2³¹ − 1 to 0 (kafka
/// DefaultRecordBatch.incrementSequence).
constexpr std::int32_t sequence_after(std::int32_t first, std::uint32_t n) {
  return static_cast<std::int32_t>((static_cast<std::uint64_t>(first) + n) & 0x7fff'ffff);
}

}  // namespace mqlab::sim::kafka
