#include "core/seam/port_automaton.h"

#include <gtest/gtest.h>

namespace mqlab {
namespace {

constexpr ProcessId embed = 0, billing = 1;

/// Writes rows as the driver does.
class Script {
 public:
  History history;

  Row& row(Kind kind, Phase phase, OpId op = 0) {
    Row& r = history.next(kind, phase);
    r.process = process;
    r.incarnation = incarnation;
    r.op = op;
    return r;
  }
  Script& start() { return row(Kind::start, Phase::ok), *this; }
  Script& dies() { return row(Kind::stop, Phase::fail), *this; }
  Script& ask(Kind kind, OpId op) { return row(kind, Phase::invoke, op), *this; }
  Script& settle(Kind kind, OpId op, Phase phase = Phase::ok) { return row(kind, phase, op), *this; }
  Script& places(Kind kind, Phase phase, OpId op, std::initializer_list<PlaceId> list) {
    Row& head = row(kind, phase, op);
    head.flags = flag::header;
    head.aux = static_cast<std::int64_t>(list.size());
    for (const PlaceId place : list) row(kind, phase, op).place = place;
    return *this;
  }
  Script& assigned(std::initializer_list<PlaceId> list) { return places(Kind::assigned, Phase::ok, 0, list); }
  Script& revoking(std::initializer_list<PlaceId> list) { return places(Kind::revoking, Phase::ok, 0, list); }
  Script& accept(OpId op, std::initializer_list<PlaceId> list) {
    return places(Kind::accept, Phase::invoke, op, list);
  }
  Script& release(OpId op, std::initializer_list<PlaceId> list) {
    return places(Kind::release, Phase::invoke, op, list);
  }
  Script& batch(OpId op, std::initializer_list<PlaceId> list, std::int64_t announced = -1) {
    Row& head = row(Kind::fetch, Phase::ok, op);
    head.flags = flag::header;
    head.aux = announced < 0 ? static_cast<std::int64_t>(list.size()) : announced;
    for (const PlaceId place : list) row(Kind::deliver, Phase::ok, op).place = place;
    return *this;
  }
  Script& again() {
    ++incarnation;
    return start();
  }

