// A history that cannot be read, in one line: file, line, what is wrong.
#pragma once
#include <stdexcept>
#include <string>

namespace mqlab {

class HistoryError : public std::runtime_error {
 public:
  HistoryError(std::string in_file, int at_line, const std::string& what_is_wrong)
      : std::runtime_error(in_file + (at_line > 0 ? ":" + std::to_string(at_line) : "") + ": " +
                           what_is_wrong),
        file(std::move(in_file)),
        line(at_line),
        problem(what_is_wrong) {}

  std::string file;
  int line;  ///< 0 = not known
  std::string problem;
};

}  // namespace mqlab
