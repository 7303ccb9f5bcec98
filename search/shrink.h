// Makes a failing schedule as small as it gets while the same claim stays broken.
#pragma once
#include <cstddef>

#include "search/runner.h"
#include "search/verify.h"

namespace mqlab::search {

/// `claim`: index into runner.claims(), violated under `schedule`. Leaves the runner's history at the shrunk
/// run.
Counterexample shrink(Runner& runner, std::size_t claim, Schedule schedule);

}  // namespace mqlab::search
