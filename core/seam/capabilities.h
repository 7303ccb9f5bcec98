// What a port can do, as data: no module asks which broker or which world it is in.
#pragma once
#include <cstdint>

#include "core/history/row.h"

namespace mqlab {

struct Capabilities {
  bool log = false;           ///< commit, seek, pause, resume: positions in partitions
  bool queue = false;         ///< ack per message
  bool negative_ack = false;  ///< nack, with a delay
  bool in_progress = false;   ///< progress extends the time to ack
  bool terminate = false;
  bool groups = false;  ///< partitions are assigned and revoked
  bool transactions = false;
  bool deduplicates = false;  ///< the broker drops repeats of a message id within a window
  bool store = false;
  bool services = false;
  std::uint32_t max_message_bytes = 0;

  /// Whether an effect of this kind can be carried out. True for what needs no broker.
  bool allow(Kind effect) const;
};

}  // namespace mqlab
