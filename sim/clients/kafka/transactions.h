// Transactions. The first protocol is what librdkafka speaks to brokers of every version (rdkafka_txnmgr.c),
// and Java's client where transaction.version is below 2; the second what it speaks from 4.0 on
// (TransactionManager, KIP-890): partitions are added by the first write, and the end's answer brings the
// next epoch.
#pragma once
#include <cstdint>

#include "core/seam/effect.h"
#include "core/seam/event.h"
#include "sim/clients/kafka/pack.h"
#include "sim/clients/kafka/timer.h"
#include "sim/clients/kafka/wire.h"

namespace mqlab::sim::kafka::client {

class KafkaClient;
class Producer;

class Transactions {
 public:
  Transactions(KafkaClient& client, Producer& producer);

  /// init_transactions; a begin waits for it.
  void start();

  // ---- effects ----
  void begin(const Effect& effect);
  void offsets(const Effect& effect);
  void commit(const Effect& effect);
  void abort(const Effect& effect);

  // ---- for the producer ----
  bool may_publish() const { return state_ == State::open; }
  /// Why it may not.
  ErrorClass failure() const;
  /// A record for this partition was appended.
  void writes_to(std::uint32_t partition);
  bool may_send(const OutPartition& partition) const { return partition.transaction == number_; }
  bool hurry() const { return state_ == State::committing || state_ == State::aborting; }
  /// Failed batches are not sent again.
  bool gives_up() const { return state_ == State::aborting || state_ == State::dead; }
  void record_failed(ErrorClass error, Error code);
  /// Nothing is queued or in flight any more.
  void flushed() { advance(); }
  void node_usable();

  // ---- what happens ----
  void coordinator_found(const FindCoordinatorAnswer& answer, bool of_transaction);
  void coordinator_failed(bool of_transaction);
  void initialised(const InitProducerIdAnswer& answer);
  void ended(const Pending& pending, const EndTxnAnswer& answer);
  void answered(const Pending& pending, Error error);
  void again_fired(const SimEvent& event);
  void limit_fired(const SimEvent& event);
  void coordinator_fired(const SimEvent& event);

 private:
  enum class State : std::uint8_t {
    initialising,  ///< also after an abort that needs a new epoch
    ready,
    open,
    committing,  ///< flushing, then EndTxn
    aborting,
    failed,  ///< can only be aborted
    dead,    ///< fenced, or an error without way on
  };
  enum class Step : std::uint8_t { idle, add, commit };  ///< of offsets_to_transaction
  enum class Act : std::uint8_t { none, again, elsewhere, abort, fenced, fatal };
  static Act act(Error error);

  void advance();
  void initialise();
  void add_partitions();
  void send_offsets();
  void end();
  void partitions_added(Error error);
  void offsets_answered(Error error, bool added);
  void ended(Error error);
  void completed();
  void fail(Error error);
  void die(ErrorClass error, Error code);
  void settle(OpId& op, Kind of, Outcome outcome, ErrorClass error = ErrorClass::none,
              Error code = Error::none);
  void later(Instant& at, Duration delay);
  void limit();
  std::uint64_t identity_context() const;

  KafkaClient& client_;
  Producer& producer_;
  const bool java_;
  const bool second_;  ///< protocol
  State state_ = State::initialising;
  ErrorClass why_ = ErrorClass::none;  ///< dead: fenced or fatal
  Error code_ = Error::none;           ///< failed or dead: the first error
  std::uint32_t number_ = 0;           ///< of the current transaction
  bool touched_ = false;               ///< the coordinator may know of it: EndTxn is due
  bool requested_ = false;             ///< InitProducerId is under way
  bool adding_ = false;                ///< AddPartitionsToTxn is
  bool ending_ = false;                ///< EndTxn is
  bool offering_ = false;              ///< AddOffsetsToTxn or TxnOffsetCommit is
  bool end_open_ = false;              ///< an EndTxn of this transaction ended without telling
  bool unclaimed_ = false;             ///< it ended after the call had timed out; the next call learns of it
  std::uint32_t attempts_ = 0;
  Coordinator coordinator_;
  Coordinator group_coordinator_;
  OpId begin_op_ = 0;
  OpId offsets_op_ = 0;
  OpId end_op_ = 0;
  Step step_ = Step::idle;
  Vec<std::uint32_t> waiting_;    ///< partitions to be added
  Vec<std::uint32_t> asked_;      ///< partitions of the request under way
  std::uint32_t generation_ = 0;  ///< of the group metadata that goes with the offsets
  Vec<CommittedOffset> offsets_;
  Instant init_at_ = {}, add_at_ = {}, offsets_at_ = {}, end_at_ = {};
  Timer again_, limit_;
};

}  // namespace mqlab::sim::kafka::client
