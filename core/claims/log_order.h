// The order of the records of each log, as far as it is known: which ids stand at which positions, and where
// an id stands that nobody was told the position of.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/claims/log_facts.h"

namespace mqlab {

class LogOrder {
 public:
  /// `everything`: of logs that were audited, too, what senders and readers were told counts.
  explicit LogOrder(const LogFacts& facts, bool everything = false);

  struct Record {
    PlaceId place = no_place;
    std::int64_t position = -1;
    MessageId id = 0;
    auto operator<=>(const Record&) const = default;
  };
  /// Every id at every position that counts, once, by place, position and id. Acks count when their
  /// transaction was committed, or one of its records was read; readings always; of a log that was audited,
  /// what was found alone.
  std::span<const Record> records() const { return records_; }
  /// Whether the transaction is known to be committed.
  bool committed(std::uint32_t unit) const { return committed_[unit] != 0; }
  /// How many positions of the log come before.
  std::int64_t index_of(PlaceId place, std::int64_t position) const;
  /// The id that has the position where several were seen: one that stands nowhere else, else the least. 0 =
  /// none.
  MessageId owner(PlaceId place, std::int64_t position) const;
  /// The owners of the positions after `from` and before `to`.
  std::vector<MessageId> between(PlaceId place, std::int64_t from, std::int64_t to) const;
  /// Where the record stands: at `position`, if it owns that; else at the last position it owns. −1 =
  /// nowhere.
  std::int64_t place_of(PlaceId place, std::int64_t position, MessageId id) const;
  /// The last position that the id owns in the log; −1 = none.
  std::int64_t last_of(PlaceId place, MessageId id) const;
  /// Where what was sent stands: at the position of its ack; without one, where its id was found, if it was
  /// sent only once. Position −1 = not known, or not there.
  Record where(const LogSend& send) const;

 private:
  struct Slot {
    std::int64_t position;
    MessageId owner;
  };
  void find_committed(const LogFacts& facts);
  void find_records(const LogFacts& facts, bool everything);
  void find_owners(std::size_t places);
  void find_repeated(const LogFacts& facts);
  PlaceId log_of(MessageId id) const;
  std::vector<Slot>::const_iterator slot(PlaceId place, std::int64_t position) const;

  std::vector<std::uint8_t> committed_;                                       // by unit
  std::vector<Record> records_;                                               // sorted
  std::vector<std::vector<Slot>> slots_;                                      // by place; ascending positions
  std::vector<std::pair<std::pair<PlaceId, MessageId>, std::int64_t>> last_;  // sorted; last owned position
  std::vector<std::pair<MessageId, PlaceId>> log_of_;                         // sorted
  std::vector<MessageId> repeated_;                                           // sent several times; sorted
};

}  // namespace mqlab
