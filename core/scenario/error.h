// Bad input, in one line: file, line, key, what is wrong, what would be right.
#pragma once
#include <stdexcept>
#include <string>

namespace mqlab {

class ScenarioError : public std::runtime_error {
 public:
  ScenarioError(std::string in_file, int at_line, std::string at_path, const std::string& what_is_wrong)
      : std::runtime_error(in_file + (at_line > 0 ? ":" + std::to_string(at_line) : "") + ": " +
                           (at_path.empty() ? "" : at_path + ": ") + what_is_wrong),
        file(std::move(in_file)),
        line(at_line),
        path(std::move(at_path)),
        problem(what_is_wrong) {}

  std::string file;
  int line;          ///< 0 = not known
  std::string path;  ///< "stages.embed.instances"
  std::string problem;
};

}  // namespace mqlab
