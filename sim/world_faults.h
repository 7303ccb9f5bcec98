// The end of faults: a component of the lab that heals them when their time has passed.
#pragma once
#include "sim/component.h"

namespace mqlab::sim {

class World;

class Heals final : public Component {
 public:
  explicit Heals(World& world) : world_(world) {}
  /// heal: a = target process, x = fault; inject: x = the armed timed fault; revive: a = process
  enum : std::uint16_t { heal, inject, revive };
  void on(const SimEvent& event) override;

 private:
  World& world_;
};

}  // namespace mqlab::sim
