// Consume, process, publish, commit: the loop that most pipelines are made of, on logs and on queues.
#pragma once
#include <vector>

#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/modules/handling.h"
#include "core/seam/module.h"

namespace mqlab {

enum class CommitMode : std::uint8_t {
  automatic,  ///< left to the client library
  sync,       ///< wait for the commit before going on
  async,
};

/// Which messages a concurrent stage does not work on at the same time.
enum class Serial : std::uint8_t { none, key, partition };

/// Where messages of one input, or of one of its retry topics, stand.
struct RetryLevel {
  PlaceId first_place = 0;
  std::uint32_t partitions = 0;
  std::uint32_t level = 0;  ///< attempts already made: 0 = the input itself
  Duration wait = {};       ///< from the record's timestamp on
  std::uint8_t next = 0;    ///< output number of the next retry topic; only if has_next
  bool has_next = false;
};

struct StageSettings {
  HandlingSettings handling;
  CommitMode commit = CommitMode::sync;
  bool before = false;                         ///< commit (ack) before processing: at most once
  std::uint32_t batch = 1;                     ///< messages asked for at a time
  Duration in_progress = Duration::forever();  ///< queues: tell the broker so often that work goes on
  bool output = false;
  bool store = false;            ///< the result goes to the store, keyed by request: repeats overwrite
  std::uint8_t dead_letter = 0;  ///< output number; only if has_dead_letter
  bool has_dead_letter = false;
  bool publish_waits = false;  ///< wait for each publish before the next message
  // concurrent_stage.h
  std::uint32_t concurrency = 1;
  bool commit_newest = false;  ///< past what is unfinished; else up to it
  Serial serial = Serial::none;
  std::vector<RetryLevel> levels = {};  ///< with retry topics
};

/// One message at a time. A fetched batch is worked off before the next fetch; the commit (sync or async)
/// covers the batch once all its publishes have settled. Queues: each message is acked when it is done.
class Stage final : public Module {
 public:
  Stage(Arena& arena, const StageSettings& settings, const ModuleContext& context);
  void handle(const Now& now, const Event& event, Effects& effects) override;
  Instant deadline() const override;

 private:
  enum class Step : std::uint8_t {
    fetching,
    committing_before,
    ready,
    working,
    backing_off,
    publishing,
    committing_after,
    stopped
  };
  struct Pending {  ///< a publish or store write under way
    OpId op;
    Message message;
    std::uint8_t output;
  };

  void react(const Now& now, const Event& event, Effects& effects);
  void delivered(const Event& event, Effects& effects);
  void settled(const Settlement& s, Effects& effects);
  void next(Effects& effects);  ///< takes the message in hand off; goes on or ends the batch
  void take_off();
  void work(const Now& now, Effects& effects);    ///< the handler starts on the message in hand
  void worked(const Now& now, Effects& effects);  ///< the service time is over
  void failed(const Now& now, Effects& effects);
  void put(const Message& message, std::uint8_t output, Effects& effects);
  void done(const Message& message, Outcome outcome, Effects& effects);
  void end_batch(Effects& effects);
  void fetch(Effects& effects);
  void revoked(const Event& event, Effects& effects);
  void note(const Message& message);
  OpId commit(bool sync, Effects& effects);
  bool log() const { return capabilities_.log; }

  const StageSettings& settings_;
  Handling handling_;
  Capabilities capabilities_;
  Step step_ = Step::fetching;
  bool stopping_ = false;
  bool fetch_open_ = false;
  std::uint32_t generation_ = 0;
  std::uint32_t attempt_ = 1;  ///< of the message in hand, by this incarnation
  OpId commit_op_ = 0;
  Instant wake_ = Instant::never();
  Instant progress_at_ = Instant::never();
  Arena& arena_;
  Ring<Message> batch_;  ///< front = in hand
  Ring<Pending> pending_;
  Vec<PlacePosition> processed_;  ///< next positions, not yet committed
  Vec<std::uint64_t> receipts_;   ///< scratch
};

}  // namespace mqlab
