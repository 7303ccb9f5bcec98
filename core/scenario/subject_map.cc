#include "core/scenario/subject_map.h"

#include <algorithm>
#include <stdexcept>

#include "core/scenario/subject.h"
#include "core/scenario/text.h"
#include "core/scenario/units.h"

namespace mqlab {
namespace {

[[noreturn]] void wrong(const std::string& problem) { throw std::invalid_argument(problem); }

/// The key whose text a token is: "k7", "m" for none; −1 when it is no key's.
std::int64_t key_of(std::string_view token) {
  if (token == "m") return 0;
  if (token.size() < 2 || token[0] != 'k' || token[1] == '0') return -1;
  const auto number = parse_integer(std::string(token.substr(1)));
  return number && *number > 0 && *number <= 0xffff'ffff ? *number : -1;
}

std::vector<std::string> tokens_of(std::string_view subject) { return split(subject, '.'); }

}  // namespace

bool KeyMatch::has(std::uint32_t key) const { return all || std::ranges::binary_search(keys, key); }

KeyMatch match_keys(std::string_view form, std::string_view filter) {
  const std::vector<std::string> have = tokens_of(form), want = tokens_of(filter);
  std::int64_t only = -1;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (i >= have.size()) return {};
    if (want[i] == ">")
      return only < 0 ? KeyMatch{true, {}} : KeyMatch{false, {static_cast<std::uint32_t>(only)}};
    if (want[i] == "*" || want[i] == have[i]) continue;
    const std::int64_t key = have[i] == "*" ? key_of(want[i]) : -1;
    if (key < 0 || (only >= 0 && only != key)) return {};
    only = key;
  }
  if (want.size() != have.size()) return {};
  return only < 0 ? KeyMatch{true, {}} : KeyMatch{false, {static_cast<std::uint32_t>(only)}};
}

SubjectTransform::SubjectTransform(std::string source, std::string destination)
    : source_(std::move(source)), destination_(std::move(destination)) {
  if (!valid_subject(source_)) wrong(quoted(source_) + " is no subject");
  const std::vector<std::string> tokens = tokens_of(source_);
  wildcards_ = static_cast<std::uint32_t>(std::ranges::count(tokens, "*"));
  const bool open = tokens.back() == ">";
  if (destination_.empty()) wrong("a transform has a source and a destination");
  for (const std::string& token : tokens_of(destination_)) parts_.push_back(read(token));
  if ((parts_.back().kind == Part::Kind::rest) != open)
    wrong("source and destination both end with \">\", or none");
}

SubjectTransform::Part SubjectTransform::read(const std::string& token) {
  using Kind = Part::Kind;
  if (token == ">") return {Kind::rest};
  if (token.size() > 1 && token[0] == '$') return {Kind::wildcard, {}, wildcard_number(token.substr(1))};
  if (!token.starts_with("{{")) {
    if (!valid_subject(token) || token == "*") wrong(quoted(token) + " is no token of a destination");
    return {Kind::literal, token};
  }
  std::string inner = token.ends_with(")}}") ? token.substr(2, token.size() - 5) : "";
  std::erase(inner, ' ');
  const std::size_t open = inner.find('(');
  const std::string name = inner.substr(0, open);
  const std::string arguments = open == std::string::npos ? "" : inner.substr(open + 1);
  if (name == "wildcard") return {Kind::wildcard, {}, wildcard_number(arguments)};
  if (name != "partition")
    wrong(quoted(token) + ": modelled are {{wildcard(n)}} and {{partition(count,n,...)}}");
  if (partitions_ > 1 || !hashed_.empty()) wrong("one partition function is modelled");
  read_partition(arguments);
  return {Kind::partition};
}

void SubjectTransform::read_partition(const std::string& arguments) {
  const std::vector<std::string> list = split(arguments, ',');
  const auto count = parse_integer(list.front());
  if (!count || *count < 1 || *count > 15) wrong("partition: 1 to 15 partitions are modelled");
  if (list.size() < 2) wrong("partition: names the wildcards it hashes");
  partitions_ = static_cast<std::uint32_t>(*count);
  for (std::size_t i = 1; i < list.size(); ++i) hashed_.push_back(wildcard_number(list[i]));
}

std::uint32_t SubjectTransform::wildcard_number(const std::string& text) const {
  const auto number = parse_integer(text);
  if (!number || *number < 1 || *number > wildcards_)
    wrong("wildcard " + quoted(text) + ": the source has " + std::to_string(wildcards_));
  return static_cast<std::uint32_t>(*number);
}

std::vector<std::string> SubjectTransform::captured(std::string_view form, std::string& rest) const {
  const std::vector<std::string> have = tokens_of(form), want = tokens_of(source_);
  std::vector<std::string> found;
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] == "*") found.push_back(have[i]);
    if (want[i] != ">") continue;
    for (std::size_t j = i; j < have.size(); ++j) rest += (rest.empty() ? "" : ".") + have[j];
  }
  return found;
}

std::string SubjectTransform::form(std::string_view form, std::uint32_t partition) const {
  std::string rest, made;
  const std::vector<std::string> wildcards = captured(form, rest);
  for (const Part& part : parts_) {
    if (!made.empty()) made += '.';
    switch (part.kind) {
      case Part::Kind::literal:
        made += part.literal;
        break;
      case Part::Kind::wildcard:
        made += wildcards[part.wildcard - 1];
        break;
      case Part::Kind::partition:
        made += std::to_string(partition);
        break;
      case Part::Kind::rest:
        made += rest;
        break;
    }
  }
  return made;
}

std::uint32_t SubjectTransform::partition_of(std::string_view form, std::uint32_t key) const {
  if (partitions_ == 1) return 0;
  std::string rest;
  const std::vector<std::string> wildcards = captured(form, rest);
  std::uint32_t hash = 2166136261u;
  for (const std::uint32_t number : hashed_) {
    for (const char c : subject_of(wildcards[number - 1], key)) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 16777619u;
    }
  }
  return hash % partitions_;
}

}  // namespace mqlab
