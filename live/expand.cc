#include <cstdlib>

#include "live/port.h"

namespace mqlab::live {

std::string expanded(const std::string& value, const std::string& key) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = value.find("${", at);
    const std::size_t end = value.find('}', begin);
    if (begin == std::string::npos || end == std::string::npos) return out + value.substr(at);
    const std::string name = value.substr(begin + 2, end - begin - 2);
    const char* found = std::getenv(name.c_str());
    if (found == nullptr) throw PortError("live.properties." + key + ": the environment has no " + name);
    out += value.substr(at, begin - at) + found;
    at = end + 1;
  }
}

}  // namespace mqlab::live
