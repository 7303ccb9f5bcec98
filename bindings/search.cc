// The search for schedules that break claims, and the runs it is made of.
#include "search/exhaustive.h"
#include "search/verify.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "bindings/areas.h"
#include "bindings/fabric.h"
#include "bindings/history.h"
#include "core/faults/anchor.h"

namespace py = pybind11;

namespace mqlab::bindings {
namespace {

struct SimulatedRun {
  Rows rows;
  std::vector<Finding> findings;
  std::uint64_t hash = 0;
  bool faults_reached = true;
};

/// `capsule`: none, or what the scenario's network is made of; see bindings/fabric.h.
SimulatedRun simulate(const Scenario& scenario, const Schedule& schedule,
                      const std::optional<py::capsule>& capsule) {
  if (capsule && capsule->name() != std::string_view(fabric_capsule)) throw py::type_error("not a fabric");
  auto* const fabric = capsule ? capsule->get_pointer<sim::Fabric>() : nullptr;
  row_type();
  SimulatedRun result;
  std::unique_ptr<sim::Setup> setup;
  std::unique_ptr<search::Runner> runner;
  {
    const py::gil_scoped_release release;
    setup = std::make_unique<sim::Setup>(scenario, fabric);
    runner = std::make_unique<search::Runner>(*setup, scenario.claims);
    const search::Outcome outcome = runner->run(schedule);
    result.findings.assign(outcome.findings.begin(), outcome.findings.end());
    result.faults_reached = outcome.faults_reached;
    result.hash = runner->history().hash();
  }
  result.rows = as_rows(runner->history());
  return result;
}

/// Calls back into Python between schedules. False when the user interrupts; the error is raised afterwards.
class Watcher {
 public:
  explicit Watcher(py::object callback) : callback_(std::move(callback)) {}

  bool operator()(const search::Progress& progress) {
    const py::gil_scoped_acquire gil;
    if (failed_) return false;
    try {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      if (!callback_.is_none()) callback_(progress.schedules, progress.violated_claims);
      return true;
    } catch (py::error_already_set& error) {
      failed_.emplace(error);
      return false;
    }
  }
  void raise() {
    if (failed_) throw py::error_already_set(*failed_);
  }

 private:
  py::object callback_;
  std::optional<py::error_already_set> failed_;
};

search::Report verify(const Scenario& scenario, const search::Options& options, py::object progress) {
  Watcher watcher(std::move(progress));
  search::Report report;
  {
    const py::gil_scoped_release release;
    const sim::Setup setup(scenario);
    report = search::verify(setup, options, [&watcher](const search::Progress& p) { return watcher(p); });
  }
  watcher.raise();
  return report;
}

/// The report, and whether everything has been seen.
std::pair<search::Report, bool> verify_all(const Scenario& scenario, const search::Options& options,
                                           py::object progress) {
  Watcher watcher(std::move(progress));
  search::Exhaustive done;
  {
    const py::gil_scoped_release release;
    const sim::Setup setup(scenario);
    done = search::verify_all(setup, options, [&watcher](const search::Progress& p) { return watcher(p); });
  }
  watcher.raise();
  return {std::move(done.report), done.complete};
}

search::Options options(std::uint64_t seed, std::uint64_t schedules, std::optional<double> seconds,
                        unsigned jobs, std::vector<std::string> claims) {
  search::Options o;
  o.seed = seed;
  o.schedules = schedules;
  if (seconds) o.budget = Duration::nanos(static_cast<std::int64_t>(*seconds * 1e9));
  o.jobs = jobs;
  o.claims = std::move(claims);
  return o;
}

/// What a file says of it: the setting as it is written, where, and with what value the claim would hold.
std::vector<py::dict> causes_of(const search::Counterexample& example) {
  std::vector<py::dict> out;
  for (const search::Cause& cause : example.causes) {
    py::dict entry;
    entry["setting"] = cause.setting;
    entry["value"] = cause.value;
    entry["instead"] = cause.instead;
    entry["line"] = cause.line;
    out.push_back(std::move(entry));
  }
  return out;
}

/// The scenario that a schedule's faults are spelled out in, and whose search is over.
Scenario spelled_out(const Scenario& scenario, const Schedule& schedule) {
  Scenario out = scenario;
  out.faults.insert(out.faults.end(), schedule.faults.begin(), schedule.faults.end());
  out.menu = FaultMenu{};
  return out;
}

/// Names of the steps of one class of anchors: "application step", "client request" or "broker".
std::vector<std::string> steps_of(const std::string& anchors) {
  std::vector<std::string> names;
  for (std::string& name : step_names()) {
    const Step step = parse_step(name).value();
    const bool request = step.kind == Kind::request;
    if (anchors == (!portable(step) ? "broker" : request ? "client request" : "application step"))
      names.push_back(std::move(name));
  }
  return names;
}

/// Faults for live control runs, spread over all portable anchors that the menu allows. The search has tried
/// every one of them.
std::vector<Schedule> probes(const Scenario& scenario, std::uint64_t seed, std::size_t count) {
  const py::gil_scoped_release release;
  const sim::Setup setup(scenario);
  search::Runner runner(setup, scenario.claims);
  Schedule reference;
  reference.seed = seed;
  const search::Candidates candidates = search::collect(runner, reference);
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < candidates.count(); ++i) {
    if (portable(candidates.at(i).anchor->what)) all.push_back(i);
  }
  std::vector<Schedule> chosen;
  for (std::size_t k = 0; k < count && !all.empty(); ++k) {
    const auto choice = candidates.at(all[all.size() * (2 * k + 1) / (2 * count)]);
    Schedule schedule = reference;
    schedule.faults = {candidates.to_spec(choice)};
    chosen.push_back(std::move(schedule));
  }
  return chosen;
}

using Overtakes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

Schedule make_schedule(std::uint64_t seed, std::vector<MessageId> masked, bool zero_jitter,
                       std::uint64_t order, const Overtakes& overtakes) {
  Schedule schedule;
  schedule.seed = seed;
  schedule.masked = std::move(masked);
  schedule.zero_jitter = zero_jitter;
  schedule.order = order;
  for (const auto& [choice, pick] : overtakes) schedule.overtakes.push_back({choice, pick});
  return schedule;
}

Overtakes overtakes_of(const Schedule& schedule) {
  Overtakes out;
  for (const Overtake& o : schedule.overtakes) out.emplace_back(o.choice, o.pick);
  return out;
}

py::list rounds_of(const search::Report& report) {
  py::list out;
  for (const search::RoundReport& r : report.rounds) {
    py::dict round;
    round["round"] = std::string(name_of(r.round));
    round["schedules"] = r.schedules;
    round["cpu_seconds"] = r.seconds;
    round["new_shapes"] = r.new_shapes;
    out.append(round);
  }
  return out;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> shapes_over(const search::Report& report) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const auto& s : report.shapes_over) out.emplace_back(s.schedules, s.shapes);
  return out;
}

