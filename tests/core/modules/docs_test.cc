// docs/modules.md names every module and every setting there is.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "core/modules/registry.h"

namespace mqlab {
namespace {

TEST(ModuleDocs, NameEverything) {
  std::ifstream in(std::string(MQLAB_SOURCE_DIR) + "/docs/modules.md");
  std::ostringstream text;
  text << in.rdbuf();
  for (const ModuleInfo& module : all_modules()) {
    EXPECT_NE(text.str().find("`" + std::string(module.name) + "`"), std::string::npos) << module.name;
    for (const SettingInfo& s : module.settings)
      EXPECT_NE(text.str().find("`" + std::string(s.name) + "`"), std::string::npos) << s.name;
  }
}

}  // namespace
}  // namespace mqlab
