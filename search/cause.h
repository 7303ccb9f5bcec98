// Which setting is to blame: one whose single change makes a story vanish.
#pragma once
#include <vector>

#include "search/verify.h"

namespace mqlab::search {

/// Settings that the scenario writes and whose change to the default or a neighbouring value alone makes the
/// claim hold: the story's own run, with all its faults, and a search as long as the one that found it.
/// `example`: shrunk; `setup`: of the scenario as it was; `options`: of the search.
std::vector<Cause> causes(const sim::Setup& setup, const ClaimSpec& claim, const Counterexample& example,
                          const Options& options, std::uint64_t failing_schedule);

}  // namespace mqlab::search
