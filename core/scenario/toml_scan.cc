// A parser that recurses, and a tree whose destructor recurses, must not be shown hostile nesting: so depth
// is bounded before parsing. The scan knows only strings, comments, brackets and dots, and counts generously.
#include "core/base/limits.h"
#include "core/scenario/section.h"
#include "core/scenario/tree.h"

namespace mqlab {
namespace {

class Scan {
 public:
  Scan(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  void run() {
    while (at_ < text_.size()) step();
  }

 private:
  void step() {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return skip_string(c);
    if (c == '#') return skip_comment();
    ++at_;
    if (c == '\n') {
      ++line_;
      dots_ = 0;
    } else if (c == '[' || c == '{') {
      dots_ = 0;
      bounded(++open_);
    } else if (c == ']' || c == '}') {
      open_ -= open_ > 0 ? 1 : 0;
      dots_ = 0;
    } else if (c == '=' || c == ',') {
      dots_ = 0;
    } else if (c == '.') {
      bounded(++dots_);
    }
  }

  void bounded(int depth) const {
    if (depth <= limits::scenario_depth) return;
    fail_at(file_, line_, "", "nested deeper than " + std::to_string(limits::scenario_depth) + " levels");
  }

  void skip_comment() {
    while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  }

  void skip_string(char quote) {
    const bool multi = text_.substr(at_).starts_with(std::string(3, quote));
    at_ += multi ? 3 : 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\\' && quote == '"') {
        if (at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++line_;
        at_ += 2;
        continue;
      }
      if (c == '\n') {
        if (!multi) return;  // an error, which the parser will report
        ++line_;
      }
      if (c == quote && (!multi || text_.substr(at_).starts_with(std::string(3, quote)))) {
        at_ += multi ? 3 : 1;
        return;
      }
      ++at_;
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1, open_ = 0, dots_ = 0;
};

}  // namespace

void scan_toml(std::string_view toml, const std::string& file) {
  if (toml.size() > limits::scenario_bytes) {
    fail_at(file, 0, "",
            "larger than " + std::to_string(limits::scenario_bytes >> 20) +
                " MiB: a scenario is a few kilobytes of text");
  }
  Scan(toml, file).run();
}

}  // namespace mqlab
