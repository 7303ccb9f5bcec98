// The private extension module mqlab._simgrid: what mqlab._core simulates over, where links are shared. Apart
// from it, so that nothing else loads SimGrid, and used in a process of its own; see mqlab/simgrid.py.
#include <pybind11/pybind11.h>

#include "bindings/errors.h"
#include "bindings/fabric.h"
#include "sim/network/simgrid.h"

namespace py = pybind11;

PYBIND11_MODULE(_simgrid, m) {
  m.doc() = "Shared links by SimGrid. Private: use the package.";
  py::module_::import("mqlab._core");  // where the types are registered
  py::register_local_exception_translator(&mqlab::bindings::translate_errors);
  m.def(
      "fabric",
      [](const mqlab::Scenario& scenario) {
        const auto release = [](void* fabric) { delete static_cast<mqlab::sim::Fabric*>(fabric); };
        return py::capsule(mqlab::sim::simgrid_fabric(scenario).release(), mqlab::bindings::fabric_capsule,
                           release);
      },
      py::arg("scenario"));
}
