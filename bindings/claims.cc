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

py::list catalogue() {
  py::list claims;
  for (const ClaimInfo& info : all_claims()) {
    py::dict claim;
    claim["claim"] = info.id;
    claim["definition"] = info.definition;
    claim["judged"] = info.end_judged ? "after the end phase" : "at once";
    claim["parameters"] = info.parameters;
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
      .def_readonly("value", &Finding::value);
  m.def("claim_catalogue", &catalogue);
  m.def("check", &check, py::arg("scenario"), py::arg("rows"));
}

}  // namespace mqlab::bindings
