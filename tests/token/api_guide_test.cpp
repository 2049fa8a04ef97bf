// docs/token.md says what the code says: every refusal with its codes. The table of rights is
// compared in src/token/routes/authority_test.cpp. Runs with the project's root as working
// directory.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "token/reasons.h"

namespace coffer::token {
namespace {

// "| `name` | `code` | status | TK001, TK002 |": what a row of the page begins with.
std::map<std::string, std::string> expected_rows() {
  std::map<std::string, std::vector<std::string>> states;
  std::map<std::string, Code> codes;
  for (const Reason& reason : reasons()) {
    codes.emplace(reason.name, reason.code);
    auto& of_name = states[std::string(reason.name)];
    if (!reason.state.empty()) of_name.emplace_back(reason.state);
  }
  std::map<std::string, std::string> rows;
  for (const auto& [name, code] : codes)
    rows[name] =
        fmt::format("| `{}` | `{}` | {} | {} | ", name, info(code).name, info(code).http_status,
                    states[name].empty() ? "–" : fmt::format("{}", fmt::join(states[name], ", ")));
  return rows;
}

TEST(TokenGuide, HasEveryRefusalOnce) {
  std::ifstream in("docs/token.md");
  ASSERT_TRUE(in) << "the working directory must be the project's root";
  std::map<std::string, std::string> found;  // by name
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("| reason |")) inside = true;
    if (line.empty()) inside = false;
    if (!inside || !line.starts_with("| `")) continue;
    const std::string name = line.substr(3, line.find('`', 3) - 3);
    EXPECT_TRUE(found.emplace(name, line).second) << name << " is there twice";
  }
  const auto expected = expected_rows();
  for (const auto& [name, row] : expected)
    EXPECT_TRUE(found.contains(name) && found.at(name).starts_with(row))
        << "docs/token.md must have the row\n"
        << row;
  for (const auto& [name, row] : found)
    EXPECT_TRUE(expected.contains(name)) << name << " is no refusal";
}

}  // namespace
}  // namespace coffer::token
