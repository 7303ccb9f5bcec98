// One life of a process: its module, its port, and the loop between them.
#pragma once
#include "live/worker/options.h"

namespace mqlab::live {

/// Runs the process of --process until SIGTERM. Returns the exit code: 0, or 4 when the environment failed, with the
/// reason in the row file's header and on stderr.
int run_process(const Options& options);

}  // namespace mqlab::live
