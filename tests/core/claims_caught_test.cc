// Pipelines with one planted defect: each must be caught.
#include "tests/core/claims_mutations.h"

namespace mqlab::testing {
namespace {

TEST(Caught, AModuleThatDoesNothing) {
  const Lab lab;
  const ProcessId embeds[] = {lab.process("embed-0"), lab.process("embed-1")};
  const Rows rows = without(good_history(lab), [&](const Row& r) {
    const bool its_doing =
        r.process == embeds[0] || r.process == embeds[1] || r.process == lab.process("billing");
    const std::string place = r.place == no_place ? "" : lab.topology.places[r.place].name;
    if (r.kind == Kind::usage) return true;
    return its_doing || (is_record_audit(r) && (place.starts_with("vectors") || place == "index"));
  });
  for (const ClaimSpec& spec : every_claim()) {
    const Finding finding = lab.judge(spec, rows);
    if (spec.in == "requests") continue;  // the workload's own order is as it was
    EXPECT_NE(finding.verdict, Verdict::holds) << spec.scope() << ": " << finding.explanation;
    const bool about_loss =
        spec.id == "no_loss" || spec.id == "exactly_once" || spec.id.starts_with("latency");
    if (about_loss) {
      EXPECT_EQ(finding.verdict, Verdict::violated) << spec.scope();
    }
  }
}

TEST(Caught, AModuleThatStampsNewIds) {
  const Lab lab;
  Rows rows = good_history(lab);
  for (Row& r : rows) {
    const std::string place = r.place == no_place ? "" : lab.topology.places[r.place].name;
    const bool output = r.kind == Kind::publish && lab.topology.processes[r.process].group == "embed";
    if (output || place.starts_with("vectors")) r.message += r.message == 0 ? 0 : 5000;
  }
  for (const char* id : {"no_loss", "no_phantom", "exactly_once"}) {
    EXPECT_EQ(lab.judge(claim(id, "requests", "vectors"), rows).verdict, Verdict::violated) << id;
    EXPECT_EQ(lab.judge(claim(id, "requests", "vectors", "billing"), rows).verdict, Verdict::violated) << id;
  }
}

TEST(Caught, APortThatHidesEveryTenthRecord) {
  const Lab lab;
  const Rows rows = good_history(lab);
  const auto hide = [&](std::string_view process) {
    int n = 0;
    return without(rows, [&, reader = lab.process(process)](const Row& r) {
      return r.kind == Kind::deliver && r.process == reader && ++n % 10 == 0;
    });
  };
  const Finding finding = lab.judge(claim("no_loss", "requests", "vectors", "billing"), hide("billing"));
  EXPECT_EQ(finding.verdict, Verdict::violated);
  EXPECT_EQ(finding.violations, 12u);
  EXPECT_EQ(lab.judge(claim("exactly_once", "requests", "vectors", "billing"), hide("billing")).verdict,
            Verdict::violated);
  // A stage that never sees every tenth record never handles, publishes or completes it.
  int n = 0;
  std::set<MessageId> unseen;
  for (const Row& r : rows) {
    if (r.kind == Kind::deliver && lab.topology.processes[r.process].group == "embed" && ++n % 10 == 0)
      unseen.insert(r.message);
  }
  const Rows stage = without(rows, [&](const Row& r) {
    const std::string place = r.place == no_place ? "" : lab.topology.places[r.place].name;
    return unseen.count(r.message) != 0 &&
           (lab.topology.processes[r.process].group == "embed" || place.starts_with("vectors"));
  });
  for (const ClaimSpec& spec :
       {claim("no_loss", "requests", "vectors"), claim("no_loss", "requests", "vectors", "billing"),
        claim("no_loss", "requests", "", "", {{"stage", "embed", 0}})}) {
    const Finding found = lab.judge(spec, stage);
    EXPECT_EQ(found.verdict, Verdict::violated) << spec.scope();
    EXPECT_EQ(found.violations, unseen.size()) << spec.scope();
    EXPECT_EQ(found.message, *unseen.begin()) << spec.scope();
  }
}

TEST(Caught, ABacklogThatGrowsAndAPipelineThatIsSlow) {
  const Lab lab;
  Story story(lab);
  for (MessageId id = 1; id <= 120; ++id)
    story.send(id, "api-0", "requests/0", id - 1).found(id, "requests/0", id - 1);
  story.later(60'000'000'000);
  for (MessageId id = 1; id <= 120; ++id) story.complete(id, "embed-0", "requests/0", id - 1);
  const Rows rows = story.end().rows;
  const Property stage = {"stage", "embed", 0};
  const Finding backlog =
      lab.judge(claim("backlog.bounded", "requests", "", "", {{"at_most", "100", 0}, stage}), rows);
  EXPECT_EQ(backlog.verdict, Verdict::violated);
  EXPECT_EQ(backlog.message, 101u);
  EXPECT_EQ(
      lab.judge(claim("backlog.bounded", "requests", "", "", {{"at_most", "120", 0}, stage}), rows).verdict,
      Verdict::holds);
  EXPECT_EQ(lab.judge(claim("throughput", "requests", "", "", {{"at_least", "1/s", 0}, stage}), rows).verdict,
            Verdict::violated);
  EXPECT_EQ(lab.judge(claim("latency.p50", "requests", "", "", {{"at_most", "1s", 0}, stage}), rows).verdict,
            Verdict::violated);
  EXPECT_EQ(lab.judge(claim("latency.p50", "requests", "", "", {{"at_most", "90s", 0}, stage}), rows).verdict,
            Verdict::holds);
}

}  // namespace
}  // namespace mqlab::testing
