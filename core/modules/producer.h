// The workload's side: publishes what it is asked to, and if so set, again what failed.
#pragma once
#include "core/base/arena.h"
#include "core/base/ring.h"
#include "core/seam/module.h"

namespace mqlab {

struct ProducerSettings {
  bool resend = false;  ///< the application publishes a failed or unknown message again (same id)
};

class Producer final : public Module {
 public:
  Producer(Arena& arena, const ProducerSettings& settings)
      : settings_(settings), waiting_(arena), in_flight_(arena) {}
  void handle(const Now& now, const Event& event, Effects& effects) override;

 private:
  struct Sent {
    OpId op;
    bool settled;
    Message message;
  };
  Sent* find(OpId op);
  void send(const Message& message, Effects& effects);
  void settled(const Settlement& settlement, Effects& effects);

  const ProducerSettings& settings_;
  Ring<Message> waiting_;  ///< while the client is blocked
  Ring<Sent> in_flight_;   ///< by op; from the oldest that has not settled
  bool blocked_ = false;
};

}  // namespace mqlab
