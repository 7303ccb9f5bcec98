#include <array>

#include "core/base/limits.h"
#include "core/scenario/keys.h"
#include "core/scenario/sections.h"
#include "core/scenario/text.h"

namespace mqlab {
namespace {

struct Noun {
  std::string_view singular, plural;
};
constexpr std::array<Noun, 7> nouns = {{{"broker", "brokers"},
                                        {"topic", "topics"},
                                        {"stream", "streams"},
                                        {"workload", "workloads"},
                                        {"stage", "stages"},
                                        {"observer", "observers"},
                                        {"fault", "fault"}}};
constexpr std::array<std::string_view, 3> maps = {"properties", "producer", "consumer"};
/// Claims whose ids have a dot: `order.key = …` without quotes is a table in TOML.
constexpr std::array<std::string_view, 15> families = {"rate",  "order", "log",     "commit",  "progress",
                                                       "txn",   "saga",  "vector",  "token",   "schema",
                                                       "trace", "model", "latency", "backlog", "disk"};

template <class List>
bool among(const List& list, std::string_view word) {
  for (const auto& item : list) {
    if (item == word) return true;
  }
  return false;
}

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('.')); }
std::string_view after(std::string_view path, std::size_t taken) {
  return path.size() > taken ? path.substr(taken + 1) : std::string_view{};
}
/// "embed.instances" begins with the name "embed".
bool begins(std::string_view path, std::string_view name) {
  return path.starts_with(name) && (path.size() == name.size() || path[name.size()] == '.');
}

void normalise_element(Node& element, const std::string& path, const SourceFile& file) {
  for (const std::string_view map : maps) {
    Node* node = element.child(map);
    if (node != nullptr && node->is_table()) flatten(*node, file.name, path + "." + std::string(map));
  }
}

void normalise_claims(Node& claims, const SourceFile& file) {
  std::vector<Node> flat;
  for (Node& claim : claims.children) {
    if (!claim.is_table() || !among(families, claim.key)) {
      flat.push_back(std::move(claim));
      continue;
    }
    for (Node& member : claim.children) {
      member.key = claim.key + "." + member.key;
      flat.push_back(std::move(member));
    }
  }
  if (flat.size() > limits::scenario_list) {
    fail_at(file.name, claims.line, "claims",
            "more than " + std::to_string(limits::scenario_list) + " of them");
  }
  for (std::size_t i = 0; i < flat.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (flat[i].key == flat[j].key) {
        fail_at(file.name, flat[i].line, "claims." + flat[i].key,
                "set twice, first in line " + std::to_string(flat[j].line) + "; use a list for several");
      }
    }
  }
  claims.children = std::move(flat);
}

class Setter {
 public:
  Setter(const Override& change, Node& root, const SourceFile& file)
      : change_(change),
        root_(root),
        file_(file),
        path_(change.path),
        value_(parse_value(change.value, file.name, change.path)) {
    std::erase(path_, '"');  // as such keys are written in the file: consumer."group.id"
  }

  void run() {
    const std::string_view path = path_;
    const std::string_view head = first_part(path);
    const std::string_view rest = after(path, head.size());
    for (const Noun& noun : nouns) {
      if (head == noun.singular || head == noun.plural) return into_list(noun, rest);
    }
    if (head == "claims") return into_claims(rest);
    set_in(root_, path, false);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { fail_at(file_.name, 0, change_.path, problem); }

  void into_list(const Noun& noun, std::string_view rest) {
    Node* list = root_.child(noun.plural);
    if (list == nullptr) list = root_.child(noun.singular);
    if (list == nullptr) fail("the scenario has no " + std::string(noun.singular));
    if (list->is_table()) {
      const std::string name = name_of_element(*list, noun.singular);
      const bool key =
          among(keys_of(noun.singular), first_part(rest));  // workload.producer: the key, not the name
      if (!key && !name.empty() && begins(rest, name)) rest = after(rest, name.size());
      return set_in(*list, rest, true);
    }
    pick(*list, rest, noun.singular);
  }

  /// Brokers and workloads have names without being given one.
  static std::string name_of_element(const Node& element, std::string_view noun) {
    const Node* named = element.child("name");
    if (named == nullptr && noun == "broker") named = element.child("kind");
    if (named != nullptr) return named->text;
    return noun == "workload" ? "producer" : "";
  }

  void pick(Node& list, std::string_view rest, std::string_view noun) {
    Node* found = nullptr;
    std::size_t longest = 0;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < list.children.size(); ++i) {
      Node& element = list.children[i];
      std::string name = name_of_element(element, noun);
      if (name.empty()) name = std::to_string(i);
      names.push_back(name);
      if (!name.empty() && begins(rest, name) && name.size() >= longest) {
        longest = name.size();
        found = &element;
      }
    }
    if (found != nullptr) return set_in(*found, after(rest, longest), true);
    const bool known = among(keys_of(noun), first_part(rest));
    if (list.children.size() == 1 && known) return set_in(list.children[0], rest, true);
    fail("no " + quoted(first_part(rest)) + " in that list; " + suggestion(first_part(rest), names));
  }

