// A live worker inside the interpreter, for modules written in Python.
#include <pybind11/stl.h>
#include <sys/prctl.h>

#include <csignal>

#include "bindings/areas.h"
#include "core/scenario/error.h"
#include "live/worker/options.h"
#include "live/worker/run.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

/// As mqlab-worker does for one process of the scenario; returns its exit code.
int run_worker(std::vector<std::string> arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // a worker never outlives its controller, stopped or not
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  const live::Options options(static_cast<int>(argv.size()), argv.data());
  const py::gil_scoped_release release;
  return live::run_process(options);
}

}  // namespace

void bind_worker(py::module_& m) { m.def("run_worker", &run_worker, py::arg("arguments")); }

}  // namespace mqlab::bindings
