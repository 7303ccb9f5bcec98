// What a scenario's names refer to.
#include <algorithm>
#include <limits>

#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/subject.h"
#include "core/scenario/text.h"
#include "core/scenario/topology.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

using Names = std::vector<std::string>;

Names topic_names(const Scenario& scenario) {
  Names names;
  for (const TopicSpec& topic : scenario.topics) names.push_back(topic.name);
  return names;
}

Names process_names(const Scenario& scenario) {
  Names names;
  for (const ProcessInfo& process : Topology(scenario).processes) {
    if (process.role == Role::auditor || process.role == Role::lab) continue;
    if (process.name != process.group && (names.empty() || names.back() != process.group) &&
        process.instance == 0) {
      names.push_back(process.group);
    }
    names.push_back(process.name);
  }
  return names;
}

bool among(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void check_leader(const Section& s, std::string_view key, std::string_view place, const Scenario& scenario) {
  const std::size_t slash = place.find('/');
  const std::string name(place.substr(0, slash));
  check_topic(s, key, name, scenario);
  const auto topic = std::find_if(scenario.topics.begin(), scenario.topics.end(),
                                  [&](const TopicSpec& t) { return t.name == name; });
  if (slash == std::string_view::npos && topic->partitions == 1) return;
  const auto partition =
      slash == std::string_view::npos ? std::nullopt : parse_integer(place.substr(slash + 1));
  if (!partition || *partition < 0 || *partition >= static_cast<std::int64_t>(topic->partitions)) {
    s.fail(key, "must name one of the " + std::to_string(topic->partitions) + " partitions, as \"leader of " +
                    name + "/0\"");
  }
}

void check_subjects(const Scenario& scenario) {
  struct Owned {
    const TopicSpec* stream;
    const std::string* subject;
  };
  std::vector<Owned> owned;
  for (const TopicSpec& stream : scenario.topics) {
    for (const std::string& subject : stream.subjects) owned.push_back({&stream, &subject});
  }
  if (owned.size() > limits::scenario_list) fail_at(scenario.file, 0, "streams", "too many subjects");
  for (std::size_t i = 0; i < owned.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Owned &a = owned[j], &b = owned[i];
      if (a.stream == b.stream || a.stream->broker != b.stream->broker ||
          !subjects_overlap(*a.subject, *b.subject))
        continue;
      fail_at(scenario.file, b.stream->line, "streams." + b.stream->name + ".subjects",
              quoted(*b.subject) + " overlaps with " + quoted(*a.subject) + " of stream " + a.stream->name +
                  ", which NATS refuses");
    }
  }
}

template <class List, class Count>
std::uint64_t total(const List& list, Count count) {
  std::uint64_t sum = 0;
  for (const auto& item : list) sum += count(item);
  return sum;
}

void check_totals(const Scenario& s) {
  const auto at_most = [&](std::uint64_t n, std::uint64_t most, std::string_view what) {
    if (n > most)
      fail_at(s.file, 0, "",
              std::to_string(n) + " " + std::string(what) + ": at most " + std::to_string(most));
  };
  at_most(total(s.topics, [](const TopicSpec& t) { return t.partitions + t.more_partitions; }),
          limits::partitions, "partitions in all");
  at_most(total(s.brokers, [](const BrokerSpec& b) { return b.nodes; }) +
              total(s.workloads, [](const WorkloadSpec& w) { return w.producers; }) +
              total(s.stages, [](const StageSpec& g) { return g.instances + g.spares; }) +
              s.observers.size() + 2,
          limits::processes, "processes in all");
  at_most(total(s.workloads, [](const WorkloadSpec& w) { return w.messages; }),
          std::numeric_limits<MessageId>::max() - 1, "messages in all");
}

}  // namespace

void check_topic(const Section& section, std::string_view key, const std::string& name,
                 const Scenario& scenario) {
  const Names names = topic_names(scenario);
  if (!among(names, name))
    section.fail(key, "there is no topic or stream " + quoted(name) + "; " + suggestion(name, names));
}

void check_process(const Section& section, std::string_view key, const std::string& name,
                   const Scenario& scenario) {
  const Names names = process_names(scenario);
  if (!among(names, name))
    section.fail(key, "there is no process " + quoted(name) + "; " + suggestion(name, names));
}

void check_target(const Section& section, std::string_view key, const std::string& target,
                  const Scenario& scenario) {
  constexpr std::string_view leader = "leader of ";
  if (target.starts_with(leader))
    return check_leader(section, key, std::string_view(target).substr(leader.size()), scenario);
  for (const BrokerSpec& broker : scenario.brokers) {
    if (target == name_of(broker.kind)) return;
  }
  for (const TopicSpec& topic : scenario.topics) {
    if (topic.more_partitions > 0 && target == topic.name) return;  // for add_partitions
  }
  check_process(section, key, target, scenario);
}

void check_claim(const Section& section, const ClaimSpec& claim, const Scenario& scenario) {
  Names places = topic_names(scenario), views;
  for (const StageSpec& stage : scenario.stages) {
    if (!stage.store.empty()) places.push_back(stage.store);
    views.push_back(stage.name);
  }
  Names populations = topic_names(scenario);
  for (const WorkloadSpec& workload : scenario.workloads) populations.push_back(workload.name);
  places.insert(places.end(), views.begin(), views.end());
  for (const ObserverSpec& observer : scenario.observers) views.push_back(observer.name);
  const auto check = [&](std::string_view key, const std::string& name, const Names& names,
                         std::string_view what) {
    if (name.empty() || among(names, name)) return;
    section.fail(key,
                 "there is no " + std::string(what) + " " + quoted(name) + "; " + suggestion(name, names));
  };
  check("of", claim.of, populations, "topic, stream or workload");
  check("in", claim.in, places, "topic, stream, store or stage");
  check("as", claim.as, views, "observer or stage");
  const auto same = [&](const ClaimSpec& other) {
    if (other.scope() != claim.scope() || other.parameters.size() != claim.parameters.size()) return false;
    for (const Property& p : claim.parameters) {
      const Property* q = find(other.parameters, p.key);
      if (q == nullptr || q->value != p.value) return false;
    }
    return true;
  };
  const auto twice = std::find_if(scenario.claims.begin(), scenario.claims.end(), same);
  if (twice != scenario.claims.end())
    section.fail("claimed twice, first in line " + std::to_string(twice->line));
}

void check_new_group(const Section& section, const std::string& name, const Scenario& scenario) {
  const auto check = [&](const auto& list, std::string_view what) {
    for (const auto& item : list) {
      if (item.name != name) continue;
      section.fail("name", quoted(name) + " comes twice: a " + std::string(what) + " has it, line " +
                               std::to_string(item.line));
    }
  };
  check(scenario.brokers, "broker");
  check(scenario.workloads, "workload");
  check(scenario.stages, "stage");
  check(scenario.observers, "observer");
  if (name == "auditor" || name == "lab" || name == "rest")
    section.fail("name", quoted(name) + " is the lab's own name");
}

void check_whole(const Scenario& scenario) {
  check_totals(scenario);
  check_subjects(scenario);
  const Topology topology(scenario);
  check_quotas(scenario, topology);
  std::vector<const ProcessInfo*> sorted;
  for (const ProcessInfo& process : topology.processes) sorted.push_back(&process);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < sorted.size(); ++i) {
    const ProcessInfo &a = *sorted[i - 1], &b = *sorted[i];
    if (a.name == b.name) {
      fail_at(scenario.file, 0, b.group,
              quoted(b.name) + " would be a process of " + a.group + " too: rename one");
    }
  }
}

}  // namespace mqlab
