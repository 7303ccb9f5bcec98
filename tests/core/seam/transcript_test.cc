#include "core/seam/transcript.h"

#include <gtest/gtest.h>

#include <string_view>

#include "core/base/draw.h"

namespace mqlab {
namespace {

class Recorder final : public Module {
 public:
  void handle(const Now& now, const Event& event, Effects& effects) override {
    times.push_back(now.mono.ns);
    for (const Message& m : event.messages) {
      payloads.emplace_back(reinterpret_cast<const char*>(m.payload.data), m.payload.size);
      effects.publish(0, m);
    }
    for (const Settlement& s : event.settlements) positions.push_back(s.position);
    for (const PlacePosition& p : event.places) positions.push_back(p.position);
  }
  std::vector<std::int64_t> times, positions;
  std::vector<std::string> payloads;
};

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), static_cast<std::uint32_t>(text.size())};
}

std::vector<std::byte> sample() {
  std::vector<std::byte> out;
  std::vector<Message> messages(2);
  messages[0].id = 1;
  messages[0].payload = bytes_of("hello");
  messages[1].id = 2;
  Event delivered;
  delivered.kind = EventKind::delivered;
  delivered.op = 9;
  delivered.messages = messages;
  append_event(out, {Instant{5}, Instant{6}}, delivered);
  Settlement settlement;
  settlement.position = 77;
  settlement.value = bytes_of("stored");
  const PlacePosition place = {3, 12};
  Event settled;
  settled.kind = EventKind::settled;
  settled.settlements = {&settlement, 1};
  settled.places = {&place, 1};
  append_event(out, {Instant{8}, Instant{9}}, settled);
  return out;
}

TEST(Transcript, LeadsAFreshModuleThroughTheSameLife) {
  Recorder module;
  std::vector<OpId> ops;
  const auto bytes = sample();
  const std::size_t events =
      replay_transcript(bytes, module, [&](const Now&, const Event&, std::span<const Effect> effects) {
        for (const Effect& e : effects) ops.push_back(e.op);
      });
  EXPECT_EQ(events, 2u);
  EXPECT_EQ(module.payloads, (std::vector<std::string>{"hello", ""}));
  EXPECT_EQ(module.positions, (std::vector<std::int64_t>{77, 12}));
  EXPECT_EQ(module.times, (std::vector<std::int64_t>{5, 8}));
  EXPECT_EQ(ops, (std::vector<OpId>{1, 2}));
}

TEST(Transcript, ARecordCutShortEndsQuietly) {
  const auto bytes = sample();
  std::size_t whole_events = 0;
  for (std::size_t n = 0; n <= bytes.size(); ++n) {
    Recorder module;
    const std::size_t events = replay_transcript(std::span(bytes).first(n), module, [](auto&&...) {});
    EXPECT_GE(events, whole_events);
    whole_events = events;
  }
  EXPECT_EQ(whole_events, 2u);
}

TEST(Transcript, RefusesOrSurvivesAnyBytes) {
  auto bytes = sample();
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    auto broken = bytes;
    for (std::uint64_t k = 0; k < 1 + i % 3; ++k) {
      broken[below(draw(1, Purpose::module, i, k), broken.size())] ^= static_cast<std::byte>(1 << (i % 8));
    }
    Recorder module;
    try {
      replay_transcript(broken, module, [](auto&&...) {});
    } catch (const std::runtime_error&) {
    }
  }
}

}  // namespace
}  // namespace mqlab
