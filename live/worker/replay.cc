#include "live/worker/replay.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/limits.h"
#include "core/modules/registry.h"
#include "core/seam/driver.h"
#include "core/seam/transcript.h"
#include "core/seam/transcript_automaton.h"
#include "live/port.h"
#include "platform/row_file.h"

namespace mqlab::live {
namespace {

std::vector<std::byte> bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(path + ": cannot be read");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::vector<Row> rows_of(const std::string& path) {
  const std::vector<std::byte> bytes = bytes_of(path);
  std::uint64_t count = 0;
  if (bytes.size() < RowFile::header_bytes) throw UsageError(path + ": not a row file");
  std::memcpy(&count, bytes.data() + offsetof(RowFileHeader, count), sizeof count);
  std::vector<Row> rows(std::min<std::uint64_t>(count, (bytes.size() - RowFile::header_bytes) / sizeof(Row)));
  std::memcpy(static_cast<void*>(rows.data()), bytes.data() + RowFile::header_bytes,
              rows.size() * sizeof(Row));
  return rows;
}

/// Writes rows as a worker does, and carries nothing out.
class Replayer final : public Host {
 public:
  Row& row(Kind kind, Phase phase) override {
    Row& row = rows.emplace_back();
    row.kind = kind;
    row.phase = phase;
    return row;
  }
  Gate anchored(const Row&) override { return Gate::go; }
  void carry_out(const Effect&) override {}
  std::vector<Row> rows;
};

/// Hands a recorded event on as the driver's, so that the rows of events and effects come out in their order.
class Recorder final : public Module {
 public:
  Recorder(Module& module, Replayer& host, bool assigns)
      : module_(module), host_(host), automaton_(assigns) {}
  /// The first rule of ports that a step broke.
  const std::string& wrong() const { return wrong_; }
  void handle(const Now& now, const Event& event, Effects&) override {
    drive(module_, host_, effects_, state_, now, event);
    if (wrong_.empty()) wrong_ = automaton_.step(event, effects_.list());
  }
  Instant deadline() const override { return module_.deadline(); }

 private:
  Module& module_;
  Replayer& host_;
  Effects effects_;
  DriverState state_;
  TranscriptAutomaton automaton_;
  std::string wrong_;
};

/// What does not follow from the events: when, and who.
Row timeless(Row row) {
  row.time = 0;
  row.process = 0;
  row.incarnation = 0;
  return row;
}

}  // namespace

int replay(const Options& options) {
  const Scenario scenario = options.scenario();
  const Topology topology(scenario);
  const ProcessId process = topology.process(options.text("process"));
  if (process == no_process)
    throw UsageError("--process " + options.text("process") + ": no such process in the scenario");
  EventQueue events;
  const PortContext port_context{scenario, topology, process, 0, 1, RunClock(0, 0), "", "", events, {}};
  ModuleContext context;
  context.process = process;
  context.instance = topology.processes[process].instance;
  context.incarnation = static_cast<Incarnation>(options.integer_or("incarnation", 0));
  context.capabilities = make_port(port_context, options.text_or("store", ""))->capabilities();
  context.seed = options.seed();
  context.random = RandomStream(draw(context.seed, Purpose::module, process, context.incarnation));
  const auto plan = plan_module(scenario, topology, process);
  Arena arena(limits::arena_reserve_bytes);
  Replayer host;
  Recorder recorder(*plan->make(arena, context), host, context.capabilities.log);
  const std::vector<std::byte> transcript = bytes_of(options.text("transcript"));
  const std::size_t count =
      replay_transcript(transcript, recorder, [](const Now&, const Event&, std::span<const Effect>) {});

  const std::vector<Row> written = rows_of(options.text("rows"));
  // A kill cuts the rows, never the other way round: each event is recorded before its rows.
  std::size_t equal = 0;
  while (equal < std::min(written.size(), host.rows.size()) &&
         timeless(written[equal]) == timeless(host.rows[equal]))
    ++equal;
  const bool whole = equal == written.size();
  nlohmann::json out = {
      {"events", count}, {"rows", written.size()}, {"equal", equal}, {"port", recorder.wrong()}};
  if (!whole && equal < host.rows.size()) {
    out["written"] =
        std::string(name_of(written[equal].kind)) + "." + std::string(name_of(written[equal].phase));
    out["replayed"] =
        std::string(name_of(host.rows[equal].kind)) + "." + std::string(name_of(host.rows[equal].phase));
  }
  std::printf("%s\n", out.dump().c_str());
  return whole && recorder.wrong().empty() ? 0 : 1;
}

}  // namespace mqlab::live
