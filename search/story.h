// Tells a short history in sentences.
#pragma once
#include "core/claims/claim.h"
#include "core/history/history.h"
#include "search/verify.h"
#include "sim/setup.h"

namespace mqlab::search {

/// Fills story and story_lanes: what happened to the messages of the witness and to the processes around
/// them.
void tell(const sim::Setup& setup, const History& history, const Finding& finding, Counterexample& into);

}  // namespace mqlab::search
