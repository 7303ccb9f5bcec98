// Makes a failing schedule, and the scenario under it, as small as they get while the same claim stays broken
// in the same way: the rows that prove it are of the same kinds, at the same groups of processes.
#pragma once
#include <cstddef>

#include "search/runner.h"
#include "search/verify.h"

namespace mqlab::search {

/// `claim`: index into runner.claims(), violated under `schedule`.
Counterexample shrink(Runner& runner, std::size_t claim, const Schedule& schedule);

}  // namespace mqlab::search
