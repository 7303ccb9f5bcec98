// The row as a NumPy record type, and the names that its numbers stand for.
#include "bindings/history.h"

#include <cstring>

#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "core/base/ids.h"
#include "core/history/jsonl.h"
#include "core/scenario/scenario.h"
#include "core/scenario/topology.h"

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

namespace {

/// The first line of a history as JSON Lines: its scenario, or who is in it.
py::dict read_header_line(std::string_view text, const std::string& file) {
  const HistoryHeader header = read_header(text, file);
  py::dict found;
  found["scenario"] = header.scenario;
  found["world"] = header.world;
  found["seed"] = header.seed;
  found["topics"] = header.topics;
  found["senders"] = header.senders;
  found["readers"] = header.readers;
  return found;
}

/// The rows, and whether the end line is there.
std::pair<Rows, bool> read_lines(std::string_view text, const std::string& file, const Scenario& scenario) {
  const HistoryFile read = read_rows(text, file, history_names(Topology(scenario)));
  return {as_rows(read.rows), read.complete};
}

std::string write_lines(const Scenario& scenario, const std::string& toml, const std::string& world,
                        std::uint64_t seed, const Rows& rows) {
  HistoryHeader header;
  header.scenario = toml;
  header.world = world;
  header.seed = seed;
  std::string text;
  write_header(text, header);
  const HistoryNames names = history_names(Topology(scenario));
  for (py::ssize_t i = 0; i < rows.size(); ++i) write_row(text, rows.data()[i], names);
  write_end(text, static_cast<std::size_t>(rows.size()));
  return text;
}

}  // namespace

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

  m.def("read_history_header", &read_header_line, py::arg("text"), py::arg("file"));
  m.def("read_history", &read_lines, py::arg("text"), py::arg("file"), py::arg("scenario"));
  m.def("write_history", &write_lines, py::arg("scenario"), py::arg("toml"), py::arg("world"),
        py::arg("seed"), py::arg("rows"));
  m.attr("HISTORY_BYTES") = history_bytes;

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
