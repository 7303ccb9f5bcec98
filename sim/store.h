// A store the pipeline writes its results to: atomic batches under a version, keyed rows, strictly serial.
#pragma once
#include <cstdint>

#include "core/base/arena.h"
#include "core/base/ids.h"
#include "core/seam/effect.h"
#include "sim/component.h"

namespace mqlab::sim {

class World;
class Process;

class Store final : public Component {
 public:
  Store(World& world, TopicId topic);

  /// store_read or store_write by a process. Applied when the request arrives, answered one more delay later;
  /// a process that dies in between leaves the write applied.
  void request(Process& from, const Effect& effect);
  void on(const SimEvent& event) override;
  /// audit rows for every key that carries a request, then audit_end.
  void audit();

 private:
  struct Cell {
    std::uint64_t key;
    MessageId message;
    std::uint64_t digest;
    Bytes value;
    std::int64_t version;  ///< of the store when this cell was written
    Instant at;
  };
  struct Request {
    ProcessId from;
    Kind kind;
    OpId op;
    std::int64_t expected;
    std::uint64_t key;  ///< store_read
    StoreWrite* writes;
    std::uint32_t count;
    std::uint32_t life;
  };
  enum : std::uint16_t { arrived };

  Cell* find(std::uint64_t key);
  void apply(const Request& request, Settlement& answer);
  Bytes keep(Bytes bytes);

  World& world_;
  PlaceId place_;
  std::int64_t version_ = 0;
  Vec<Cell> cells_;  ///< sorted by key
};

}  // namespace mqlab::sim
