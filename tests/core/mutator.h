// Damages text, the same way for the same seed: bytes changed, cut, doubled, moved, and tokens of the format
// put where they do not belong.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/draw.h"

namespace mqlab::testing {

class Mutator {
 public:
  Mutator(std::uint64_t seed, const std::vector<std::string>& tokens) : random_(seed), tokens_(tokens) {}

  std::string mutate(std::string text) {
    for (std::uint64_t n = 1 + pick(4); n > 0; --n) once(text);
    return text;
  }

 private:
  std::uint64_t pick(std::uint64_t n) { return below(random_.next(), n); }

  void once(std::string& text) {
    if (text.empty()) text = "x";
    const std::size_t at = pick(text.size());
    const std::size_t length = 1 + pick(20);
    switch (pick(6)) {
      case 0:
        text[at] = static_cast<char>(pick(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, tokens_[pick(tokens_.size())]);
        break;
      case 3:
        text.insert(at, text.substr(pick(text.size()), length));
        break;
      case 4:
        text.replace(at, length, tokens_[pick(tokens_.size())]);
        break;
      default:
        move_line(text, at);
        break;
    }
  }

  /// The line at `at` once more, somewhere else.
  void move_line(std::string& text, std::size_t at) {
    const std::size_t begin = text.rfind('\n', at) + 1;  // npos + 1 = 0
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (begin >= end) return;
    const std::string line = text.substr(begin, end - begin);
    const std::size_t to = text.find('\n', pick(text.size()));
    text.insert(to == std::string::npos ? 0 : to + 1, line);
  }

  RandomStream random_;
  const std::vector<std::string>& tokens_;
};

inline const std::vector<std::string>& toml_tokens() {
  static const std::vector<std::string> all = {"[",
                                               "]",
                                               "{",
                                               "}",
                                               "=",
                                               ",",
                                               ".",
                                               "\"",
                                               "'",
                                               "\"\"\"",
                                               "\n",
                                               "#",
                                               "nan",
                                               "-inf",
                                               "1e999",
                                               "-1",
                                               "99999999999999999999",
                                               "0x7fffffffffffffff",
                                               "true",
                                               "1979-05-27T07:32:00Z",
                                               "[[",
                                               "]]",
                                               "\\",
                                               "\xff",
                                               std::string("\0", 1),
                                               "a.b.c.d",
                                               "[claims]",
                                               "[[stages]]",
                                               "name = \"requests\"\n",
                                               "{ kind = \"lognormal\", p50 = \"0s\", p99 = \"1ns\" }",
                                               "\"5s*9\"",
                                               "\"1e5/s\"",
                                               "[[[[[[[[",
                                               "a.a.a.a.a.a.a.a.a."};
  return all;
}

/// Calls `test(i)` for i = 0 … n − 1, but not beyond `most` seconds; how often it did.
template <class Test>
int for_a_while(int n, double most, Test&& test) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < n; ++i) {
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > most) return i;
    test(i);
  }
  return n;
}

}  // namespace mqlab::testing
