#include "core/claims/scope.h"

#include <algorithm>

#include "core/scenario/text.h"

namespace mqlab {
namespace {

bool has(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> topic_names(const Topology& t, bool stores) {
  std::vector<std::string> names;
  for (const TopicInfo& topic : t.topics) {
    if (stores || topic.kind != TopicKind::store) names.push_back(topic.name);
  }
  return names;
}

std::vector<std::string> workload_topics(const Scenario& s) {
  std::vector<std::string> names;
  for (const WorkloadSpec& w : s.workloads) {
    if (!has(names, w.topic)) names.push_back(w.topic);
  }
  return names;
}

void mark(std::vector<std::uint8_t>& places, const Topology& t, TopicId topic) {
  const TopicInfo& info = t.topics[topic];
  for (std::uint32_t p = 0; p < info.partitions; ++p) places[info.first_place + p] = 1;
}

class Resolver {
 public:
  Resolver(const ClaimSpec& claim, const Scenario& s, const Topology& t, const Parameters& parameters)
      : claim_(claim), s_(s), t_(t), parameters_(parameters) {
    for (const PlaceInfo& place : t.places) scope_.places.push_back(place.name);
    for (const ProcessInfo& process : t.processes) scope_.processes.push_back(process.name);
    scope_.of_place.resize(t.places.size());
    scope_.in_place = scope_.dead_place = scope_.concerned = scope_.of_place;
    scope_.workload.resize(t.processes.size());
    scope_.sender = scope_.writer = scope_.dead_writer = scope_.workload;
    scope_.lane.resize(t.processes.size(), -1);
  }

  Scope take(std::uint64_t observed_at_least) {
    scope_.observed_at_least = parameters_.count("observed_at_least").value_or(observed_at_least);
    // A claim never holds for want of observations, whatever floor the user sets.
    scope_.observed_at_least = std::max<std::uint64_t>(scope_.observed_at_least, 1);
    scope_.unknown_at_most = parameters_.share("unknown_at_most", scope_.unknown_at_most);
    for (std::size_t p = 0; p < scope_.concerned.size(); ++p) {
      scope_.concerned[p] |= scope_.of_place[p] | scope_.in_place[p] | scope_.dead_place[p];
    }
    return std::move(scope_);
  }

  void population() {
    const std::vector<std::string> sent_to = workload_topics(s_);
    scope_.of = claim_.of == "deliveries" ? "" : claim_.of;
    if (scope_.of.empty() && sent_to.size() == 1) scope_.of = sent_to.front();
    if (scope_.of.empty()) parameters_.fail("of", "of which topic? the workloads send to " + joined(sent_to));
    topic("of", scope_.of, false);
    if (!has(sent_to, scope_.of)) {
      parameters_.fail("of",
                       "no workload sends to " + quoted(scope_.of) + "; " + suggestion(scope_.of, sent_to));
    }
    for (std::size_t p = 0; p < t_.processes.size(); ++p) {
      if (t_.processes[p].role != Role::workload) continue;
      scope_.workload[p] = 1;
      scope_.sender[p] = s_.workloads[t_.processes[p].index].topic == scope_.of;
    }
    mark(scope_.of_place, t_, t_.topic(scope_.of));
  }

  void effects() {
    const bool deliveries = claim_.of == "deliveries" || parameters_.truth("deliveries");
    if (!claim_.as.empty()) {
      observer(deliveries);
    } else if (deliveries && !claim_.in.empty()) {
      parameters_.fail(
          "in", "deliveries are counted at the stages that read " + quoted(scope_.of) + "; leave out in");
    } else if (claim_.in.empty()) {
      stages(deliveries ? Source::handled : Source::completed);
    } else {
      found_by_the_auditor();
    }
    if (!claim_.in.empty() || !claim_.as.empty()) refuse_stage();
  }

  void records_of_one_topic() {
    if (claim_.as.empty()) {
      scope_.in = !claim_.in.empty() ? claim_.in : claim_.of;
      const std::vector<std::string> sent_to = workload_topics(s_);
      if (scope_.in.empty() && sent_to.size() == 1) scope_.in = sent_to.front();
      if (scope_.in.empty())
        parameters_.fail("in", "in which topic? there are " + joined(topic_names(t_, false)));
      scope_.in_topic = topic("in", scope_.in, false);
      scope_.source = Source::audit;
      scope_.lanes = {scope_.in};
    } else {
      observer(false);
    }
    mark(scope_.in_place, t_, scope_.in_topic);
    scope_.sender = writers_of(scope_.in);
    if (std::find(scope_.sender.begin(), scope_.sender.end(), 1) == scope_.sender.end()) {
      parameters_.fail("in", "nothing in the scenario sends to " + quoted(scope_.in));
    }
  }

  void dead_letters() {
    for (const StageSpec& stage : s_.stages) {
      if (stage.retry.dead_letter.empty() || !has(stage.inputs, scope_.of)) continue;
      const TopicId dead = t_.topic(stage.retry.dead_letter);
      if (dead == no_topic) continue;
      mark(scope_.dead_place, t_, dead);
      const std::vector<std::uint8_t> writers = writers_of(stage.retry.dead_letter);
      for (std::size_t p = 0; p < writers.size(); ++p) scope_.dead_writer[p] |= writers[p];
    }
  }

  void readers() {
    for (const auto& [key, value] : {std::pair{"in", claim_.in}, {"as", claim_.as}}) {
      if (!value.empty())
        parameters_.fail(key, "has no meaning here; the claim is about stages (of = TOPIC, stage = …)");
    }
    scope_.of = claim_.of;
    if (!scope_.of.empty()) topic("of", scope_.of, false);
    const std::string only = parameters_.text("stage");
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < s_.stages.size(); ++i) {
      const StageSpec& stage = s_.stages[i];
      if (scope_.of.empty() ? stage.inputs.empty() : !has(stage.inputs, scope_.of)) continue;
      names.push_back(stage.name);
      if (only.empty() || only == stage.name) add_reader(i);
    }
    const std::string what = scope_.of.empty() ? "anything" : quoted(scope_.of);
    if (names.empty()) parameters_.fail("of", "no stage of the scenario reads " + what);
    if (scope_.lanes.empty())
      parameters_.fail("stage", quoted(only) + " does not read " + what + "; " + suggestion(only, names));
  }

  void logs() {
    for (const auto& [key, value] : {std::pair{"of", claim_.of}, {"as", claim_.as}}) {
      if (!value.empty()) parameters_.fail(key, "has no meaning here; the claim is about logs (in = TOPIC)");
    }
    scope_.in = claim_.in;
    if (!scope_.in.empty()) scope_.in_topic = topic("in", scope_.in, false);
    bool any = false;
    for (TopicId t = 0; t < t_.topics.size(); ++t) {
      if (t_.topics[t].kind != TopicKind::topic || (!scope_.in.empty() && t != scope_.in_topic)) continue;
      mark(scope_.in_place, t_, t);
      any = true;
    }
    if (!any) parameters_.fail("in", "a stream is no log: its entries are given out again, in any order");
  }

  void transactions() {
    const std::string only = parameters_.text("stage");
    std::vector<std::string> writers;
    for (const StageSpec& stage : s_.stages) {
      if (writes_in_transactions(stage)) writers.push_back(stage.name);
    }
    for (std::uint32_t i = 0; i < s_.stages.size(); ++i) {
      const StageSpec& stage = s_.stages[i];
      if (!has(writers, stage.name) || (!only.empty() && only != stage.name)) continue;
      for (std::size_t p = 0; p < t_.processes.size(); ++p) {
        if (t_.processes[p].role != Role::stage || t_.processes[p].index != i) continue;
        scope_.sender[p] = 1;
        scope_.lane[p] = static_cast<std::int16_t>(scope_.lanes.size());
      }
      scope_.lanes.push_back(stage.name);
      for (const std::string& input : stage.inputs) mark(scope_.of_place, t_, topic("of", input, false));
      for (const std::string& output : stage.outputs) {
        mark(scope_.in_place, t_, topic("in", output, false));
        const std::vector<std::uint8_t> writers_here = writers_of(output);
        for (std::size_t p = 0; p < writers_here.size(); ++p) scope_.writer[p] |= writers_here[p];
      }
      if (!stage.retry.dead_letter.empty())
        mark(scope_.in_place, t_, topic("in", stage.retry.dead_letter, false));
    }
    if (writers.empty()) parameters_.fail("", "no stage of the scenario writes in transactions");
    if (scope_.lanes.empty()) {
      parameters_.fail("stage",
                       quoted(only) + " does not write in transactions; " + suggestion(only, writers));
    }
  }

 private:
  void add_reader(std::uint32_t index) {
    const StageSpec& stage = s_.stages[index];
    const auto lane = static_cast<std::int16_t>(scope_.lanes.size());
    std::vector<PlaceId> inputs;
    PlaceId queue = no_place;
    for (const std::string& input : stage.inputs) {
      if (!scope_.of.empty() && input != scope_.of) continue;
      const TopicInfo& info = t_.topics[topic("of", input, false)];
      for (std::uint32_t p = 0; p < info.partitions; ++p) inputs.push_back(info.first_place + p);
      if (info.kind == TopicKind::stream && stage.inputs.size() == 1) queue = info.first_place;
      mark(scope_.of_place, t_, t_.topic(input));
    }
    for (std::size_t p = 0; p < t_.processes.size(); ++p) {
      if (t_.processes[p].role == Role::stage && t_.processes[p].index == index) scope_.lane[p] = lane;
    }
    scope_.lanes.push_back(stage.name);
    scope_.stage_number.push_back(index);
    scope_.inputs.push_back(std::move(inputs));
    scope_.transactional.push_back(writes_in_transactions(stage));
    scope_.queue.push_back(queue);
  }

  std::vector<std::uint8_t> writers_of(const std::string& name) const {
    std::vector<std::uint8_t> writers(t_.processes.size());
    for (std::size_t p = 0; p < t_.processes.size(); ++p) {
      const ProcessInfo& process = t_.processes[p];
      if (process.role == Role::workload) writers[p] = s_.workloads[process.index].topic == name;
      if (process.role != Role::stage) continue;
      const StageSpec& stage = s_.stages[process.index];
      writers[p] = has(stage.outputs, name) || stage.retry.dead_letter == name;
    }
    return writers;
  }

  static bool writes_in_transactions(const StageSpec& stage) {
    return find(stage.producer, "transactional.id") != nullptr || stage.module == "transactional-stage";
  }

  TopicId topic(std::string_view key, const std::string& name, bool stores) {
    const TopicId found = t_.topic(name);
    if (found != no_topic && (stores || t_.topics[found].kind != TopicKind::store)) return found;
    const std::string what = found != no_topic ? " is a store, not a topic; " : " does not exist; ";
    parameters_.fail(key, quoted(name) + what + suggestion(name, topic_names(t_, stores)));
  }

  void observer(bool deliveries) {
    std::vector<std::string> names;
    for (const ObserverSpec& o : s_.observers) names.push_back(o.name);
    const auto found = std::find(names.begin(), names.end(), claim_.as);
    if (found == names.end()) {
      parameters_.fail("as", "there is no observer " + quoted(claim_.as) + "; " +
                                 (names.empty() ? "the scenario names none" : suggestion(claim_.as, names)));
    }
    const auto index = static_cast<std::uint32_t>(found - names.begin());
    const std::string& reads = s_.observers[index].topic;
    if (!claim_.in.empty() && claim_.in != reads) {
      topic("in", claim_.in, true);
      parameters_.fail(
          "in", "observer " + quoted(claim_.as) + " reads " + quoted(reads) + ", not " + quoted(claim_.in));
    }
    scope_.source = deliveries ? Source::handled : Source::observer;
    scope_.in = reads;
    scope_.as = claim_.as;
    scope_.in_topic = topic("in", reads, false);
    scope_.observer = t_.first_of(Role::observer, index);
    scope_.lane[scope_.observer] = 0;
    scope_.lanes = {claim_.as};
    mark(scope_.in_place, t_, scope_.in_topic);
  }

  void found_by_the_auditor() {
    scope_.in = claim_.in;
    scope_.in_topic = topic("in", claim_.in, true);
    const bool store = t_.topics[scope_.in_topic].kind == TopicKind::store;
    scope_.writer = writers_of(claim_.in);
    scope_.source = store ? Source::store : Source::audit;
    scope_.lanes = {claim_.in};
    mark(scope_.in_place, t_, scope_.in_topic);
    for (std::size_t p = 0; store && p < t_.processes.size(); ++p) {
      if (t_.processes[p].role == Role::stage && s_.stages[t_.processes[p].index].store == claim_.in)
        scope_.lane[p] = 0;
    }
  }

  void stages(Source source) {
    scope_.source = source;
    const std::string only = parameters_.text("stage");
    std::vector<std::string> readers;
    std::vector<std::int16_t> lane_of_stage(s_.stages.size(), -1);
    for (std::size_t i = 0; i < s_.stages.size(); ++i) {
      if (!has(s_.stages[i].inputs, scope_.of)) continue;
      readers.push_back(s_.stages[i].name);
      if (!only.empty() && only != s_.stages[i].name) continue;
      lane_of_stage[i] = static_cast<std::int16_t>(scope_.lanes.size());
      scope_.lanes.push_back(s_.stages[i].name);
    }
    if (readers.empty())
      parameters_.fail("of",
                       "no stage reads " + quoted(scope_.of) + "; say where the effects are: in = TOPIC");
    if (scope_.lanes.empty()) {
      parameters_.fail(
          "stage", quoted(only) + " does not read " + quoted(scope_.of) + "; " + suggestion(only, readers));
    }
    for (std::size_t p = 0; p < t_.processes.size(); ++p) {
      if (t_.processes[p].role == Role::stage) scope_.lane[p] = lane_of_stage[t_.processes[p].index];
    }
  }

  void refuse_stage() {
    if (!parameters_.text("stage").empty())
      parameters_.fail("stage", "counts only where neither in nor as is given");
  }

  const ClaimSpec& claim_;
  const Scenario& s_;
  const Topology& t_;
  const Parameters& parameters_;
  Scope scope_;
};

}  // namespace

std::string Scope::at(PlaceId place, std::int64_t position) const {
  const std::string name = place < places.size() ? places[place] : "?";
  return position < 0 ? name : name + "@" + std::to_string(position);
}

std::string Scope::name_of_process(ProcessId p) const { return p < processes.size() ? processes[p] : "?"; }

Scope resolve_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                    const Parameters& parameters, std::uint64_t observed_at_least) {
  Resolver resolver(claim, scenario, topology, parameters);
  resolver.population();
  resolver.effects();
  resolver.dead_letters();
  return resolver.take(observed_at_least);
}

Scope resolve_topic_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                          const Parameters& parameters) {
  Resolver resolver(claim, scenario, topology, parameters);
  resolver.records_of_one_topic();
  return resolver.take(1);
}

Scope resolve_reader_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                           const Parameters& parameters) {
  Resolver resolver(claim, scenario, topology, parameters);
  resolver.readers();
  return resolver.take(1);
}

Scope resolve_log_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                        const Parameters& parameters) {
  Resolver resolver(claim, scenario, topology, parameters);
  resolver.logs();
  return resolver.take(1);
}

Scope resolve_transaction_scope(const ClaimSpec& claim, const Scenario& scenario, const Topology& topology,
                                const Parameters& parameters) {
  Resolver resolver(claim, scenario, topology, parameters);
  resolver.transactions();
  return resolver.take(1);
}

}  // namespace mqlab