  void into_claims(std::string_view rest) {
    Node& claims = table_at(root_, "claims");
    std::string_view id;
    for (const Node& claim : claims.children) {
      if (begins(rest, claim.key) && claim.key.size() > id.size()) id = rest.substr(0, claim.key.size());
    }
    if (id.empty()) {
      id = first_part(rest);
      if (among(families, id)) id = rest.substr(0, id.size() + 1 + first_part(after(rest, id.size())).size());
    }
    const std::string_view key = after(rest, id.size());
    if (key.empty()) return put(claims, id);
    Node& claim = table_at(claims, id);
    if (!claim.is_array()) return set_in(claim, key, false);
    if (claim.children.size() == 1) return set_in(claim.children[0], key, false);
    pick(claim, key, "claim");
  }

  /// The table `key` of `parent`; made when absent, and in place of a plain value such as `true`.
  Node& table_at(Node& parent, std::string_view key) {
    Node* node = parent.child(key);
    if (node == nullptr) {
      parent.children.emplace_back();
      node = &parent.children.back();
      node->key = std::string(key);
    } else if (!node->is_table() && !node->is_array()) {
      *node = Node{};
      node->key = std::string(key);
    }
    return *node;
  }

  void set_in(Node& table, std::string_view path, bool element) {
    if (!table.is_table()) fail("there is no table to set this in");
    const std::string_view key = first_part(path);
    const std::string_view rest = after(path, key.size());
    if (key.empty()) fail("names no key");
    if (rest.empty()) return put(table, key);
    Node& below = table_at(table, key);
    if (element && among(maps, key)) return put(below, rest);
    set_in(below, rest, false);
  }

  void put(Node& table, std::string_view key) {
    value_.key = std::string(key);
    value_.line = 0;
    const auto drop = [&](std::string_view other) {
      std::erase_if(table.children, [&](const Node& n) { return n.key == other; });
    };
    if (key == "messages") drop("duration");  // two ways to say one thing: the later word counts
    if (key == "duration") drop("messages");
    if (Node* old = table.child(key)) {
      *old = std::move(value_);
    } else {
      table.children.push_back(std::move(value_));
    }
  }

  const Override& change_;
  Node& root_;
  const SourceFile& file_;
  std::string path_;
  Node value_;
};

}  // namespace

void normalise(Node& root, const SourceFile& file) {
  for (const Noun& noun : nouns) {
    for (const std::string_view key : {noun.singular, noun.plural}) {
      Node* list = root.child(key);
      if (list == nullptr) continue;
      if (list->is_table()) normalise_element(*list, std::string(key), file);
      for (std::size_t i = 0; list->is_array() && i < list->children.size(); ++i) {
        normalise_element(list->children[i], std::string(key) + "[" + std::to_string(i) + "]", file);
      }
    }
  }
  Node* claims = root.child("claims");
  if (claims != nullptr && claims->is_table()) normalise_claims(*claims, file);
}

void apply(const Override& change, Node& root, const SourceFile& file) {
  if (change.path.size() > 1000) fail_at(file.name, 0, change.path, "path too long");
  Setter(change, root, file).run();
  normalise(root, file);  // the value may be a table with dotted keys
}

}  // namespace mqlab
