#include "core/faults/anchor.h"

#include <gtest/gtest.h>
#include <set>

#include "core/scenario/error.h"
#include "core/scenario/reader.h"

namespace mqlab {
namespace {

Scenario scenario() {
  return read_scenario(R"(name = "f"
[broker]
kind = "kafka"
nodes = 3
[[topics]]
name = "in"
partitions = 2
replication = 3
[[topics]]
name = "out"
[workload]
topic = "in"
messages = 10
[[stages]]
name = "embed"
module = "stage"
instances = 2
input = "in"
output = "out"
)",
                       "f.toml");
}

Row row(Kind kind, Phase phase, ProcessId process, MessageId message = 0, std::uint16_t flags = 0) {
  Row r;
  r.kind = kind;
  r.phase = phase;
  r.process = process;
  r.message = message;
  r.flags = flags;
  return r;
}

TEST(Steps, NamesRoundTripAndAreUnique) {
  std::set<std::string> seen;
  for (const std::string& name : step_names()) {
    EXPECT_TRUE(seen.insert(name).second) << name;
    const auto step = parse_step(name);
    ASSERT_TRUE(step) << name;
    EXPECT_EQ(name_of(*step), name);
  }
  for (const char* name :
       {"publish", "publish.ok", "publish.unknown", "commit", "commit_transaction.ok", "deliver", "handle",
        "complete", "complete.fail", "fetch", "fetch.ok", "assigned", "start", "request.end_txn", "append"}) {
    EXPECT_TRUE(seen.contains(name)) << name;
  }
}

TEST(Steps, UnknownNames) {
  for (const char* name :
       {"", "publsh", "publish.", "publish.invoke", "publish.done", ".ok", "request", "request.none",
        "request.nothing", "deliver.ok", "start.fail", "fault", "audit", "quiet", "append.ok"}) {
    EXPECT_EQ(parse_step(name), std::nullopt) << name;
  }
}

TEST(Steps, OfRows) {
  EXPECT_EQ(step_of(row(Kind::publish, Phase::invoke, 1)), (Step{Kind::publish, Phase::invoke, 0}));
  EXPECT_EQ(step_of(row(Kind::commit, Phase::invoke, 1, 0, flag::header)),
            (Step{Kind::commit, Phase::invoke, 0}));
  EXPECT_EQ(step_of(row(Kind::commit, Phase::invoke, 1)), std::nullopt) << "a member of a batch";
  EXPECT_EQ(step_of(row(Kind::commit, Phase::ok, 1)), (Step{Kind::commit, Phase::ok, 0}))
      << "settled: one row";
  EXPECT_EQ(step_of(row(Kind::assigned, Phase::ok, 1)), std::nullopt);
  EXPECT_EQ(step_of(row(Kind::fault, Phase::ok, 1)), std::nullopt);
  EXPECT_EQ(step_of(row(Kind::stop, Phase::fail, 1)), std::nullopt) << "a dead process can do nothing more";
  Row request = row(Kind::request, Phase::invoke, 1);
  EXPECT_EQ(step_of(request), std::nullopt);
  request.code = static_cast<std::uint16_t>(RequestKind::end_txn);
  EXPECT_EQ(name_of(*step_of(request)), "request.end_txn");
  request.code = 9999;
  EXPECT_EQ(step_of(request), std::nullopt);
}

TEST(Steps, Portable) {
  for (const char* name : {"publish", "deliver", "commit.ok", "request.produce", "assigned"})
    EXPECT_TRUE(portable(*parse_step(name)));
  for (const char* name : {"append", "high_watermark", "marker", "truncate", "elect"})
    EXPECT_FALSE(portable(*parse_step(name)));
}

TEST(Bind, ProcessesTargetsAndLeaders) {
  const Scenario s = scenario();
  const Topology t(s);
  FaultSpec spec;
  spec.at = {.time = {}, .process = "embed", .step = "deliver", .message = 4, .nth = 2};
  Fault fault = bind(spec, s, t);
  EXPECT_EQ(fault.anchored, (std::vector{t.process("embed-0"), t.process("embed-1")}));
  EXPECT_EQ(fault.step, *parse_step("deliver"));
  EXPECT_EQ(fault.message, 4u);
  EXPECT_EQ(fault.nth, 2u);
  EXPECT_TRUE(fault.targets.empty());
  EXPECT_FALSE(fault.timed);

  spec.at.process = "embed-1";
  spec.target = "kafka";
  fault = bind(spec, s, t);
  EXPECT_EQ(fault.anchored, std::vector{t.process("embed-1")});
  EXPECT_EQ(fault.targets.size(), 3u);

  spec.target = "leader of in/1";
  EXPECT_EQ(bind(spec, s, t).leader_of, t.topics[t.topic("in")].first_place + 1);
  spec.target = "leader of out";
  EXPECT_EQ(bind(spec, s, t).leader_of, t.topics[t.topic("out")].first_place);

  spec.at = {.time = Duration::seconds(3), .process = "", .step = "", .message = 0, .nth = 1};
  fault = bind(spec, s, t);
  EXPECT_TRUE(fault.timed);
  EXPECT_EQ(fault.time.ns, 3'000'000'000);
}

TEST(Bind, OnlyBrokersHaveDisks) {
  const Scenario s = scenario();
  const Topology t(s);
  FaultSpec spec;
  spec.at.process = "embed-1";
  spec.at.step = "deliver";
  spec.action = Action::disk_full;
  for (const char* target : {"kafka-2", "kafka", "leader of out"}) {
    spec.target = target;
    EXPECT_NO_THROW(bind(spec, s, t)) << target;
  }
  for (const char* target : {"", "embed", "producer"}) {
    spec.target = target;
    EXPECT_THROW(bind(spec, s, t), ScenarioError) << target;
  }
}

TEST(Bind, SidesOfAPartition) {
  const Scenario s = scenario();
  const Topology t(s);
  FaultSpec spec;
  spec.at.time = Duration::seconds(1);
  spec.action = Action::partition;
  spec.between = {"kafka-1, embed-0", "rest"};
  const Fault fault = bind(spec, s, t);
  EXPECT_EQ(fault.side_a, (std::vector{t.process("kafka-1"), t.process("embed-0")}));
  EXPECT_EQ(fault.side_b, (std::vector{t.process("kafka-2"), t.process("kafka-3"), t.process("producer"),
                                       t.process("embed-1")}));
  EXPECT_EQ(fault.targets.size(), 1u) << "carried out once";
}

void refused(const FaultSpec& spec, const std::string& path, const std::string& part) {
  const Scenario s = scenario();
  try {
    bind(spec, s, Topology(s));
    ADD_FAILURE() << part;
  } catch (const ScenarioError& e) {
    EXPECT_EQ(e.path, path);
    EXPECT_NE(e.problem.find(part), std::string::npos) << e.what();
  }
}

TEST(Bind, Errors) {
  FaultSpec spec;
  spec.at = {.time = {}, .process = "embed", .step = "delivr", .message = 0, .nth = 1};
  refused(spec, "fault.at.step", "did you mean \"deliver\"?");
  spec.at.step = "commit";
  spec.at.message = 3;
  refused(spec, "fault.at.message", "no single message");
  spec.at = {.time = {}, .process = "embd", .step = "commit", .message = 0, .nth = 1};
  refused(spec, "fault.at.process", "did you mean \"embed\"?");
  spec.at.process = "embed";
  spec.target = "leader of in/2";
  refused(spec, "fault.target", "no partition");
  spec.target = "kafka-4";
  refused(spec, "fault.target", "no process");
  spec.target = "";
  spec.action = Action::partition;
  spec.between = {"kafka-1", "kafka"};
  refused(spec, "fault.between", "on both sides");
  Scenario s = scenario();
  s.menu.steps = {"deliver", "comit"};
  EXPECT_THROW(menu_steps(s), ScenarioError);
  s.menu.steps = {"deliver", "commit"};
  EXPECT_EQ(menu_steps(s).size(), 2u);
}

TEST(Matcher, OneAfterTheOther) {
  const Scenario s = scenario();
  const Topology t(s);
  const ProcessId embed = t.process("embed-0"), other = t.process("embed-1"),
                  producer = t.process("producer");
  FaultSpec first, second;
  first.at = {.time = {}, .process = "embed", .step = "deliver", .message = 0, .nth = 2};
  second.at = {.time = {}, .process = "embed-1", .step = "commit", .message = 0, .nth = 1};
  const std::vector<Fault> faults = {bind(first, s, t), bind(second, s, t)};
  Matcher m;
  m.arm(faults);
  EXPECT_EQ(m.match(row(Kind::commit, Phase::invoke, other, 0, flag::header)), nullptr) << "not armed yet";
  EXPECT_EQ(m.match(row(Kind::deliver, Phase::ok, producer, 1)), nullptr);
  EXPECT_EQ(m.match(row(Kind::deliver, Phase::ok, embed, 1)), nullptr) << "the first of two";
  EXPECT_EQ(m.match(row(Kind::deliver, Phase::ok, other, 2)), &faults[0]) << "any instance counts";
  EXPECT_EQ(m.armed(), 1u);
  EXPECT_EQ(m.match(row(Kind::commit, Phase::invoke, other)), nullptr) << "a member of a batch";
  EXPECT_EQ(m.match(row(Kind::commit, Phase::ok, other)), nullptr) << "another phase";
  EXPECT_EQ(m.match(row(Kind::commit, Phase::invoke, embed, 0, flag::header)), nullptr) << "another instance";
  EXPECT_EQ(m.match(row(Kind::commit, Phase::invoke, other, 0, flag::header)), &faults[1]);
  EXPECT_TRUE(m.exhausted());
  EXPECT_EQ(m.match(row(Kind::deliver, Phase::ok, embed, 1)), nullptr);
}

TEST(Matcher, MessageAndRequest) {
  const Scenario s = scenario();
  const Topology t(s);
  const ProcessId embed = t.process("embed-0");
  FaultSpec a, b;
  a.at = {.time = {}, .process = "embed", .step = "handle", .message = 7, .nth = 1};
  b.at = {.time = {}, .process = "embed", .step = "request.end_txn", .message = 0, .nth = 1};
  const std::vector<Fault> faults = {bind(a, s, t), bind(b, s, t)};
  Matcher m;
  m.arm(faults);
  EXPECT_EQ(m.match(row(Kind::handle, Phase::ok, embed, 6)), nullptr);
  EXPECT_NE(m.match(row(Kind::handle, Phase::ok, embed, 7)), nullptr);
  Row request = row(Kind::request, Phase::invoke, embed);
  request.code = static_cast<std::uint16_t>(RequestKind::produce);
  EXPECT_EQ(m.match(request), nullptr);
  request.code = static_cast<std::uint16_t>(RequestKind::end_txn);
  EXPECT_EQ(m.match(request), &faults[1]);
}

TEST(Matcher, TimedFaultsWaitForTheWorld) {
  const Scenario s = scenario();
  const Topology t(s);
  FaultSpec spec;
  spec.at.time = Duration::seconds(1);
  spec.target = "kafka-1";
  const std::vector<Fault> faults = {bind(spec, s, t)};
  Matcher m;
  m.arm(faults);
  EXPECT_EQ(m.match(row(Kind::deliver, Phase::ok, t.process("embed-0"), 1)), nullptr);
  EXPECT_EQ(m.timed(), &faults[0]);
  m.fired();
  EXPECT_EQ(m.timed(), nullptr);
  EXPECT_TRUE(m.exhausted());
}

}  // namespace
}  // namespace mqlab
