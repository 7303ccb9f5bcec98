// One life of a process: its module, its port, and the loop between them.
#pragma once
#include "live/worker/options.h"

namespace mqlab::live {

/// The module ended its own process (Effects::exit); its supervisor, the controller, starts it anew.
inline constexpr int exit_by_application = 10;

/// Runs the process of --process until SIGTERM and ends it: exit code 0, exit_by_application, or 4 when the
/// environment failed, with the reason in the row file's header and on stderr.
int run_process(const Options& options);

}  // namespace mqlab::live
