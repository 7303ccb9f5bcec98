// One simulated run of a scenario, judged.
#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "bindings/history.h"
#include "search/runner.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

struct SimulatedRun {
  Rows rows;
  std::vector<Finding> findings;
  std::uint64_t hash = 0;
  bool faults_reached = true;
};

SimulatedRun simulate(const Scenario& scenario, std::uint64_t seed) {
  SimulatedRun result;
  Schedule schedule;
  schedule.seed = seed;
  std::unique_ptr<sim::Setup> setup;
  std::unique_ptr<search::Runner> runner;
  {
    const py::gil_scoped_release release;
    setup = std::make_unique<sim::Setup>(scenario);
    runner = std::make_unique<search::Runner>(*setup, scenario.claims);
    const search::Outcome outcome = runner->run(schedule);
    result.findings.assign(outcome.findings.begin(), outcome.findings.end());
    result.faults_reached = outcome.faults_reached;
    result.hash = runner->history().hash();
  }
  result.rows = as_rows(runner->history());
  return result;
}

}  // namespace

void bind_sim(py::module_& m) {
  py::class_<SimulatedRun>(m, "SimulatedRun")
      .def_readonly("rows", &SimulatedRun::rows)
      .def_readonly("findings", &SimulatedRun::findings)
      .def_readonly("hash", &SimulatedRun::hash)
      .def_readonly("faults_reached", &SimulatedRun::faults_reached);
  m.def("simulate", &simulate, py::arg("scenario"), py::arg("seed"));
}

}  // namespace mqlab::bindings
