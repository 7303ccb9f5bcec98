// The transaction coordinator of one node. First protocol (transaction versions 0 and 1): the epoch stays
// from one transaction to the next. Second (version 2): each end raises it. State lies in the log of the
// transactional id's partition of
// __transaction_state. Rules: kafka TransactionCoordinator, TransactionMetadata, TransactionStateManager,
// TransactionMarkerChannelManager.
#pragma once
#include <cstdint>

#include "sim/brokers/kafka/node.h"

namespace mqlab::sim::kafka {

enum class TransactionState : std::uint8_t {
  empty,
  ongoing,
  prepare_commit,
  prepare_abort,
  complete_commit,
  complete_abort
};

constexpr bool preparing(TransactionState s) {
  return s == TransactionState::prepare_commit || s == TransactionState::prepare_abort;
}
/// After this one comes a new producer id (TransactionMetadata.isEpochExhausted).
inline constexpr std::int16_t last_epoch_of_an_id = 32'766;

/// What the log holds of a transactional id.
struct TransactionData {
  explicit TransactionData(Arena& arena) : places(arena) {}
  std::int64_t producer = -1;
  std::int16_t epoch = -1;
  std::int16_t last_epoch = -1;  ///< before the latest raise that its own producer asked for (KIP-360)
  std::int64_t previous = -1;    ///< producer id before the latest, when that one's epochs were used up
  std::int64_t following = -1;   ///< producer id from the transaction's completion on, when they are
  TransactionState state = TransactionState::empty;
  Duration timeout = {};
  Instant start = {};   ///< of the ongoing transaction: its first partition
  Vec<PlaceId> places;  ///< partitions in the transaction, groups' offsets among them
};

struct Transaction {
  explicit Transaction(Arena& arena) : now(arena), next(arena), markers(arena), led(arena) {}
  struct Led {
    PlaceId place = no_place;
    std::uint32_t epoch = 0;
  };
  struct Marker {
    PlaceId place = no_place;
    std::uint32_t sent_epoch = 0xffff'ffff;  ///< leader epoch it was sent to last
    bool under_way = false;
    bool done = false;
  };
  std::uint32_t number = 0;
  bool moving = false;   ///< `next` is being written
  bool watched = false;  ///< a look at its timeout is scheduled
  TransactionData now;
  TransactionData next;
  std::uint32_t round = 0;  ///< counts transactions that ended
  Vec<Marker> markers;      ///< while in a prepare state
  Vec<Led> led;             ///< redpanda#6018: leader epochs as its partitions came in; gone with this node
};

class TransactionCoordinator {
 public:
  explicit TransactionCoordinator(Node& node) : node_(node), transactions_(node.arena()) {}

  // Requests; each takes it over.
  void init(InitProducerIdRequest* request);
  void add(AddPartitionsToTxnRequest* request);
  void add(AddOffsetsToTxnRequest* request);
  void end(EndTxnRequest* request);

  /// Fills in the verdict on partitions of an ongoing transaction, or adds them; sends it back unless the
  /// asker is this node and only asks.
  void verify(Verification* verification);
  /// At a leader: appends markers; the answer follows when they are replicated.
  void write_markers(MarkerRequest* request);
  void marked(MarkerRequest* request);
  /// The place has another leader or epoch: markers may have to go there.
  void leader_changed(PlaceId place);
  void finished(Pending* pending, std::uint32_t part, Error error);
  void timer(const SimEvent& event);
  void load(const Partition& partition);
  void resign(std::uint32_t transactional_id);

 private:
  enum Timer : std::uint32_t { look, retry };  ///< SimEvent::y; x = transactional id
  struct PendingTransaction : Pending {
    std::uint32_t number = 0;
    Request* request = nullptr;  ///< answered when written
    Error answer = Error::none;
    Verification* verification = nullptr;  ///< told when written
  };
  struct PendingMarkers : Pending {
    MarkerRequest* request = nullptr;
  };

  Transaction* find(std::uint32_t number);
  Error check(const Transaction& t, std::int64_t producer, std::int16_t epoch) const;
  void add_places(Request* request, std::uint32_t number, std::int64_t producer, std::int16_t epoch,
                  const Vec<PlaceId>& places);
  Error prepare_add(Transaction& t, std::int64_t producer, std::int16_t epoch, const Vec<PlaceId>& places,
                    bool& changes);
  void keep_in_memory(Transaction& t);
  bool led_by_others(const Transaction& t) const;
  void add(Verification* verification);
  void tell(Verification* verification, Error error);
  void end_first(Transaction& t, EndTxnRequest* request);
  void end_second(Transaction& t, EndTxnRequest* request);
  void reply_identity(Request* request, const TransactionData& data);
  Error raise(Transaction& t, const InitProducerIdRequest& request);
  void fence(Transaction& t, Request* request, Error answer);
  void write(Transaction& t, Request* request, Error answer = Error::none,
             Verification* verification = nullptr);
  Batch* image(const TransactionData& data) const;
  void written(PendingTransaction* pending, Error error);
  void applied(Transaction& t);
  void watch(Transaction& t);
  void look_at(Transaction& t);
  void begin_markers(Transaction& t);
  void send_markers(Transaction& t);
  void marker_written(PendingMarkers* pending, std::uint32_t part, Error error);
  void retry_later(const Transaction& t);

  Node& node_;
  Vec<Transaction*> transactions_;  ///< by transactional id
};

}  // namespace mqlab::sim::kafka
