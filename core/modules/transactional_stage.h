// Consume, process and produce in one transaction with the input's offsets: exactly once from log to log.
#pragma once
#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/modules/handling.h"
#include "core/seam/module.h"

namespace mqlab {

struct TransactionalSettings {
  HandlingSettings handling;
  std::uint32_t batch = 1;  ///< messages of one transaction at most
  std::uint8_t dead_letter = 0;
  bool has_dead_letter = false;
};

/// A fetched batch is one transaction: begin, a publish per message, the input's next offsets with the
/// group's metadata, commit. After an abort the input is rewound to the batch's first positions. Fenced: the
/// process exits.
class TransactionalStage final : public Module {
 public:
  TransactionalStage(Arena& arena, const TransactionalSettings& settings, const ModuleContext& context);
  void handle(const Now& now, const Event& event, Effects& effects) override;
  Instant deadline() const override { return step_ == Step::working ? wake_ : Instant::never(); }

 private:
  enum class Step : std::uint8_t {
    fetching,
    beginning,
    ready,
    working,
    offsets,
    committing,
    aborting,
    rewinding,
    halted
  };

  void react(const Now& now, const Event& event, Effects& effects);
  void delivered(const Event& event, Effects& effects);
  void settled(const Settlement& s, Effects& effects);
  void work(const Now& now, Effects& effects);
  void worked(const Now& now, Effects& effects);
  bool gone_for_good(const Settlement& s) const;
  Kind awaited() const;
  void done(Effects& effects);
  void failed(ErrorClass error, Effects& effects);
  void abort(Effects& effects);
  void end(Outcome outcome, Effects& effects);
  void fetch(Effects& effects);

  const TransactionalSettings& settings_;
  Handling handling_;
  Arena& arena_;
  Step step_ = Step::fetching;
  bool stopping_ = false;
  std::uint32_t generation_ = 0;
  std::uint32_t next_ = 0;  ///< index of the message in hand
  std::uint32_t attempt_ = 1;
  Instant wake_ = Instant::never();
  Vec<Message> batch_;
  Vec<PlacePosition> first_, after_;  ///< per partition of the batch: where it begins, and the next to read
};

}  // namespace mqlab
