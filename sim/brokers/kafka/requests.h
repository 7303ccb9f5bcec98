// Makes answers and gives requests and answers back, whatever their kind.
#pragma once
#include "sim/brokers/kafka/protocol.h"

namespace mqlab::sim::kafka {

/// The answer's type goes by the request's kind, errors and refusals included.
Answer* make_answer(Arena& arena, RequestKind kind);
/// With the references to batches that it holds.
void destroy_request(Arena& arena, Request* request);
void destroy_answer(Arena& arena, Answer* answer);

}  // namespace mqlab::sim::kafka
