// Small helpers for messages about bad input.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace mqlab {

/// Printable and on one line: control characters and what is not UTF-8 become '?'; more than `most` bytes are
/// cut with "…".
std::string one_line(std::string_view text, std::size_t most = 400);

/// The candidate that `name` is most likely a misspelling of; empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// `did you mean "x"?` when a candidate is near, else `valid: a, b, c` (cut when there are very many).
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

std::string quoted(std::string_view text);
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");
/// Parts of `text` between `separator`, blanks around them taken off; an empty text has none.
std::vector<std::string> split(std::string_view text, char separator);

}  // namespace mqlab
