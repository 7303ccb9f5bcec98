// What a fake broker node keeps of the requests that reach it.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "core/faults/anchor.h"

namespace mqlab::sim::kafka::client_test {

struct SentBatch {
  PlaceId place = 0;
  std::int32_t sequence = -1;
  std::int16_t epoch = -1;
  std::vector<MessageId> ids;
};

/// A request as it reached a node.
struct Got {
  std::int64_t ms = 0;
  RequestKind kind = RequestKind::none;
  ProcessId node = 0;
  std::vector<SentBatch> batches;  ///< produce
  std::vector<std::pair<PlaceId, std::int64_t>>
      offsets;                       ///< offset_commit, txn_offset_commit; fetch: positions
  std::vector<std::int64_t> epochs;  ///< of the same; offset_for_leader_epoch: what is asked for
  std::vector<PlaceId> places;       ///< join: owned; add_partitions
  std::uint32_t member = 0;
  std::uint32_t generation = 0;
  bool commit = false;      ///< end_txn
  std::int16_t epoch = -1;  ///< init_producer_id, end_txn
};

}  // namespace mqlab::sim::kafka::client_test
