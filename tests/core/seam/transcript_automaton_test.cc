#include "core/seam/transcript_automaton.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

namespace mqlab {
namespace {

using Ask = std::function<void(Effects&)>;

struct Life {
  TranscriptAutomaton automaton{true};
  Effects effects;
  OpId next = 1;

  std::string step(
      const Event& event, const Ask& ask = [](Effects&) {}) {
    effects.begin(next);
    ask(effects);
    next = effects.next_op();
    return automaton.step(event, effects.list());
  }
};

const std::array<PlacePosition, 2> places = {PlacePosition{0, -1}, PlacePosition{1, -1}};

Event of(EventKind kind, std::span<const PlacePosition> those = {}) {
  Event event;
  event.kind = kind;
  event.places = those;
  return event;
}

Event answer(OpId op, std::span<const Message> messages) {
  Event event;
  event.kind = EventKind::delivered;
  event.op = op;
  event.messages = messages;
  return event;
}

Event settled(const Settlement& s) {
  Event event;
  event.kind = EventKind::settled;
  event.settlements = {&s, 1};
  return event;
}

Settlement settlement(OpId op, Kind of) {
  Settlement s;
  s.op = op;
  s.of = of;
  return s;
}

Message from(PlaceId place) {
  Message m;
  m.id = 1;
  m.place = place;
  return m;
}

const Ask fetch = [](Effects& e) { e.fetch(0, 1); };
const Ask accept = [](Effects& e) { e.accept(places, 1); };
const Ask release = [](Effects& e) { e.release(places, 1); };

TEST(TranscriptAutomaton, a_life_by_the_rules_is_accepted) {
  Life life;
  const std::vector<Message> one = {from(1)};
  EXPECT_EQ(life.step(of(EventKind::start), fetch), "");
  EXPECT_EQ(life.step(of(EventKind::assigned, places), accept), "");
  EXPECT_EQ(life.step(settled(settlement(2, Kind::accept))), "");
  EXPECT_EQ(life.step(answer(1, one), fetch), "");
  EXPECT_EQ(life.step(of(EventKind::revoking, places), release), "");
  EXPECT_EQ(life.step(of(EventKind::assigned, places), accept), "");
}

TEST(TranscriptAutomaton, an_op_settles_once_and_as_what_it_is) {
  Life life;
  const Ask publish = [](Effects& e) { e.publish(0, from(0)); };
  life.step(of(EventKind::start), publish);
  EXPECT_EQ(life.step(settled(settlement(7, Kind::publish))), "op 7 settles but was never asked for");
  EXPECT_EQ(life.step(settled(settlement(1, Kind::flush))), "op 1 settles as another kind of effect");
  EXPECT_EQ(life.step(settled(settlement(1, Kind::publish))), "");
  EXPECT_EQ(life.step(settled(settlement(1, Kind::publish))), "op 1 settles twice");
}

TEST(TranscriptAutomaton, a_fetch_has_one_answer) {
  Life life;
  life.step(of(EventKind::start), fetch);
  EXPECT_EQ(life.step(answer(1, {})), "");
  EXPECT_EQ(life.step(answer(1, {})), "op 1 is answered but no open fetch");
}

TEST(TranscriptAutomaton, no_record_comes_before_accept_or_after_release) {
  const std::vector<Message> one = {from(1)};
  Life early;
  early.step(of(EventKind::start), fetch);
  EXPECT_EQ(early.step(answer(1, one)), "a record of place 1, which is not held");
  Life late;
  late.step(of(EventKind::start), fetch);
  late.step(of(EventKind::assigned, places), accept);
  late.step(of(EventKind::revoking, places), release);
  EXPECT_EQ(late.step(answer(1, one)), "a record of place 1, which is not held");
}

TEST(TranscriptAutomaton, rebalances_come_one_at_a_time) {
  Life life;
  EXPECT_EQ(life.step(of(EventKind::assigned, places)), "");
  EXPECT_EQ(life.step(of(EventKind::revoking, places)),
            "a rebalance begins before the one before it was answered");
  Life twice;
  twice.step(of(EventKind::assigned, places), accept);
  EXPECT_EQ(twice.step(of(EventKind::assigned, places)), "place 0 is assigned but held");
  Life never;
  EXPECT_EQ(never.step(of(EventKind::revoking, places)), "place 0 is revoked but not held");
}

}  // namespace
}  // namespace mqlab
