#include "tests/core/modules/script.h"

#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "core/modules/registry.h"
#include "core/scenario/reader.h"
#include "core/scenario/units.h"

namespace mqlab::test {
namespace {

constexpr const char* kafka_scenario = R"(
name = "script"
[broker]
kind = "kafka"
[[topics]]
name = "in"
partitions = 4
[[topics]]
name = "out"
[[topics]]
name = "dead"
[workload]
topic = "in"
messages = 10
[[stages]]
name = "s"
input = "in"
)";
constexpr const char* nats_scenario = R"(
name = "script"
[broker]
kind = "nats"
[[streams]]
name = "in"
[[streams]]
name = "out"
[[streams]]
name = "dead"
[workload]
topic = "in"
messages = 10
[[stages]]
name = "s"
input = "in"
)";

class Player {
 public:
  Player(const std::string& keys, bool queue) : arena_(1 << 20) {
    publish_module_catalog();
    scenario_ =
        std::make_unique<Scenario>(read_scenario((queue ? nats_scenario : kafka_scenario) + keys, "script"));
    topology_ = std::make_unique<Topology>(*scenario_);
    const ProcessId process = topology_->process("s-0");
    plan_ = plan_module(*scenario_, *topology_, process);
    ModuleContext context;
    context.process = process;
    context.seed = 1;
    context.capabilities.log = context.capabilities.groups = context.capabilities.transactions = !queue;
    context.capabilities.queue = context.capabilities.negative_ack = context.capabilities.in_progress = queue;
    context.capabilities.store = true;
    module_ = plan_->make(arena_, context);
  }

  std::string command(const std::string& line) {
    std::istringstream in(line);
    std::string word;
    in >> word;
    if (word == "wait") {
      in >> word;
      now_ = now_ + parse_duration(word).value();
      if (module_->deadline() > now_) return "";
      word = "tick";
    }
    Event event;
    if (word == "start")
      event.kind = EventKind::start;
    else if (word == "stop")
      event.kind = EventKind::stop;
    else if (word == "tick")
      event.kind = EventKind::tick;
    else if (word == "deliver")
      deliver(in, event);
    else if (word == "ok" || word == "fail" || word == "unknown")
      settle(word, in, event);
    else
      places(word, in, event);
    return handle(event);
  }

 private:
  void deliver(std::istringstream& in, Event& event) {
    event.kind = EventKind::delivered;
    char skip;
    in >> event.op >> skip;
    messages_.clear();
    Message m;
    int partition;
    while (in >> m.id >> skip >> partition >> skip >> m.position) {
      m.place = topology_->topics[0].first_place + static_cast<PlaceId>(partition);
      m.receipt = static_cast<std::uint64_t>(m.position);
      m.size = 100;
      messages_.push_back(m);
    }
    event.messages = messages_;
  }

  void settle(const std::string& word, std::istringstream& in, Event& event) {
    static const std::map<std::string, ErrorClass> classes = {{"retriable", ErrorClass::retriable},
                                                              {"abortable", ErrorClass::abortable},
                                                              {"fenced", ErrorClass::fenced},
                                                              {"fatal", ErrorClass::fatal},
                                                              {"full", ErrorClass::full}};
    event.kind = EventKind::settled;
    settlement_ = {};
    in >> settlement_.op;
    settlement_.of = kinds_.at(settlement_.op);
    settlement_.outcome = word == "ok" ? Outcome::ok : word == "fail" ? Outcome::fail : Outcome::unknown;
    std::string argument;
    if (in >> argument && word != "ok") settlement_.error = classes.at(argument);
    if (word == "ok" && !argument.empty()) settlement_.position = std::stoll(argument);
    event.settlements = {&settlement_, 1};
  }

  void places(const std::string& word, std::istringstream& in, Event& event) {
    if (word != "assigned" && word != "revoking" && word != "lost")
      throw std::runtime_error("no such command: " + word);
    event.kind = word == "assigned" ? EventKind::assigned : EventKind::revoking;
    event.lost = word == "lost";
    char skip;
    in >> event.generation >> skip;
    places_.clear();
    std::string item;
    while (in >> item) {
      const std::size_t colon = item.find(':');
      const auto place =
          topology_->topics[0].first_place + static_cast<PlaceId>(std::stoi(item.substr(0, colon)));
      places_.push_back({place, colon == std::string::npos ? -1 : std::stoll(item.substr(colon + 1))});
    }
    event.places = places_;
  }

  std::string handle(const Event& event) {
    effects_.begin(next_op_);
    module_->handle({now_, now_}, event, effects_);
    next_op_ = effects_.next_op();
    std::string out;
    for (const Effect& e : effects_.list()) {
      kinds_[e.op] = e.kind;
      out += "  " + describe(e) + "\n";
    }
    if (module_->deadline() != Instant::never())
      out += "  (wakes at " + format_duration(module_->deadline() - Instant{}) + ")\n";
    return out;
  }

  std::string describe(const Effect& e) const {
    std::ostringstream out;
    if (e.op != 0) out << e.op << " ";
    out << name_of(e.kind);
    if (e.message.id != 0) out << " " << e.message.id;
    if (e.kind == Kind::publish) out << " to output " << int(e.port);
    if (e.kind == Kind::complete) out << (e.outcome == Outcome::ok ? " ok" : " fail");
    if (e.kind == Kind::fetch) out << " at most " << e.max;
    if (e.kind == Kind::commit) out << (e.sync ? " sync" : " async");
    if (e.kind == Kind::nack) out << " after " << format_duration(e.wait);
    for (const PlacePosition& p : e.places)
      out << " " << topology_->places[p.place].partition << ":" << p.position;
    for (const std::uint64_t r : e.receipts) out << " " << r;
    for (const StoreWrite& w : e.writes)
      out << (w.message != 0 ? " row of " + std::to_string(w.message) : " offset");
    return out.str();
  }

  Arena arena_;
  std::unique_ptr<Scenario> scenario_;
  std::unique_ptr<Topology> topology_;
  std::unique_ptr<ModulePlan> plan_;
  Module* module_ = nullptr;
  Effects effects_;
  OpId next_op_ = 1;
  Instant now_;
  std::map<OpId, Kind> kinds_;
  std::vector<Message> messages_;
  Settlement settlement_;
  std::vector<PlacePosition> places_;
};

}  // namespace

std::string play(const std::string& script) {
  std::istringstream in(script);
  std::string line, keys, out;
  bool queue = false;
  while (std::getline(in, line) && !line.empty()) {
    out += line + "\n";
    if (line == "broker = \"nats\"")
      queue = true;
    else
      keys += line + "\n";
  }
  Player player(keys, queue);
  out += "\n";
  while (std::getline(in, line)) {
    if (line.starts_with("#") || line.empty()) out += line + "\n";
    if (line.starts_with("> ")) out += line + "\n" + player.command(line.substr(2));
  }
  return out;
}

}  // namespace mqlab::test
