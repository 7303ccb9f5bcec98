// Reads everything from the start and does nothing with it: what somebody downstream would have seen.
#pragma once
#include "core/seam/module.h"

namespace mqlab {

class Observer final : public Module {
 public:
  explicit Observer(std::uint32_t batch) : batch_(batch) {}
  void handle(const Now&, const Event& event, Effects& effects) override {
    if (event.kind == EventKind::stop) stopping_ = true;
    if (event.kind == EventKind::assigned) effects.accept(event.places, event.generation);
    if (event.kind == EventKind::revoking) effects.release(event.places, event.generation);
    const bool ask = event.kind == EventKind::start || event.kind == EventKind::delivered;
    if (ask && !stopping_) effects.fetch(0, batch_);
  }

 private:
  std::uint32_t batch_;
  bool stopping_ = false;
};

}  // namespace mqlab
