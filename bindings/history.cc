// The row as a NumPy record type, and the names that its numbers stand for.
#include "bindings/history.h"

#include <cstring>

#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "core/base/ids.h"

namespace py = pybind11;

namespace mqlab::bindings {

py::dtype row_type() {
  static const bool registered = [] {
    PYBIND11_NUMPY_DTYPE(Row, time, position, aux, digest, op, message, cause, place, key, transaction, epoch,
                         size, trace, process, incarnation, attempt, code, flags, kind, phase);
    return true;
  }();
  static_cast<void>(registered);
  return py::dtype::of<Row>();
}

Rows as_rows(const History& history) {
  row_type();
  Rows rows(static_cast<py::ssize_t>(history.size() - history.first()));
  Row* to = rows.mutable_data();
  history.for_each(history.first(), [&to](std::span<const Row> chunk) {
    std::memcpy(static_cast<void*>(to), chunk.data(), chunk.size_bytes());
    to += chunk.size();
  });
  return rows;
}

History as_history(const Rows& rows) {
  History history;
  const Row* from = rows.data();
  for (py::ssize_t i = 0; i < rows.size(); ++i) history.next() = from[i];
  return history;
}

void bind_history(py::module_& m) {
  m.def("__getattr__", [m](const std::string& name) -> py::object {
    if (name != "ROW") throw py::attribute_error("module mqlab._core has no attribute " + name);
    m.attr("ROW") = row_type();
    return m.attr("ROW");
  });
  m.attr("NO_PLACE") = no_place;
  m.attr("NO_PROCESS") = no_process;

  py::list kinds, phases;
  for (unsigned i = 0; i < static_cast<unsigned>(Kind::count_); ++i)
    kinds.append(name_of(static_cast<Kind>(i)));
  for (unsigned i = 0; i <= static_cast<unsigned>(Phase::unknown); ++i)
    phases.append(name_of(static_cast<Phase>(i)));
  m.attr("KINDS") = py::tuple(kinds);
  m.attr("PHASES") = py::tuple(phases);
  m.def(
      "hash_of", [](const Rows& rows) { return as_history(rows).hash(); }, py::arg("rows"));

  py::dict flags;
  flags["duplicate"] = flag::duplicate;
  flags["lost"] = flag::lost;
  flags["header"] = flag::header;
  flags["aborted"] = flag::aborted;
  flags["open"] = flag::open;
  flags["timed_out"] = flag::timed_out;
  flags["dead_letter"] = flag::dead_letter;
  flags["tombstone"] = flag::tombstone;
  m.attr("FLAGS") = flags;
}

}  // namespace mqlab::bindings
