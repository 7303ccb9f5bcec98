#include "bindings/errors.h"

#include <pybind11/pybind11.h>

#include "core/history/error.h"
#include "core/scenario/error.h"

namespace py = pybind11;

namespace mqlab::bindings {

void translate_errors(std::exception_ptr pending) {
  try {
    if (pending) std::rethrow_exception(pending);
  } catch (const ScenarioError& e) {
    const py::object type = py::module_::import("mqlab.errors").attr("ScenarioError");
    const py::object error = type(e.file, e.line, e.path, e.problem);
    PyErr_SetObject(type.ptr(), error.ptr());
  } catch (const HistoryError& e) {
    const py::object type = py::module_::import("mqlab.errors").attr("HistoryError");
    PyErr_SetObject(type.ptr(), type(e.what()).ptr());
  }
}

}  // namespace mqlab::bindings
