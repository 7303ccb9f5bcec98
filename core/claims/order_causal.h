// What order.causal knows of a run: who sent what, after having handled what.
#pragma once
#include <cstdint>
#include <vector>

#include "core/claims/paged.h"
#include "core/history/row.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

namespace mqlab {

/// Publishes and handler starts in their order, and from them, once all is seen, for each publish how many of
/// each sender's publishes it depends on (a vector clock: Fidge 1988, Mattern 1989). A sender is one
/// incarnation of a process: what it knew dies with it.
class Causes {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  struct Publish {
    MessageId id = 0;
    std::uint32_t sender = 0;
    std::uint32_t number = 0;  ///< among its sender's, from 1
    std::uint32_t transaction = 0;
    PlaceId place = no_place;  ///< where it was acked
    bool failed = false;
    std::int64_t position = -1;
    std::uint64_t row = 0;
    std::uint32_t before = none;  ///< the publish of the same id before it
    ProcessId process = no_process;
  };

  Causes(const Scenario& scenario, const Topology& topology);

  static std::uint64_t kinds();
  void see(const Row& row, std::uint64_t index);
  /// After the last row.
  void settle();
  void reset();

  std::size_t senders() const { return senders_.size(); }
  const std::vector<Publish>& publishes() const { return publishes_; }
  /// Acked, and if in a transaction, in one that was committed.
  bool acked(const Publish& publish) const;
  /// The publish that a record came from: the one acked at its position; else the only one of its id by
  /// anybody who may write there. `none` when that cannot be told.
  std::uint32_t source(MessageId id, PlaceId place, std::int64_t position) const;
  /// How many of the sender's publishes a publish depends on.
  std::uint32_t depends(std::uint32_t publish, std::size_t sender) const {
    const Clock& clock = clocks_[publish];
    return sender < clock.length ? values_[clock.begin + sender] : 0;
  }

 private:
  struct Sender {
    std::uint32_t published = 0;
    std::vector<std::uint32_t> committed;  // transactions, rising
    std::vector<std::uint32_t> clock;      // when all is seen
    Paged<std::uint32_t> by_op;            // publish, plus one
  };
  struct Step {  // of a sender
    std::uint32_t sender;
    std::uint32_t publish;  // none: a handler starts on the record
    MessageId id;
    PlaceId place;
    std::int64_t position;
  };
  struct Clock {
    std::uint64_t begin = 0;
    std::uint32_t length = 0;
  };

  std::uint32_t sender_of(const Row& row);
  void see_publish(const Row& row, std::uint64_t index);
  void handled(const Step& step);

  std::vector<TopicId> topic_;                       // by place
  std::vector<std::vector<std::uint8_t>> writes_;    // by topic and process: whether it may write there
  std::vector<std::vector<std::uint32_t>> numbers_;  // by process and incarnation: its sender, plus one
  std::vector<Sender> senders_;
  std::vector<Publish> publishes_;
  std::vector<Step> steps_;
  Paged<std::uint32_t> last_of_;  // by id: its last publish, plus one
  Positions<std::uint32_t> at_;   // by position: the publish acked there, plus one
  std::vector<Clock> clocks_;     // by publish
  std::vector<std::uint32_t> values_;
};

}  // namespace mqlab
