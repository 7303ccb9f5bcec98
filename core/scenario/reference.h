// The tables of keys and settings as Markdown: docs/scenario.md and docs/settings.md contain them, a test
// compares.
#pragma once
#include <string>

namespace mqlab {

std::string keys_as_markdown();
std::string settings_as_markdown();

}  // namespace mqlab
