#include <gtest/gtest.h>

#include "tests/sim/nats_run.h"

namespace mqlab::sim::nats {
namespace {

// Two stages name one durable: the second one's settings are ignored unless it updates it.
TEST(NatsConsumer, AnUpdateChangesADurableThatIsThere) {
  for (const bool update : {false, true}) {
    ScenarioRun run(system(
        "", "ack_wait = \"1s\"", "", "",
        "[[stages]]\nname = \"d\"\nmodule = \"consumer\"\ninput = \"s\"\nconsumer = { durable = \"c\", "
        "ack_wait = \"3s\"" +
            std::string(update ? ", action = \"update\"" : "") + " }\n"));
    run.script("p", publisher(1));
    run.script("d-0", silent());
    run.script("c-0", consumer(1, [](const Message& m, Effects& effects) {
                 if (m.attempt == 2) ack(m, effects);
               }));
    run.run();
    const auto rows = run.rows(Kind::deliver);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_NEAR(at(rows[1]) - at(rows[0]), update ? 3.0 : 1.0, 0.01);
  }
}

}  // namespace
}  // namespace mqlab::sim::nats
