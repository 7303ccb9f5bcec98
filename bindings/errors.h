// Errors of the compiled part as the package knows them.
#pragma once
#include <exception>

namespace mqlab::bindings {

/// A ScenarioError becomes mqlab.errors.ScenarioError with its parts, a HistoryError
/// mqlab.errors.HistoryError. For pybind11::register_local_exception_translator, once in each extension
/// module.
void translate_errors(std::exception_ptr pending);

}  // namespace mqlab::bindings
