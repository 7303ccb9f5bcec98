// Bandwidth is shared as the closed form of max-min fairness says. Each test is a process of its own: SimGrid
// has one engine in a process's life.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "core/scenario/error.h"
#include "core/scenario/reader.h"
#include "sim/network/simgrid.h"

// LeakSanitizer looks through the stacks of SimGrid's contexts and falls over their guard pages.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace mqlab::sim {
namespace {

constexpr std::uint32_t megabyte = 1'000'000;

Scenario scenario(const std::string& network) {
  return read_scenario(
      "name = \"shared\"\n[broker]\nkind = \"kafka\"\nnodes = 3\n[topic]\nname = \"t\"\n"
      "[workload]\ntopic = \"t\"\nmessages = 1\nproducers = 4\n[claims]\nno_loss = { of = \"t\" "
      "}\n[network]\n" +
          network,
      "shared.toml");
}

/// Brokers in the second rack, producers in the first, ten megabytes a second between them.
constexpr char uplink[] =
    "racks = { racks = 2, hosts = 8, host = \"1000MB/s\", rack = \"10MB/s\", host_latency = \"10us\","
    " rack_latency = \"20us\" }\n"
    "place = { kafka-1 = \"zone1-rack2-host1\", kafka-2 = \"zone1-rack2-host2\", kafka-3 = "
    "\"zone1-rack2-host3\","
    " producer-0 = \"zone1-rack1-host1\", producer-1 = \"zone1-rack1-host2\", producer-2 = "
    "\"zone1-rack1-host3\","
    " producer-3 = \"zone1-rack1-host4\" }\n";
constexpr ProcessId broker = 0, producer = 3;

struct End {
  std::uint64_t flow;
  double seconds;
};

std::vector<End> ends(Fabric& fabric) {
  std::vector<End> out;
  for (;;) {
    const Fabric::Ended ended = fabric.next({3'600'000'000'000});
    if (ended.flow == 0) return out;
    out.push_back({ended.flow, static_cast<double>(ended.at.ns) * 1e-9});
  }
}

constexpr Instant at_ms(std::int64_t ms) { return {ms * 1'000'000}; }

TEST(SimGrid, LatencyIsTheLinksSum) {
  const auto fabric = simgrid_fabric(scenario(uplink));
  EXPECT_EQ(fabric->latency(producer, broker).ns, 60'000);
  EXPECT_EQ(fabric->latency(producer, producer + 1).ns, 20'000);
  EXPECT_FALSE(fabric->local(producer, broker));
}

TEST(SimGrid, FourFlowsShareAnUplinkEqually) {
  const auto fabric = simgrid_fabric(scenario(uplink));
  for (ProcessId p = 0; p < 4; ++p)
    fabric->begin({}, p + 1u, static_cast<ProcessId>(producer + p), broker, 5 * megabyte);
  const std::vector<End> all = ends(*fabric);
  ASSERT_EQ(all.size(), 4u);
  for (const End& e : all) EXPECT_NEAR(e.seconds, 2.0, 1e-9);
}

TEST(SimGrid, WhatOneCannotUseTheOthersGet) {
  std::string slow = uplink;  // all of it to one host: its link takes 3, which leaves 7 of 10 for the other
  slow.replace(slow.find("1000MB/s"), 8, "3MB/s");
  const auto fabric = simgrid_fabric(scenario(slow));
  fabric->begin({}, 1, producer, broker, 3 * megabyte);
  fabric->begin({}, 2, producer + 1, broker + 1, 3 * megabyte);
  fabric->begin({}, 3, producer + 2, broker + 2, 3 * megabyte);
  for (const End& e : ends(*fabric)) EXPECT_NEAR(e.seconds, 1.0, 1e-9) << e.flow;
}

TEST(SimGrid, SharesChangeAsFlowsComeAndGo) {
  const auto fabric = simgrid_fabric(scenario(uplink));
  fabric->begin({}, 1, producer, broker, 10 * megabyte);
  EXPECT_EQ(fabric->next(at_ms(500)).flow, 0u);
  fabric->begin(at_ms(500), 2, producer + 1, broker, 10 * megabyte);
  // Alone for half a second, together for one, alone again.
  const std::vector<End> all = ends(*fabric);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].flow, 1u);
  EXPECT_NEAR(all[0].seconds, 1.5, 1e-9);
  EXPECT_NEAR(all[1].seconds, 2.0, 1e-9);
}

TEST(SimGrid, BothWaysAreApart) {
  const auto fabric = simgrid_fabric(scenario(uplink));
  fabric->begin({}, 1, producer, broker, 10 * megabyte);
  fabric->begin({}, 2, broker, producer, 10 * megabyte);
  for (const End& e : ends(*fabric)) EXPECT_NEAR(e.seconds, 1.0, 1e-9);
}

TEST(SimGrid, WhatIsGivenUpLeavesItsShare) {
  const auto fabric = simgrid_fabric(scenario(uplink));
  fabric->begin({}, 1, producer, broker, 10 * megabyte);
  fabric->begin({}, 2, producer + 1, broker, 10 * megabyte);
  EXPECT_EQ(fabric->next(at_ms(1000)).flow, 0u);
  fabric->abandon(at_ms(1000), 2);
  const std::vector<End> all = ends(*fabric);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(all[0].seconds, 1.5, 1e-9);
}

TEST(SimGrid, ALinkThatAProfileTurnsOffIsWaitedFor) {
  const std::string folder = testing::TempDir();
  std::ofstream(folder + "link.state") << "0.5 0\n0.65 1\n";
  std::ofstream(folder + "failing.xml")
      << "<?xml version=\"1.0\"?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
         "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/>"
         "<host id=\"b\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"10MBps\" latency=\"0ms\" "
         "state_file=\"link.state\"/><route src=\"a\" dst=\"b\"><link_ctn "
         "id=\"l\"/></route></zone></platform>";
  const auto fabric = simgrid_fabric(
      scenario("platform = \"" + folder + "failing.xml\"\nplace = { kafka = \"a\", producer = \"b\" }\n"));
  fabric->begin({}, 1, producer, broker, 10 * megabyte);
  const std::vector<End> all = ends(*fabric);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NEAR(all[0].seconds, 0.5 + 0.2 + 1.0, 1e-9);  // fails, is resent after 200 ms, from its first byte
}

TEST(SimGrid, SignalHandlersStayTheCallers) {
  struct sigaction mine = {}, after = {};
  mine.sa_handler = [](int) {};
  sigaction(SIGINT, &mine, nullptr);
  const auto fabric = simgrid_fabric(scenario(uplink));
  sigaction(SIGINT, nullptr, &after);
  EXPECT_EQ(after.sa_handler, mine.sa_handler);
}

/// The one line about a network that cannot be.
std::string complaint(const std::string& network) {
  try {
    simgrid_fabric(scenario(network));
  } catch (const ScenarioError& e) {
    return e.what();
  }
  return "none";
}

TEST(SimGrid, AMissingPlatformIsNamed) {
  const std::string said = complaint("platform = \"/nowhere/cluster.xml\"\n");
  EXPECT_NE(said.find("network.platform: \"/nowhere/cluster.xml\""), std::string::npos) << said;
}

TEST(SimGrid, APlaceThatIsNoHostIsNamedWithTheNearest) {
  const std::string said = complaint("racks = {}\nplace = { kafka-1 = \"zone1-rack1-hots1\" }\n");
  EXPECT_NE(said.find("shared.toml:15: network.place.kafka-1"), std::string::npos) << said;
  EXPECT_NE(said.find("zone1-rack1-host1"), std::string::npos) << said;
}

}  // namespace
}  // namespace mqlab::sim
