// A stage that works on several messages at a time, or sets failed ones aside in retry topics: the loop of
// frameworks with a pool of handlers over one consumer. Handlers end out of order, so what may be committed
// is not what has just been done. Reported of such frameworks: faust-streaming/faust#682,
// confluentinc/parallel-consumer#826.
//
// Retry topics as Spring Kafka's @RetryableTopic has them: what failed is published to the next topic, and
// handled when its wait is over; meanwhile the partition it was read from is paused.
#pragma once
#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/modules/handling.h"
#include "core/modules/stage.h"
#include "core/seam/module.h"

namespace mqlab {

/// Logs: what has been handled of one partition.
class HandledOffsets {
 public:
  HandledOffsets(Arena& arena, PlaceId place) : place_(place), open_(arena) {}

  PlaceId place() const { return place_; }
  void delivered(std::int64_t position) { open_.push_back({position, false}); }
  void done(std::int64_t position);
  /// Next position to read such that all before it is done; −1 = nothing is.
  std::int64_t up_to_unfinished() const { return contiguous_; }
  /// One past the newest that is done, whatever is unfinished before it; −1 = nothing is.
  std::int64_t newest() const { return newest_; }
  std::int64_t committed = -1;

 private:
  struct Entry {
    std::int64_t position;
    bool done;
  };
  PlaceId place_;
  Ring<Entry> open_;  ///< delivered and not covered by contiguous_, by position
  std::int64_t contiguous_ = -1;
  std::int64_t newest_ = -1;
};

class ConcurrentStage final : public Module {
 public:
  ConcurrentStage(Arena& arena, const StageSettings& settings, const ModuleContext& context);
  void handle(const Now& now, const Event& event, Effects& effects) override;
  Instant deadline() const override;

 private:
  struct Waiting {  ///< delivered, not started
    Message message;
    Instant due;  ///< monotonic; later than now only for what comes from a retry topic
  };
  struct Slot {  ///< one handler
    enum class State : std::uint8_t { idle, working, backing_off, publishing } state = State::idle;
    bool orphan = false;  ///< its partition went meanwhile: it is not ours to commit
    std::uint8_t output = 0;
    std::uint32_t attempt = 1;
    OpId op = 0;
    Instant wake = Instant::never();
    Instant progress_at = Instant::never();
    Message message;
  };

  void react(const Now& now, const Event& event, Effects& effects);
  void delivered(const Now& now, const Event& event, Effects& effects);
  void settled(const Settlement& s, Effects& effects);
  void tick(const Now& now, Effects& effects);
  void dispatch(const Now& now, Effects& effects);
  bool free_to_start(const Waiting& waiting, const Now& now) const;
  void work(Slot& slot, const Now& now, Effects& effects);
  void worked(Slot& slot, const Now& now, Effects& effects);
  void failed(Slot& slot, const Now& now, Effects& effects);
  void put(Slot& slot, std::uint8_t output, Effects& effects);
  void done(Slot& slot, Outcome outcome, Effects& effects);
  void clear(Slot& slot);
  void drop(const Message& message);
  void maybe_fetch(Effects& effects);
  void maybe_commit(Effects& effects);
  void commit(Effects& effects);
  void revoked(const Event& event, Effects& effects);
  void pause(PlaceId place, Effects& effects);
  void maybe_resume(PlaceId place, Effects& effects);
  HandledOffsets* offsets_of(PlaceId place);
  const RetryLevel* level_of(PlaceId place) const;
  bool own(std::uint8_t output) const { return settings_.output && output == 0; }
  bool log() const { return capabilities_.log; }

  const StageSettings& settings_;
  Handling handling_;
  Capabilities capabilities_;
  Arena& arena_;
  bool stopping_ = false;
  bool fetch_open_ = false;
  bool dirty_ = false;  ///< something is done since the latest commit
  std::uint32_t generation_ = 0;
  OpId commit_op_ = 0;
  Vec<Slot> slots_;
  Ring<Waiting> waiting_;  ///< in the order of delivery
  Vec<HandledOffsets*> offsets_;
  Vec<PlaceId> paused_;
  Vec<PlacePosition> scratch_;
};

}  // namespace mqlab
