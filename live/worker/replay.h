// A worker's transcript led through a fresh module must give the very rows that the worker wrote.
#pragma once
#include "live/worker/options.h"

namespace mqlab::live {

/// --replay --process NAME --incarnation N --seed S --rows FILE --transcript FILE: prints what was compared
/// as JSON; exit code 0 when all of it is equal, 1 with the first difference.
int replay(const Options& options);

}  // namespace mqlab::live
