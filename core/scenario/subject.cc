#include "core/scenario/subject.h"

#include "core/scenario/text.h"

namespace mqlab {
namespace {

std::string text_of(std::uint32_t key) { return key != 0 ? key_text(key) : "m"; }

/// Takes the first token off.
std::string_view take_token(std::string_view& rest) {
  const std::size_t dot = rest.find('.');
  const std::string_view token = rest.substr(0, dot);
  rest = dot == std::string_view::npos ? std::string_view{} : rest.substr(dot + 1);
  return token;
}

}  // namespace

std::string key_text(std::uint32_t key) { return "k" + std::to_string(key); }

bool valid_subject(std::string_view subject) {
  if (subject.empty() || subject.back() == '.') return false;
  const std::vector<std::string> tokens = split(subject, '.');
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty() || tokens[i].find_first_of(" \t\r\n") != std::string::npos) return false;
    if (tokens[i] == ">" && i + 1 < tokens.size()) return false;
  }
  return subject.find(' ') == std::string_view::npos;
}

bool subject_matches(std::string_view subject, std::string_view filter) {
  while (!filter.empty()) {
    const std::string_view wanted = take_token(filter);
    if (subject.empty()) return false;
    if (wanted == ">") return true;
    const std::string_view token = take_token(subject);
    if (wanted != "*" && wanted != token) return false;
  }
  return subject.empty();
}

bool subjects_overlap(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view x = take_token(a), y = take_token(b);
    if (x == ">" || y == ">") return true;
    if (x != "*" && y != "*" && x != y) return false;
  }
  return a.empty() && b.empty();
}

std::string form_of(const std::vector<std::string>& subjects) {
  std::string form = subjects.front();
  if (form.back() == '>') form.back() = '*';
  return form;
}

std::string subject_of(std::string_view form, std::uint32_t key) {
  std::string subject;
  while (!form.empty()) {
    const std::string_view token = take_token(form);
    if (!subject.empty()) subject += '.';
    subject += token == "*" ? text_of(key) : std::string(token);
  }
  return subject;
}

std::uint32_t subject_bytes(std::string_view form, std::uint32_t key) {
  std::uint32_t bytes = 0;
  for (std::string_view rest = form; !rest.empty();) {
    const std::string_view token = take_token(rest);
    std::uint32_t digits = 1;
    for (std::uint32_t k = key; k >= 10; k /= 10) ++digits;
    bytes += token != "*" ? static_cast<std::uint32_t>(token.size()) : key == 0 ? 1 : 1 + digits;
    bytes += rest.empty() ? 0 : 1;
  }
  return bytes;
}

bool has_key(std::string_view form) {
  while (!form.empty()) {
    if (take_token(form) == "*") return true;
  }
  return false;
}

}  // namespace mqlab
