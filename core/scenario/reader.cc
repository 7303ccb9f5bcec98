#include "core/scenario/reader.h"

#include "core/base/limits.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"

namespace mqlab {

std::vector<Element> elements(const Node& root, std::string_view singular, std::string_view plural,
                              const SourceFile& file) {
  const Node* one = root.child(singular);
  const Node* many = singular == plural ? nullptr : root.child(plural);
  if (one != nullptr && many != nullptr) {
    fail_at(file.name, one->line, std::string(singular),
            "the file has " + std::string(plural) + " too: put this one among them");
  }
  const Node* list = one != nullptr ? one : many;
  if (list == nullptr) return {};
  const std::string key = list->key;
  if (list->is_table()) return {{list, key}};
  if (!list->is_array()) {
    fail_at(file.name, list->line, key,
            "must be a table or a list of tables, is " + std::string(name_of(list->type)));
  }
  if (list->children.size() > limits::scenario_list) {
    fail_at(file.name, list->line, key, "more than " + std::to_string(limits::scenario_list) + " of them");
  }
  std::vector<Element> out;
  for (std::size_t i = 0; i < list->children.size(); ++i) {
    const Node& element = list->children[i];
    const Node* name = element.child("name");
    const bool named = name != nullptr && !name->text.empty();
    out.push_back(
        {&element, key + (named ? "." + one_line(name->text, 100) : "[" + std::to_string(i) + "]")});
  }
  return out;
}

std::string read_topic_name(const Section& section, const Scenario& scenario) {
  if (section.has("topic") && section.has("stream")) section.fail("stream", "topic is set too; one of them");
  const std::string_view key = section.has("stream") ? "stream" : "topic";
  std::string name = section.required(key);
  check_topic(section, key, name, scenario);
  return name;
}

Properties module_settings(const Section& section, const std::string& module, const ModuleCatalog& modules) {
  Properties settings = section.rest();
  const ModuleSettings* known = find(modules, module);
  if (known == nullptr) return settings;
  for (const Property& setting : settings) {
    bool valid = false;
    for (const std::string& name : known->settings) valid = valid || name == setting.key;
    if (valid) continue;
    std::vector<std::string> candidates = section.keys();
    candidates.insert(candidates.end(), known->settings.begin(), known->settings.end());
    fail_at(section.file().name, setting.line, section.path() + "." + setting.key,
            "unknown key, and no setting of module " + quoted(module) + "; " +
                suggestion(setting.key, candidates));
  }
  return settings;
}

Scenario read_scenario(std::string_view toml, const std::string& file, const std::vector<Override>& overrides,
                       const ModuleCatalog* modules) {
  const SourceFile source{file};
  const ModuleCatalog& catalog = modules != nullptr ? *modules : module_catalog();
  Node root = parse_toml(toml, file);
  normalise(root, source);
  for (const Override& change : overrides) apply(change, root, source);

  const Section top(root, "", "", source);
  Scenario scenario;
  scenario.file = file;
  scenario.name = top.required_name("name");
  scenario.question = top.text("question", "");
  read_brokers(root, scenario, source);
  read_topics(root, scenario, source);
  read_workloads(root, scenario, source, catalog);
  read_stages(root, scenario, source, catalog);
  read_observers(root, scenario, source);
  read_network(root, scenario, source);
  read_live(root, scenario, source);
  check_whole(scenario);
  read_faults(root, scenario, source);
  read_claims(root, scenario, source);
  check_settings(scenario);
  return scenario;
}

}  // namespace mqlab
