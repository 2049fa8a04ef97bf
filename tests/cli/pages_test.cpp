// Pages of documentation that repeat a table of the program: docs/errors.md and docs/settings.md
// say what the code says. Runs with the project's root as working directory.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "base/error_table.h"
#include "config/keys.h"
#include "node/module_list.h"

namespace coffer {
namespace {

std::string page_text(const std::string& page) {
  std::ifstream in(page);
  EXPECT_TRUE(in) << page << ": the working directory must be the project's root";
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(Pages, ErrorsHasTheTableOfCodes) {
  const std::string table = errors_markdown();
  EXPECT_NE(page_text("docs/errors.md").find("\n\n" + table + "\n"), std::string::npos)
      << "docs/errors.md must contain this table:\n"
      << table;
}

TEST(Pages, SettingsHasTheTableOfKeys) {
  node::set_modules(node::module_list());
  const std::string table = config::config_markdown();
  EXPECT_NE(page_text("docs/settings.md").find("\n\n" + table), std::string::npos)
      << "docs/settings.md must contain this table:\n"
      << table;
}

}  // namespace
}  // namespace coffer
