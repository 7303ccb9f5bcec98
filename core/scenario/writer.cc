// The complete scenario as TOML.
#include "core/scenario/reader.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

std::string text(std::string_view value) {
  static constexpr char hex[] = "0123456789ABCDEF";
  std::string out = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += std::string("\\u00") + hex[byte >> 4] + hex[byte & 15];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string list(const std::vector<std::string>& values) {
  std::vector<std::string> quoted_values;
  for (const std::string& value : values) quoted_values.push_back(text(value));
  return "[" + joined(quoted_values) + "]";
}

std::string number(double value) {
  std::string out = format_number(value);
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string span(Duration value) { return text(format_duration(value)); }

/// Numbers and truth values without quotes where they read back as the same text.
std::string property_value(const std::string& value) {
  const auto integer = parse_integer(value);
  if (value == "true" || value == "false" || (integer && std::to_string(*integer) == value)) return value;
  return text(value);
}

std::string distribution(const DurationSpec& d) {
  using Shape = DurationSpec::Shape;
  switch (d.shape) {
    case Shape::constant:
      return span(d.a);
    case Shape::uniform:
      return "{ kind = \"uniform\", low = " + span(d.a) + ", high = " + span(d.b) + " }";
    case Shape::exponential:
      return "{ kind = \"exponential\", mean = " + span(d.a) + " }";
    case Shape::lognormal:
      return "{ kind = \"lognormal\", p50 = " + span(d.a) + ", p99 = " + span(d.b) + " }";
  }
  return "";
}

class Writer {
 public:
  std::string write(const Scenario& s) {
    value("name", text(s.name));
    value("question", text(s.question));
    for (const BrokerSpec& broker : s.brokers) write(broker, s.brokers.size() == 1);
    table("client");
    value("flavour", text(name_of(s.flavour)));
    for (const TopicSpec& topic : s.topics) write(topic);
    for (const WorkloadSpec& workload : s.workloads) write(workload, s.workloads.size() == 1);
    for (const StageSpec& stage : s.stages) write(stage);
    for (const ObserverSpec& observer : s.observers) write(observer);
    write(s.network, s.limits);
    if (!s.live.address.empty()) write(s.live);
    write(s.menu);
    for (const FaultSpec& fault : s.faults) write(fault);
    write(s.claims);
    return std::move(out_);
  }

 private:
  void table(std::string_view name) { out_ += "\n[" + std::string(name) + "]\n"; }
  void element(std::string_view name) { out_ += "\n[[" + std::string(name) + "]]\n"; }
  void value(std::string_view key, const std::string& toml) {
    out_ += std::string(key) + " = " + toml + "\n";
  }
  void value(std::string_view key, std::uint64_t n) { value(key, std::to_string(n)); }
  void map(const std::string& name, const Properties& properties) {
    if (properties.empty()) return;
    out_ += "[" + name + "]\n";
    for (const Property& property : properties) value(text(property.key), property_value(property.value));
  }

  void write(const BrokerSpec& b, bool only) {
    only ? table("broker") : element("brokers");
    value("name", text(b.name));
    value("kind", text(name_of(b.kind)));
    value("version", text(b.version));
    value("nodes", b.nodes);
    map(only ? "broker.properties" : "brokers.properties", b.properties);
    for (const QuotaSpec& quota : b.quotas) {
      const std::string of = quota.client.empty() ? "" : ".clients." + text(quota.client);
      out_ += "[" + std::string(only ? "broker" : "brokers") + ".quotas" + of + "]\n";
      if (quota.producer_byte_rate != 0) value("producer_byte_rate", quota.producer_byte_rate);
      if (quota.consumer_byte_rate != 0) value("consumer_byte_rate", quota.consumer_byte_rate);
    }
  }

  void write(const TopicSpec& t) {
    element(t.stream ? "streams" : "topics");
    value("name", text(t.name));
    value("broker", text(t.broker));
    if (!t.stream) value("partitions", t.partitions);
    if (t.more_partitions > 0) value("more_partitions", t.more_partitions);
    value(t.stream ? "replicas" : "replication", t.replication);
    if (t.stream) value("subjects", list(t.subjects));
    map(t.stream ? "streams.properties" : "topics.properties", t.properties);
  }

  void write(const WorkloadSpec& w, bool only) {
    only ? table("workload") : element("workloads");
    value("name", text(w.name));
    value("topic", text(w.topic));
    value("rate", number(w.rate));
    value("messages", w.messages);
    value("size", w.size.low == w.size.high ? std::to_string(w.size.low)
                                            : "{ low = " + std::to_string(w.size.low) +
                                                  ", high = " + std::to_string(w.size.high) + " }");
    value("tombstones", number(w.tombstones));
    value("arrival", arrival(w.arrival));
    value("keys", keys(w.keys));
    value("producers", w.producers);
    settings(w.settings);
    map(only ? "workload.producer" : "workloads.producer", w.producer);
  }

  static std::string arrival(const ArrivalSpec& a) {
    if (a.kind == ArrivalSpec::Kind::constant) return "\"constant\"";
    if (a.kind == ArrivalSpec::Kind::poisson) return "\"poisson\"";
    return "{ kind = \"bursts\", burst = " + std::to_string(a.burst) + " }";
  }

  static std::string keys(const KeySpec& k) {
    static constexpr std::string_view kinds[] = {"none", "round_robin", "uniform", "zipf"};
    if (k.kind == KeySpec::Kind::none) return "\"none\"";
    std::string out =
        "{ kind = " + text(kinds[static_cast<int>(k.kind)]) + ", count = " + std::to_string(k.count);
    if (k.kind == KeySpec::Kind::zipf) out += ", skew = " + number(k.skew);
    return out + " }";
  }

  void settings(const Properties& properties) {
    for (const Property& p : properties) value(text(p.key), property_value(p.value));
  }

  void write(const StageSpec& g) {
    element("stages");
    value("name", text(g.name));
    value("module", text(g.module));
    value("instances", g.instances);
    if (g.spares > 0) value("spares", g.spares);
    value("inputs", list(g.inputs));
    value("outputs", list(g.outputs));
    if (!g.store.empty()) value("store", text(g.store));
    value("service_time", distribution(g.service_time));
    value("failure",
          "{ transient = " + number(g.failure.transient) + ", poison = " + number(g.failure.poison) + " }");
    value("retry", retry(g.retry));
    settings(g.settings);
    map("stages.consumer", g.consumer);
    map("stages.producer", g.producer);
  }

  static std::string retry(const RetrySpec& r) {
    static constexpr std::string_view styles[] = {"none", "in_place", "topics"};
    std::string backoff = format_duration(r.backoff);
    if (r.multiplier != 1) backoff += "*" + std::to_string(r.multiplier);
    return "{ style = " + text(styles[static_cast<int>(r.style)]) +
           ", attempts = " + std::to_string(r.attempts) + ", backoff = " + text(backoff) +
           ", dead_letter = " + text(r.dead_letter) + " }";
  }

  void write(const ObserverSpec& o) {
    element("observers");
    value("name", text(o.name));
    value("topic", text(o.topic));
    map("observers.consumer", o.consumer);
  }

  void write(const NetworkSpec& n, const LimitsSpec& l) {
    table("network");
    value("loss", number(n.loss));
    if (!n.shared()) {
      value("latency", distribution(n.latency));
      value("bandwidth", n.bytes_per_second == 0 ? "\"\"" : rate(n.bytes_per_second));
    }
    if (!n.platform.empty()) value("platform", text(n.platform));
    if (n.racks) value("racks", racks(*n.racks));
    map("network.place", n.place);
    table("limits");
    value("horizon", span(l.horizon));
    value("live_timeout", span(l.live_timeout));
  }

  static std::string rate(std::uint64_t bytes_per_second) {
    return text(format_bytes(bytes_per_second) + "/s");
  }

  static std::string racks(const RacksSpec& r) {
    std::string out = "{ zones = " + std::to_string(r.zones) + ", racks = " + std::to_string(r.racks) +
                      ", hosts = " + std::to_string(r.hosts);
    const auto link = [&out](const std::string& name, const RacksSpec::Link& of) {
      out += ", " + name + " = " + rate(of.bytes_per_second) + ", " + name + "_latency = " + span(of.latency);
    };
    link("host", r.host);
    link("rack", r.rack);
    link("zone", r.zone);
    return out + " }";
  }

  void write(const LiveSpec& l) {
    table("live");
    value("address", text(l.address));
    map("live.properties", l.properties);
  }

  void write(const FaultMenu& m) {
    std::vector<std::string> menu, heal;
    for (const Action action : m.menu) menu.emplace_back(name_of(action));
    for (const Duration duration : m.heal) heal.push_back(format_duration(duration));
    table("faults");
    value("menu", list(menu));
    value("targets", list(m.targets));
    value("steps", list(m.steps));
    value("at_most", m.at_most);
    value("heal", list(heal));
  }

  void write(const FaultSpec& f) {
    element("fault");
    value("at", f.at.time ? span(*f.at.time)
                          : "{ process = " + text(f.at.process) + ", step = " + text(f.at.step) +
                                ", message = " + std::to_string(f.at.message) +
                                ", nth = " + std::to_string(f.at.nth) + " }");
    value("action", text(name_of(f.action)));
    if (!f.target.empty()) value("target", text(f.target));
    if (!f.between.empty()) value("between", list(f.between));
    if (!for_good(f.action)) value("heal", span(f.heal));
  }

  void write(const std::vector<ClaimSpec>& claims) {
    for (const ClaimSpec& c : claims) {
      element("claims." + text(c.id));
      if (!c.of.empty()) value("of", text(c.of));
      if (!c.in.empty()) value("in", text(c.in));
      if (!c.as.empty()) value("as", text(c.as));
      if (c.expect_violated) value("expect", "\"violated\"");
      if (!c.excused.empty()) value("excused", list(c.excused));
      settings(c.parameters);
    }
  }

  std::string out_;
};

}  // namespace

std::string to_toml(const Scenario& scenario) { return Writer().write(scenario); }

}  // namespace mqlab
