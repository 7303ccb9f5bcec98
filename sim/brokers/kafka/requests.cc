#include "sim/brokers/kafka/requests.h"

#include "core/base/check.h"

namespace mqlab::sim::kafka {

Answer* make_answer(Arena& arena, RequestKind kind) {
  switch (kind) {
    case RequestKind::produce:
      return arena.make<ProduceAnswer>(arena);
    case RequestKind::fetch:
      return arena.make<FetchAnswer>(arena);
    case RequestKind::list_offsets:
      return arena.make<ListOffsetsAnswer>();
    case RequestKind::offset_for_leader_epoch:
      return arena.make<EpochEndAnswer>();
    case RequestKind::join_group:
      return arena.make<JoinGroupAnswer>();
    case RequestKind::sync_group:
      return arena.make<SyncGroupAnswer>(arena);
    case RequestKind::heartbeat:
      return arena.make<HeartbeatAnswer>(arena);
    case RequestKind::offset_fetch:
      return arena.make<OffsetFetchAnswer>(arena);
    case RequestKind::find_coordinator:
      return arena.make<FindCoordinatorAnswer>();
    case RequestKind::metadata:
      return arena.make<MetadataAnswer>(arena);
    case RequestKind::init_producer_id:
      return arena.make<InitProducerIdAnswer>();
    case RequestKind::end_txn:
      return arena.make<EndTxnAnswer>();
    default:
      return arena.make<Answer>();
  }
}

void destroy_request(Arena& arena, Request* request) {
  switch (request->kind) {
    case RequestKind::produce: {
      auto* produce = static_cast<ProduceRequest*>(request);
      for (const ProducePart& part : produce->parts) release(arena, part.batch);
      return destroy(arena, produce);
    }
    case RequestKind::fetch:
      return destroy(arena, static_cast<FetchRequest*>(request));
    case RequestKind::list_offsets:
      return destroy(arena, static_cast<ListOffsetsRequest*>(request));
    case RequestKind::offset_for_leader_epoch:
      return destroy(arena, static_cast<EpochEndRequest*>(request));
    case RequestKind::join_group:
      return destroy(arena, static_cast<JoinGroupRequest*>(request));
    case RequestKind::sync_group:
      return destroy(arena, static_cast<SyncGroupRequest*>(request));
    case RequestKind::heartbeat:
      return destroy(arena, static_cast<HeartbeatRequest*>(request));
    case RequestKind::leave_group:
      return destroy(arena, static_cast<LeaveGroupRequest*>(request));
    case RequestKind::offset_commit:
      return destroy(arena, static_cast<OffsetCommitRequest*>(request));
    case RequestKind::offset_fetch:
      return destroy(arena, static_cast<OffsetFetchRequest*>(request));
    case RequestKind::find_coordinator:
      return destroy(arena, static_cast<FindCoordinatorRequest*>(request));
    case RequestKind::metadata:
      return destroy(arena, static_cast<MetadataRequest*>(request));
    case RequestKind::init_producer_id:
      return destroy(arena, static_cast<InitProducerIdRequest*>(request));
    case RequestKind::add_partitions_to_txn:
      return destroy(arena, static_cast<AddPartitionsToTxnRequest*>(request));
    case RequestKind::add_offsets_to_txn:
      return destroy(arena, static_cast<AddOffsetsToTxnRequest*>(request));
    case RequestKind::txn_offset_commit:
      return destroy(arena, static_cast<TxnOffsetCommitRequest*>(request));
    case RequestKind::end_txn:
      return destroy(arena, static_cast<EndTxnRequest*>(request));
    default:
      MQLAB_CHECK(false && "a request that Kafka does not have");
  }
}

void destroy_answer(Arena& arena, Answer* answer) {
  switch (answer->kind) {
    case RequestKind::produce:
      return destroy(arena, static_cast<ProduceAnswer*>(answer));
    case RequestKind::fetch: {
      auto* fetch = static_cast<FetchAnswer*>(answer);
      for (const FetchedRecords& run : fetch->runs) release(arena, run.batch);
      return destroy(arena, fetch);
    }
    case RequestKind::list_offsets:
      return destroy(arena, static_cast<ListOffsetsAnswer*>(answer));
    case RequestKind::offset_for_leader_epoch:
      return destroy(arena, static_cast<EpochEndAnswer*>(answer));
    case RequestKind::join_group:
      return destroy(arena, static_cast<JoinGroupAnswer*>(answer));
    case RequestKind::sync_group:
      return destroy(arena, static_cast<SyncGroupAnswer*>(answer));
    case RequestKind::heartbeat:
      return destroy(arena, static_cast<HeartbeatAnswer*>(answer));
    case RequestKind::offset_fetch:
      return destroy(arena, static_cast<OffsetFetchAnswer*>(answer));
    case RequestKind::find_coordinator:
      return destroy(arena, static_cast<FindCoordinatorAnswer*>(answer));
    case RequestKind::metadata:
      return destroy(arena, static_cast<MetadataAnswer*>(answer));
    case RequestKind::init_producer_id:
      return destroy(arena, static_cast<InitProducerIdAnswer*>(answer));
    case RequestKind::end_txn:
      return destroy(arena, static_cast<EndTxnAnswer*>(answer));
    default:
      return destroy(arena, answer);
  }
}

}  // namespace mqlab::sim::kafka
