// A simulated NATS system under test: streams, and scripts that publish and consume.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tests/sim/scenario_run.h"

namespace mqlab::sim::nats {

inline Message message(MessageId id, std::uint32_t size = 100) {
  Message m;
  m.id = id;
  m.size = size;
  m.digest = id * 7919ull;
  return m;
}

/// A producer process "p" whose first message is due long after the test is over, so that only the script
/// speaks.
inline std::string system(const std::string& stream_properties = "", const std::string& consumer = "",
                          const std::string& producer = "", const std::string& broker = "",
                          const std::string& more = "") {
  return "name = \"t\"\n"
         "[broker]\nkind = \"nats\"\n" +
         broker +
         "\n"
         "[[streams]]\nname = \"s\"\n" +
         stream_properties +
         "\n"
         "[workload]\nname = \"p\"\ntopic = \"s\"\nrate = \"1/s\"\nmessages = 1\n"
         "producer = { " +
         producer +
         " }\n"
         "[[stages]]\nname = \"c\"\nmodule = \"consumer\"\ninput = \"s\"\n"
         "consumer = { " +
         consumer + " }\n" + more + "\n";
}

/// A script that publishes messages 1 … n at once at the start, ignoring the workload.
inline Script publisher(std::uint32_t n, std::uint32_t size = 100) {
  return [n, size](const Now&, const Event& event, Effects& effects) {
    if (event.kind != EventKind::start) return;
    for (MessageId id = 1; id <= n; ++id) effects.publish(0, message(id, size));
  };
}

/// n times, a tenth of a second apart.
inline std::vector<Duration> tenths(int n) {
  std::vector<Duration> ticks;
  for (int i = 1; i <= n; ++i) ticks.push_back(Duration::millis(100 * i));
  return ticks;
}

/// Publishes message i at the i-th of tenths().
inline Script steady() {
  return [](const Now& now, const Event& event, Effects& effects) {
    if (event.kind != EventKind::tick) return;
    effects.publish(0, message(static_cast<MessageId>(now.mono.ns / 100'000'000)));
  };
}

inline Script silent() {
  return [](const Now&, const Event&, Effects&) {};
}

/// Fetches `batch` at a time for ever; `with` decides what to do with each message.
inline Script consumer(std::uint32_t batch, std::function<void(const Message&, Effects&)> with) {
  return [batch, with](const Now&, const Event& event, Effects& effects) {
    if (event.kind == EventKind::delivered) {
      for (const Message& m : event.messages) with(m, effects);
    }
    if (event.kind == EventKind::start || event.kind == EventKind::delivered) effects.fetch(0, batch);
  };
}

inline void ack(const Message& m, Effects& effects) { effects.ack({&m.receipt, 1}); }

}  // namespace mqlab::sim::nats
