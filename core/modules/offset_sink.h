// Writes each result and the input's next offset to a store in one atomic batch, and starts from that offset.
#pragma once
#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/modules/handling.h"
#include "core/seam/module.h"

namespace mqlab {

struct OffsetSinkSettings {
  HandlingSettings handling;
  std::uint32_t batch = 1;
};

/// The broker's own commits are not used: what counts is the store. Rows are keyed by the input's place and
/// offset.
class OffsetSink final : public Module {
 public:
  OffsetSink(Arena& arena, const OffsetSinkSettings& settings, const ModuleContext& context);
  void handle(const Now& now, const Event& event, Effects& effects) override;
  Instant deadline() const override { return step_ == Step::working ? wake_ : Instant::never(); }

 private:
  enum class Step : std::uint8_t { fetching, ready, working, writing, stopped };
  void react(const Now& now, const Event& event, Effects& effects);
  void assigned(const Event& event, Effects& effects);
  void settled(const Settlement& s, Effects& effects);
  void write(Effects& effects);
  void fetch(Effects& effects);

  const OffsetSinkSettings& settings_;
  Handling handling_;
  Step step_ = Step::fetching;
  bool stopping_ = false;
  std::uint32_t generation_ = 0;
  std::uint32_t reads_ = 0;  ///< stored offsets still to come before the assignment is accepted
  Instant wake_ = Instant::never();
  Ring<Message> batch_;
  Vec<PlacePosition> start_;  ///< of the assignment being taken over
  Vec<OpId> read_ops_;        ///< by position in start_
};

}  // namespace mqlab
