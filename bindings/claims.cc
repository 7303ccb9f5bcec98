// Claims: what there is, and their checkers run over rows.
#include "core/claims/claim.h"

#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "bindings/history.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

/// One finding a claim of the scenario, in its order.
std::vector<Finding> check(const Scenario& scenario, const Rows& rows) {
  const std::span<const Row> all(rows.data(), static_cast<std::size_t>(rows.size()));
  const py::gil_scoped_release release;
  const Topology topology(scenario);
  std::vector<Finding> findings;
  for (const ClaimSpec& spec : scenario.claims) {
    const std::unique_ptr<Checker> checker = make_checker(spec, scenario, topology);
    checker->observe(all);
    findings.push_back(checker->finish());
  }
  return findings;
}

/// An anomaly as a dict; numbers of places, ids and rows as they are. What it has none of is left out.
py::dict described(const Anomaly& a) {
  py::dict d;
  d["anomaly"] = a.name;
  if (a.place != no_place) d["place"] = a.place;
  if (!a.ids.empty()) d["ids"] = a.ids;
  if (!a.skipped.empty()) d["skipped"] = a.skipped;
  if (!a.positions.empty()) d["positions"] = a.positions;
  if (a.delta != 0 || a.ids.size() == 2) d["delta"] = a.delta;
  if (a.index >= 0) d["index"] = a.index;
  if (a.bound >= 0) d["bound"] = a.bound;
  d["rows"] = a.rows;
  py::list steps;
  for (const Anomaly::Step& step : a.steps) {
    py::dict edge;
    edge["type"] = step.type;
    edge["place"] = step.place;
    edge["ids"] =
        step.next != 0 ? std::vector<MessageId>{step.id, step.next} : std::vector<MessageId>{step.id};
    edge["rows"] = std::vector<std::uint64_t>{step.from_row, step.to_row};
    steps.append(std::move(edge));
  }
  if (!a.steps.empty()) d["steps"] = std::move(steps);
  return d;
}

py::list catalogue() {
  py::list claims;
  for (const ClaimInfo& info : all_claims()) {
    py::dict claim;
    claim["claim"] = info.id;
    claim["definition"] = info.definition;
    claim["judged"] = info.end_judged ? "after the end phase" : "at once";
    claim["parameters"] = info.parameters;
    claim["gates"] = info.gates;
    claims.append(std::move(claim));
  }
  return claims;
}

}  // namespace

void bind_claims(py::module_& m) {
  py::class_<Finding>(m, "Finding")
      .def_property_readonly("verdict", [](const Finding& f) { return name_of(f.verdict); })
      .def_readonly("observed", &Finding::observed)
      .def_readonly("population", &Finding::population)
      .def_readonly("violations", &Finding::violations)
      .def_readonly("explanation", &Finding::explanation)
      .def_readonly("witness", &Finding::witness)
      .def_readonly("message", &Finding::message)
      .def_readonly("value", &Finding::value)
      .def_property_readonly("anomalies", [](const Finding& f) {
        py::list all;
        for (const Anomaly& a : f.anomalies) all.append(described(a));
        return all;
      });
  m.def("claim_catalogue", &catalogue);
  m.def("check", &check, py::arg("scenario"), py::arg("rows"));
}

}  // namespace mqlab::bindings
