// [[stages]], [[observers]]
#include <algorithm>

#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

FailureSpec read_failure(const Section& s) {
  if (!s.has("failure")) return {};
  const Section f = s.below("failure", "stage.failure");
  return {f.number("transient", 0, 0, 1), f.number("poison", 0, 0, 1)};
}

/// "1s" or "1s*2".
void read_backoff(const Section& r, RetrySpec& retry) {
  const Node* node = r.node("backoff");
  if (node == nullptr || node->type != Node::Type::text || node->text.find('*') == std::string::npos) {
    retry.backoff = r.duration("backoff", {});
    return;
  }
  const std::size_t star = node->text.find('*');
  const auto backoff = parse_duration(node->text.substr(0, star));
  const auto factor = parse_integer(node->text.substr(star + 1));
  if (!backoff || !factor || *factor < 1 || *factor > 100) {
    r.fail("backoff", quoted(node->text) + " is no back-off: a duration, or \"1s*2\" for one that doubles");
  }
  retry.backoff = *backoff;
  retry.multiplier = static_cast<std::uint32_t>(*factor);
}

RetrySpec read_retry(const Section& s) {
  RetrySpec retry;
  if (!s.has("retry")) return retry;
  const Section r = s.below("retry", "stage.retry");
  retry.style = static_cast<RetrySpec::Style>(r.word("style", 0, {"none", "in_place", "topics"}));
  retry.attempts = static_cast<std::uint32_t>(r.integer("attempts", 1, 1, 1000));
  read_backoff(r, retry);
  retry.dead_letter = r.text("dead_letter", "");
  return retry;
}

std::vector<std::string> one_or_many(const Section& s, std::string_view one, std::string_view many) {
  if (s.has(one) && s.has(many)) s.fail(many, std::string(one) + " is set too; one of them");
  if (!s.has(one)) return s.texts(many);
  if (s.node(one)->is_array()) s.fail(one, "is one name; write " + std::string(many) + " for a list");
  return {s.required(one)};
}

std::string read_module(const Section& s, const ModuleCatalog& modules) {
  const std::string module = s.required("module");
  if (modules.empty() || foreign_module(module) || find(modules, module) != nullptr) return module;
  std::vector<std::string> names;
  for (const ModuleSettings& known : modules) names.push_back(known.module);
  s.fail("module", "there is no module " + quoted(module) + "; " + suggestion(module, names));
}

/// Checks all names of topics the stage uses.
void check_ports(const Section& s, const StageSpec& stage, const Scenario& scenario) {
  const auto check = [&](std::string_view one, std::string_view many, const std::vector<std::string>& names) {
    const std::string_view key = s.has(one) ? one : many;
    for (std::size_t i = 0; i < names.size(); ++i) {
      check_topic(s, key, names[i], scenario);
      if (std::find(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(i), names[i]) !=
          names.begin() + static_cast<std::ptrdiff_t>(i)) {
        s.fail(key, quoted(names[i]) + " comes twice");
      }
    }
  };
  check("input", "inputs", stage.inputs);
  check("output", "outputs", stage.outputs);
  if (!stage.retry.dead_letter.empty()) {
    check_topic(s.below("retry", "stage.retry"), "dead_letter", stage.retry.dead_letter, scenario);
  }
  for (const TopicSpec& topic : scenario.topics) {
    if (topic.name == stage.store) s.fail("store", quoted(stage.store) + " is the name of a topic");
  }
}

/// Topics that are not in the file are like their input.
void add_retry_topics(const Section& s, const StageSpec& stage, Scenario& scenario) {
  const std::vector<std::string> names = retry_topics(stage);
  if (names.empty()) return;
  const std::size_t levels = names.size() / stage.inputs.size();
  if (levels > limits::retry_topics) {
    s.below("retry", "stage.retry")
        .fail("attempts", "a topic for each repeat: at most " + std::to_string(limits::retry_topics + 1));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto named = [&](const std::string& name) {
      return std::find_if(scenario.topics.begin(), scenario.topics.end(),
                          [&](const TopicSpec& t) { return t.name == name; });
    };
    if (named(names[i]) != scenario.topics.end()) continue;
    TopicSpec topic = *named(stage.inputs[i / levels]);
    if (topic.stream) {
      s.below("retry", "stage.retry").fail("style", "a queue gives messages back with a delay: \"in_place\"");
    }
    topic.name = names[i];
    scenario.topics.push_back(std::move(topic));
  }
}

StageSpec read_stage(const Section& s, Scenario& scenario, const ModuleCatalog& modules) {
  StageSpec stage;
  stage.name = s.required_name("name");
  check_new_group(s, stage.name, scenario);
  stage.module = read_module(s, modules);
  stage.settings = module_settings(s, stage.module, modules);
  stage.instances = static_cast<std::uint32_t>(s.integer("instances", 1, 1, limits::instances));
  stage.spares = static_cast<std::uint32_t>(s.integer("spares", 0, 0, limits::instances - stage.instances));
  stage.inputs = one_or_many(s, "input", "inputs");
  stage.outputs = one_or_many(s, "output", "outputs");
  if (!s.text("store", "").empty()) stage.store = s.name("store", "");
  stage.service_time = s.distribution("service_time", {});
  stage.failure = read_failure(s);
  stage.retry = read_retry(s);
  stage.consumer = s.properties("consumer");
  stage.producer = s.properties("producer");
  stage.line = s.line();
  check_ports(s, stage, scenario);
  add_retry_topics(s, stage, scenario);
  return stage;
}

}  // namespace

void read_stages(const Node& root, Scenario& scenario, const SourceFile& file, const ModuleCatalog& modules) {
  for (const Element& element : elements(root, "stage", "stages", file)) {
    const Section s(*element.table, element.path, "stage", file, true);
    scenario.stages.push_back(read_stage(s, scenario, modules));
  }
}

void read_observers(const Node& root, Scenario& scenario, const SourceFile& file) {
  for (const Element& element : elements(root, "observer", "observers", file)) {
    const Section s(*element.table, element.path, "observer", file);
    ObserverSpec observer;
    observer.name = s.required_name("name");
    check_new_group(s, observer.name, scenario);
    observer.topic = read_topic_name(s, scenario);
    observer.consumer = s.properties("consumer");
    observer.line = s.line();
    scenario.observers.push_back(std::move(observer));
  }
}

}  // namespace mqlab
