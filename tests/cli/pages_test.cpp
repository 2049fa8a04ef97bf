// Pages of documentation that repeat a table of the program: docs/errors.md and docs/settings.md
// say what the code says. Runs with the project's root as working directory.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include <coffer/base/error.h>
#include "base/result.h"
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

TEST(Pages, ErrorsHasEveryCodeOfTheTable) {
  const std::string page = page_text("docs/errors.md");
  const std::string head =
      "| code | HTTP status | exit code | retry | meaning |\n|---|---|---|---|---|\n";
  const std::size_t begin = page.find(head);
  ASSERT_NE(begin, std::string::npos);
  std::istringstream rows(page.substr(begin + head.size()));
  std::string row;
  for (int code = 0; code <= static_cast<int>(Code::kCancelled); ++code) {
    const CodeInfo& wanted = info(static_cast<Code>(code));
    const std::string start =
        fmt::format("| `{}` | {} | {} | {} | ", wanted.name, wanted.http_status, wanted.exit_code,
                    wanted.retryable ? "yes" : "no");
    ASSERT_TRUE(std::getline(rows, row));
    EXPECT_TRUE(row.starts_with(start)) << row << "\nthe table in error.cpp says\n" << start;
    EXPECT_GT(row.size(), start.size() + 2) << row;  // what it means
  }
  ASSERT_TRUE(std::getline(rows, row));
  EXPECT_EQ(row, "") << "not a code of error.cpp";
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
