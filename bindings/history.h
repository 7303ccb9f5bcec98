// Rows between C++ and NumPy.
#pragma once
#include <pybind11/numpy.h>

#include "core/history/history.h"

namespace mqlab::bindings {

/// NumPy records: the columns of a run are strided views of these.
using Rows = pybind11::array_t<Row, pybind11::array::c_style>;

/// The record type. NumPy is loaded by the first who needs it: commands that touch no history start at once.
/// To be called before the first `Rows` is made.
pybind11::dtype row_type();
/// The rows that are still there, in one block: chunks are put together once.
Rows as_rows(const History& history);
History as_history(const Rows& rows);

}  // namespace mqlab::bindings
