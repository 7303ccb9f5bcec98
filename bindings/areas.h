// The areas of the extension module; each is registered by its own source file.
#pragma once
#include <pybind11/pybind11.h>

namespace mqlab::bindings {

void bind_scenario(pybind11::module_& m);
void bind_settings(pybind11::module_& m);
void bind_history(pybind11::module_& m);
void bind_claims(pybind11::module_& m);
void bind_modules(pybind11::module_& m);
void bind_search(pybind11::module_& m);
void bind_worker(pybind11::module_& m);  ///< where the live world is built

}  // namespace mqlab::bindings
