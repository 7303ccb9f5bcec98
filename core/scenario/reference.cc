#include "core/scenario/reference.h"

#include <array>

#include "core/scenario/kafka_settings.h"
#include "core/scenario/keys.h"
#include "core/scenario/nats_settings.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

struct Heading {
  std::string_view table;
  std::string_view title;
};
constexpr std::array<Heading, 24> headings = {{
    {"", "Top level"},
    {"broker", "`[broker]`, `[[brokers]]`"},
    {"broker.quotas", "`quotas` of a broker"},
    {"broker.quotas.client", "`quotas.clients.NAME` of a broker"},
    {"client", "`[client]`"},
    {"topic", "`[[topics]]`, `[topic]` (Kafka)"},
    {"stream", "`[[streams]]`, `[stream]` (NATS)"},
    {"workload", "`[workload]`, `[[workloads]]`"},
    {"workload.size", "`size` of a workload, as a table"},
    {"workload.arrival", "`arrival` of a workload, as a table"},
    {"workload.keys", "`keys` of a workload, as a table"},
    {"stage", "`[[stages]]`, `[stage]`"},
    {"stage.failure", "`failure` of a stage"},
    {"stage.retry", "`retry` of a stage"},
    {"distribution", "Distributions of durations"},
    {"observer", "`[[observers]]`, `[observer]`"},
    {"network", "`[network]`"},
    {"network.racks", "`racks` of the network"},
    {"faults", "`[faults]`: the menu"},
    {"fault", "`[[fault]]`: spelled out"},
    {"fault.at", "`at` of a fault"},
    {"claim", "`[claims]`"},
    {"limits", "`[limits]`"},
    {"live", "`[live]`"},
}};

std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string code(std::string_view text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

/// Defaults in parentheses or words stay as they are; values are code.
std::string default_cell(std::string_view value) {
  return value.empty() || value == "required" || value.front() == '(' ? cell(value) : code(value);
}

/// "0|4.0:5" → "0; 5 from 4.0".
std::string default_text(const Setting& setting) {
  std::string out;
  for (const std::string& part : split(setting.defaults, '|')) {
    const std::size_t colon = out.empty() ? std::string::npos : part.find(':');
    if (!out.empty()) out += "; ";
    out += colon == std::string::npos ? part : part.substr(colon + 1) + " from " + part.substr(0, colon);
  }
  return out == "9223372036854775807" ? "never" : out;
}

void rows_of(std::string& out, std::span<const Setting> settings, bool modelled) {
  for (const Setting& s : settings) {
    if (s.modelled != modelled) continue;
    const std::string meaning =
        s.alias_of.empty() ? cell(s.effect) : "the same as `" + std::string(s.alias_of) + "`";
    out += "| `" + std::string(s.key) + "` | " + std::string(name_of(s.type)) + " | " + cell(range_of(s)) +
           " | " + cell(default_text(s)) + " | " + meaning +
           (modelled          ? ""
            : meaning.empty() ? "passed on"
                              : " (passed on)") +
           " |\n";
  }
}

void table_of(std::string& out, std::string_view title, const SettingTable& table) {
  out += "## " + std::string(title) + "\n\nSource: " + std::string(table.source) + ".\n\n";
  out += "| setting | type | range | default | effect |\n|---|---|---|---|---|\n";
  for (const bool modelled : {true, false}) {
    rows_of(out, table.own, modelled);
    rows_of(out, table.shared, modelled);
  }
  out += "\n";
  if (!table.known_only.empty()) {
    out += "Passed on without being looked into: " + joined(split(table.known_only, ' ')) + ".\n\n";
  }
  if (!table.lab_sets.empty()) out += "Set by the lab: " + joined(split(table.lab_sets, ' ')) + ".\n\n";
}

}  // namespace

std::string keys_as_markdown() {
  std::string out;
  for (const Heading& heading : headings) {
    out +=
        "### " + std::string(heading.title) + "\n\n| key | type | default | meaning |\n|---|---|---|---|\n";
    for (const KeyInfo& info : all_keys()) {
      if (info.table != heading.table) continue;
      out += "| `" + std::string(info.key) + "` | " + cell(info.type) + " | " +
             default_cell(info.default_value) + " | " + cell(info.meaning) + " |\n";
    }
    out += "\n";
  }
  return out;
}

std::string settings_as_markdown() {
  std::string out;
  table_of(out, "Producer, `flavour = \"java\"`", java_producer_settings());
  table_of(out, "Consumer, `flavour = \"java\"`", java_consumer_settings());
  table_of(out, "Producer, `flavour = \"librdkafka\"`", librdkafka_producer_settings());
  table_of(out, "Consumer, `flavour = \"librdkafka\"`", librdkafka_consumer_settings());
  table_of(out, "Kafka broker", kafka_broker_settings());
  table_of(out, "Kafka topic", kafka_topic_settings());
  table_of(out, "NATS server", nats_server_settings());
  table_of(out, "NATS stream", nats_stream_settings());
  table_of(out, "NATS consumer", nats_consumer_settings());
  table_of(out, "NATS producer", nats_producer_settings());
  return out;
}

}  // namespace mqlab