void bind_report(py::module_& m) {
  using search::ClaimReport;
  using search::Counterexample;
  using search::Report;
  py::class_<Counterexample>(m, "Counterexample")
      .def_readonly("scenario", &Counterexample::scenario)
      .def_readonly("schedule", &Counterexample::schedule)
      .def_property_readonly("causes", &causes_of)
      .def_readonly("finding", &Counterexample::finding)
      .def_readonly("story", &Counterexample::story)
      .def_readonly("story_lanes", &Counterexample::story_lanes)
      .def_readonly("messages_before", &Counterexample::messages_before)
      .def_readonly("messages_after", &Counterexample::messages_after)
      .def_readonly("shrink_runs", &Counterexample::shrink_runs);
  py::class_<ClaimReport>(m, "ClaimReport")
      .def_readonly("claim", &ClaimReport::claim)
      .def_property_readonly("verdict", [](const ClaimReport& r) { return name_of(r.verdict); })
      .def_readonly("observed", &ClaimReport::observed)
      .def_readonly("judged", &ClaimReport::judged)
      .def_readonly("violations", &ClaimReport::violations)
      .def_readonly("undecided", &ClaimReport::undecided)
      .def_readonly("first_failing_schedule", &ClaimReport::first_failing_schedule)
      .def_readonly("explanation", &ClaimReport::explanation)
      .def_readonly("counterexample", &ClaimReport::counterexample)
      .def_readonly("value", &ClaimReport::value);
  py::class_<Report>(m, "Report")
      .def_readonly("claims", &Report::claims)
      .def_readonly("schedules", &Report::schedules)
      .def_readonly("systematic", &Report::systematic)
      .def_readonly("reached", &Report::reached)
      .def_readonly("anchors", &Report::anchors)
      .def_readonly("anchors_reached", &Report::anchors_reached)
      .def_readonly("pairs", &Report::pairs)
      .def_readonly("pairs_total", &Report::pairs_total)
      .def_readonly("shapes", &Report::shapes)
      .def_property_readonly("shapes_over", &shapes_over)
      .def_property_readonly("rounds", &rounds_of)
      .def_readonly("seconds", &Report::seconds)
      .def_readonly("interrupted", &Report::interrupted);
}

}  // namespace

void bind_search(py::module_& m) {
  py::class_<Schedule>(m, "Schedule")
      .def(py::init(&make_schedule), py::arg("seed") = 1, py::arg("masked") = std::vector<MessageId>(),
           py::arg("zero_jitter") = false, py::arg("order") = 0, py::arg("overtakes") = Overtakes())
      .def_readonly("seed", &Schedule::seed)
      .def_readonly("masked", &Schedule::masked)
      .def_readonly("zero_jitter", &Schedule::zero_jitter)
      .def_readonly("order", &Schedule::order)
      .def_property_readonly("overtakes", &overtakes_of)
      .def_property_readonly("faults", [](const Schedule& s) { return s.faults.size(); });
  py::class_<SimulatedRun>(m, "SimulatedRun")
      .def_readonly("rows", &SimulatedRun::rows)
      .def_readonly("findings", &SimulatedRun::findings)
      .def_readonly("hash", &SimulatedRun::hash)
      .def_readonly("faults_reached", &SimulatedRun::faults_reached);
  m.def("simulate", &simulate, py::arg("scenario"), py::arg("schedule"), py::arg("fabric") = py::none());
  m.def("spelled_out", &spelled_out, py::arg("scenario"), py::arg("schedule"));

  m.def("steps_of", &steps_of, py::arg("anchors"));
  m.def("probes", &probes, py::arg("scenario"), py::arg("seed"), py::arg("count"));
  py::class_<search::Options>(m, "SearchOptions")
      .def(py::init(&options), py::arg("seed"), py::arg("schedules"), py::arg("seconds"), py::arg("jobs"),
           py::arg("claims"));
  bind_report(m);
  m.def("verify", &verify, py::arg("scenario"), py::arg("options"), py::arg("progress"));
  m.def("verify_all", &verify_all, py::arg("scenario"), py::arg("options"), py::arg("progress"));
}

}  // namespace mqlab::bindings
