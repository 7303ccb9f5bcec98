// A transactional producer's steps, and the requests they bring about.
#pragma once
#include <vector>

#include "tests/sim/kafka_client_lab.h"

namespace mqlab::sim::kafka::client_test {

inline void begin(Puppet& p, Duration t) {
  p.at(t, [](Effects& e) { e.begin_transaction(); });
}
inline void publish(Puppet& p, Duration t, MessageId id) {
  p.at(t, [=](Effects& e) { e.publish(0, message(id)); });
}
inline void commit(Puppet& p, Duration t) {
  p.at(t, [](Effects& e) { e.commit_transaction(); });
}
inline void abort(Puppet& p, Duration t) {
  p.at(t, [](Effects& e) { e.abort_transaction(); });
}

using Kinds = std::vector<RequestKind>;
/// The requests of transactions and of writing, in order.
inline Kinds kinds(const Fakes& fakes) {
  Kinds found;
  for (const Got& got : fakes.got) {
    const bool about = got.kind == RequestKind::produce || got.kind == RequestKind::add_partitions_to_txn ||
                       got.kind == RequestKind::add_offsets_to_txn ||
                       got.kind == RequestKind::txn_offset_commit || got.kind == RequestKind::end_txn;
    if (about) found.push_back(got.kind);
  }
  return found;
}

}  // namespace mqlab::sim::kafka::client_test
