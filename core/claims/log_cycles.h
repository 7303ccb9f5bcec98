// Cycles among transactions: by the order in which they wrote (ww), and by who read what another one wrote
// (wr).
#pragma once
#include "core/claims/log_checker.h"

namespace mqlab {

/// Reports one shortest cycle of each knot of the graph: "G0" where write order alone makes it; with `reads`,
/// "G1c": a cycle that holds a reading at least. `writes` = false leaves write order out.
void judge_cycles(LogJudgement& judgement, bool reads, bool writes);

}  // namespace mqlab