  ProcessId process = embed;
  Incarnation incarnation = 0;
};

std::string verdict(const Script& script) {
  const auto breach = check_ports(script.history, {"embed-0", "billing"}, {"requests/0", "requests/1"});
  if (!breach) return "";
  EXPECT_EQ(breach->row + 1, script.history.size())
      << breach->what;  // every script ends with the offending row
  return breach->what;
}

Script running() { return std::move(Script().start()); }
Script holding() {
  return std::move(Script().start().assigned({0, 1}).accept(1, {0, 1}).settle(Kind::accept, 1));
}

TEST(PortAutomaton, AcceptsAWholeLife) {
  Script s = holding();
  s.ask(Kind::fetch, 2)
      .batch(2, {0, 1, 0})
      .ask(Kind::publish, 3)
      .ask(Kind::publish, 4)
      .settle(Kind::publish, 4);
  s.settle(Kind::publish, 3, Phase::fail)
      .places(Kind::commit, Phase::invoke, 5, {0, 1})
      .settle(Kind::commit, 5);
  s.revoking({1})
      .ask(Kind::fetch, 6)
      .batch(6, {1})
      .release(7, {1})
      .settle(Kind::release, 7)
      .assigned({1})
      .accept(8, {1});
  s.ask(Kind::fetch, 9).batch(9, {}).ask(Kind::fetch, 10).row(Kind::handle, Phase::ok);
  s.dies().settle(Kind::accept, 8, Phase::unknown).settle(Kind::fetch, 10, Phase::unknown);
  s.again().assigned({0}).accept(1, {0}).ask(Kind::fetch, 2).batch(2, {0});
  s.row(Kind::stop, Phase::ok);
  s.ask(Kind::leave, 3).settle(Kind::leave, 3).row(Kind::stop, Phase::invoke);
  EXPECT_EQ(verdict(s), "");
}

TEST(PortAutomaton, AReaderWithoutGroupHoldsNothingAndReadsAll) {
  Script s = running();
  s.process = billing;
  s.start().ask(Kind::fetch, 1).batch(1, {0, 1});
  EXPECT_EQ(verdict(s), "");
}

TEST(PortAutomaton, RefusesWhatSettlesWithoutReason) {
  EXPECT_EQ(verdict(running().ask(Kind::publish, 1).settle(Kind::publish, 1).settle(Kind::publish, 1)),
            "embed-0 saw publish (op 1) settle twice");
  EXPECT_EQ(verdict(running().ask(Kind::publish, 1).settle(Kind::publish, 2)),
            "embed-0 saw publish (op 2) settle, which it never asked for");
  EXPECT_EQ(verdict(running().ask(Kind::publish, 1).settle(Kind::commit, 1)),
            "embed-0 saw commit (op 1) settle, but that op is a publish");
  EXPECT_EQ(verdict(running()
                        .ask(Kind::publish, 1)
                        .dies()
                        .settle(Kind::publish, 1, Phase::unknown)
                        .settle(Kind::publish, 1, Phase::unknown)),
            "embed-0 saw publish (op 1) settle twice");
  EXPECT_EQ(verdict(running().ask(Kind::publish, 1).dies().again().settle(Kind::publish, 1)),
            "embed-0 saw publish (op 1) settle, which it never asked for");
  EXPECT_EQ(verdict(running().ask(Kind::publish, 2).ask(Kind::publish, 2)),
            "embed-0 used an op twice: publish (op 2)");
  EXPECT_EQ(verdict(running().ask(Kind::publish, 0)), "embed-0 asked for a publish without an op");
}

TEST(PortAutomaton, RefusesRecordsThatShouldNotCome) {
  EXPECT_EQ(verdict(holding().ask(Kind::fetch, 2).batch(2, {0, 1}, 1)),
            "embed-0 was given a record that no batch announced");
  EXPECT_EQ(verdict(holding().ask(Kind::fetch, 2).batch(2, {0}, 2).ask(Kind::publish, 3)),
            "embed-0 was promised 1 more records in its batch");
  EXPECT_EQ(verdict(holding().revoking({1}).release(2, {1}).ask(Kind::fetch, 3).batch(3, {1})),
            "embed-0 was given a record of requests/1, which it does not hold");
  EXPECT_EQ(verdict(running().assigned({0}).ask(Kind::fetch, 1).batch(1, {0})),
            "embed-0 was given a record of requests/0, which it does not hold");
  EXPECT_EQ(verdict(holding().dies().again().ask(Kind::fetch, 1).batch(1, {0})),
            "embed-0 was given a record of requests/0, which it does not hold");
}

TEST(PortAutomaton, RefusesAHandshakeOutOfStep) {
  EXPECT_EQ(verdict(holding().assigned({0})), "embed-0 was assigned requests/0 twice");
  EXPECT_EQ(verdict(running().assigned({0}).revoking({1})),
            "embed-0 was to give up requests/1, which it did not have");
  EXPECT_EQ(verdict(holding().revoking({0}).revoking({0})),
            "embed-0 was to give up requests/0, which it did not have");
  EXPECT_EQ(verdict(running().assigned({0}).accept(1, {1})),
            "embed-0 accepted requests/1, which it was not assigned");
  EXPECT_EQ(verdict(holding().release(2, {0})), "embed-0 released requests/0, which nobody asked for");
}

TEST(PortAutomaton, RefusesLifeAfterDeath) {
  EXPECT_EQ(verdict(Script().ask(Kind::publish, 1)), "embed-0 wrote a publish before it started");
  EXPECT_EQ(verdict(running().dies().ask(Kind::publish, 1)), "embed-0 wrote a publish after its end");
  EXPECT_EQ(verdict(running().ask(Kind::publish, 1).dies().settle(Kind::publish, 1)),
            "embed-0 wrote a publish after its end");
  EXPECT_EQ(verdict(running().dies().dies()), "embed-0 ended twice");
  EXPECT_EQ(verdict(running().start()), "embed-0 started while it was running");
  EXPECT_EQ(verdict(running().dies().start()), "embed-0 started again as incarnation 0");
  Script s = running();
  s.dies().again();
  s.incarnation = 0;
  EXPECT_EQ(verdict(s.ask(Kind::publish, 1)), "embed-0 wrote a row of incarnation 0 while 1 lives");
}

TEST(PortAutomaton, LooksAtNothingButPorts) {
  Script s;
  for (const Kind kind : {Kind::fault, Kind::heal, Kind::quiet, Kind::audit, Kind::audit_end, Kind::request,
                          Kind::append, Kind::elect}) {
    s.row(kind, Phase::ok);
  }
  EXPECT_EQ(verdict(s), "");
}

}  // namespace
}  // namespace mqlab
