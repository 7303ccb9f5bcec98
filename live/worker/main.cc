// mqlab-worker: one process of a scenario on a real broker, or the lab's hand on that broker.
//
// Exit codes: 0 done · 2 bad command line or scenario · 4 the environment failed (reason in one line on
// stderr).
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "core/scenario/error.h"
#include "live/port.h"
#include "live/worker/lab.h"
#include "live/worker/replay.h"
#include "live/worker/run.h"

namespace {

int run(const mqlab::live::Options& options) {
  using namespace mqlab::live;
  if (options.has("describe")) return describe(options);
  if (options.has("setup")) return set_up(options);
  if (options.has("remove")) return mqlab::live::remove(options);
  if (options.has("probe")) return probe(options);
  if (options.has("replay")) return replay(options);
  if (options.text("process") == "auditor") return audit(options);
  return run_process(options);
}

int complain(const std::exception& error, int code) {
  std::fprintf(stderr, "mqlab-worker: %s\n", error.what());
  return code;
}

/// A worker never outlives its controller, stopped or not. The kernel sees to that from here on; the
/// controller may have ended before.
bool orphaned() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const char* parent = std::getenv("MQLAB_PARENT");
  return parent != nullptr && std::strtol(parent, nullptr, 10) != getppid();
}

}  // namespace

int main(int argc, char** argv) {
  if (orphaned()) return 4;
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return run(mqlab::live::Options(argc, argv));
  } catch (const mqlab::live::UsageError& error) {
    return complain(error, 2);
  } catch (const mqlab::ScenarioError& error) {
    return complain(error, 2);
  } catch (const std::exception& error) {
    return complain(error, 4);
  }
}
