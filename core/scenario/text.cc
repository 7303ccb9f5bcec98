#include "core/scenario/text.h"

#include <algorithm>

namespace mqlab {
namespace {

/// Edits (insert, delete, replace, swap of neighbours) that lead from a to b.
std::size_t edits(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

/// "Max_Poll-Records" and "max.poll.records" differ in spelling habits only.
std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c - 'A' + 'a');
    } else {
      out += c == '-' || c == '_' || c == ' ' ? '.' : c;
    }
  }
  return out;
}

/// "fetch.max.wait.ms" and "fetch.wait.max.ms" have the same words.
bool same_words(const std::string& a, const std::string& b) {
  std::vector<std::string> x = split(a, '.'), y = split(b, '.');
  std::sort(x.begin(), x.end());
  std::sort(y.begin(), y.end());
  return x == y;
}

/// Bytes of the UTF-8 character that `text` begins with; 0 when that is none.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

constexpr std::size_t longest_compared = 100;  // beyond that nobody misspelt a key
constexpr std::size_t most_listed = 24;

}  // namespace

std::string one_line(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character(text);
    if (out.size() + length > most) return out + "…";
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0 || first < 0x20 || first == 0x7f) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.size() > longest_compared) return "";
  const std::string wanted = folded(name);
  std::string best;
  std::size_t least = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::string other = folded(candidate);
    const std::size_t n =
        other.size() == wanted.size() && same_words(wanted, other) ? 0 : edits(wanted, other);
    if (n < least && n < std::max(name.size(), candidate.size())) {
      least = n;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  if (const std::string near = nearest(name, candidates); !near.empty())
    return "did you mean " + quoted(near) + "?";
  if (candidates.empty()) return "there are none";
  if (candidates.size() <= most_listed) return "valid: " + joined(candidates);
  const std::vector<std::string> first(candidates.begin(), candidates.begin() + most_listed);
  return "valid: " + joined(first) + " …";
}

std::string quoted(std::string_view text) { return '"' + one_line(text, 100) + '"'; }

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (const std::string& part : parts) {
    if (!out.empty()) out += separator;
    out += part;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    std::string_view part = text.substr(0, end);
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace mqlab
