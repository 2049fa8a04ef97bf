// The walks of docs/architecture.md, sequences of file and function that a reader follows: every
// file is in the tree and defines the function named beside it, and no walk is long. Runs with the
// project's root as working directory.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace coffer {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPage = "docs/architecture.md";
constexpr const char* kWalksHeading = "## Five walks through the code";

struct WalkStep {
  std::size_t line = 0;
  std::string file, function;
};
struct Walk {
  std::string title;
  std::vector<WalkStep> steps;
};

// Path from the root to content.
using SourceTree = std::map<std::string, std::string>;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path << ": the working directory must be the project's root";
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

SourceTree read_tree() {
  SourceTree tree;
  for (const char* root : {"src", "include"})
    if (fs::exists(root))
      for (const auto& entry : fs::recursive_directory_iterator(root)) {
        const std::string extension = entry.path().extension().string();
        if (extension == ".cpp" || extension == ".h" || extension == ".sql")
          tree[entry.path().generic_string()] = text_of(entry.path());
      }
  return tree;
}

// The tables below the headings of the section: "| `file` | `function` | what it does |".
std::vector<Walk> parse_walks(const std::string& page) {
  static const std::regex row_pattern(R"(^\| `([^`]+)` \| `([^`]+)` \| .*)");
  std::vector<Walk> walks;
  std::istringstream in(page);
  bool inside = false;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("## ")) inside = line == kWalksHeading;
    if (!inside) continue;
    if (line.starts_with("### ")) walks.push_back({line.substr(4), {}});
    std::smatch row;
    if (!walks.empty() && std::regex_match(line, row, row_pattern))
      walks.back().steps.push_back({number, row[1].str(), row[2].str()});
  }
  return walks;
}

// Whether the file defines the function. In a .cpp a definition begins in the first column and a
// call never does; a header declares or defines it; a migration creates it.
bool defines(const std::string& path, const std::string& content, const std::string& function) {
  if (path.ends_with(".sql"))
    return std::regex_search(content,
                             std::regex("CREATE (TABLE|VIEW|TRIGGER) " + function + "[^a-z_0-9]"));
  const bool is_header = path.ends_with(".h");
  std::istringstream in(content);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#' || line.starts_with("//")) continue;
    if (!is_header && (line[0] == ' ' || line[0] == '}')) continue;
    for (auto at = line.find(function + "("); at != std::string::npos;
         at = line.find(function + "(", at + 1))
      if (at > 0 && std::string_view(" *&").find(line[at - 1]) != std::string_view::npos)
        return true;
  }
  return false;
}

// What is wrong with the steps of a walk, a line each.
std::string faults_of(const Walk& walk, const SourceTree& tree) {
  std::string faults;
  for (const WalkStep& step : walk.steps) {
    const auto add = [&](const std::string& what) {
      faults += std::string(kPage) + ":" + std::to_string(step.line) + ": " + what + "\n";
    };
    std::vector<std::string> found;
    for (const auto& [path, content] : tree)
      if (path.ends_with("/" + step.file)) found.push_back(path);
    if (found.empty())
      add("no file " + step.file);
    else if (found.size() > 1)
      add(step.file + " is several files; name more of its path");
    else if (!defines(found[0], tree.at(found[0]), step.function))
      add(found[0] + " does not define " + step.function);
  }
  return faults;
}

std::size_t files_of(const Walk& walk) {
  std::set<std::string> files;
  for (const WalkStep& step : walk.steps) files.insert(step.file);
  return files.size();
}

TEST(Walks, EveryStepIsDefinedInItsFile) {
  const SourceTree tree = read_tree();
  for (const Walk& walk : parse_walks(text_of(kPage)))
    EXPECT_EQ(faults_of(walk, tree), "") << walk.title;
}

TEST(Walks, FiveAndShort) {
  // Most files that a reader has to open for each.
  const std::vector<std::size_t> most = {16, 12, 12, 14, 12};
  const std::vector<Walk> walks = parse_walks(text_of(kPage));
  ASSERT_EQ(walks.size(), most.size());
  for (std::size_t i = 0; i < walks.size(); ++i) {
    EXPECT_GE(walks[i].steps.size(), 5u) << walks[i].title;
    EXPECT_LE(files_of(walks[i]), most[i]) << walks[i].title;
  }
}

// `Suite.Name`, `Suite.Beginning…` and `Suite.*` in backticks, as pages cite tests.
std::set<std::string> cited_tests(const std::string& page) {
  static const std::regex cited_pattern("`([A-Z][A-Za-z0-9]+\\.)(([A-Z][A-Za-z0-9]+)(…)?|\\*)`");
  std::set<std::string> cited;
  for (std::sregex_iterator it(page.begin(), page.end(), cited_pattern), end; it != end; ++it)
    cited.insert((*it)[1].str() + (*it)[3].str() +
                 ((*it)[4].matched || !(*it)[3].matched ? "" : "\n"));
  return cited;
}

TEST(Walks, CitedTestsExist) {
  static const std::regex test_pattern(R"(\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\))");
  std::set<std::string> tests;
  for (const char* root : {"src", "tests"})
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      const std::string text = text_of(entry.path());
      for (auto from = text.find("\nTEST"); from != std::string::npos;
           from = text.find("\nTEST", from + 1)) {
        const std::string head = text.substr(from, 200);
        if (std::smatch match; std::regex_search(head, match, test_pattern))
          tests.insert(match[1].str() + "." + match[2].str() + "\n");
      }
    }
  std::size_t found = 0;
  for (const auto& entry : fs::recursive_directory_iterator("docs")) {
    if (entry.path().extension() != ".md" || entry.path().filename() == "template.md") continue;
    for (const std::string& cited : cited_tests(text_of(entry.path()))) {
      const auto at = tests.lower_bound(cited);
      EXPECT_TRUE(at != tests.end() && at->starts_with(cited)) << entry.path() << ": " << cited;
      ++found;
    }
  }
  EXPECT_GT(found, 20u);
  EXPECT_EQ(cited_tests("`Aa.Bb` `Cc.Dd…` `Ee.*` `f.g` `Hh.ii`"),
            (std::set<std::string>{"Aa.Bb\n", "Cc.Dd", "Ee."}));
}

// The check itself: it must object to a wrong name and accept a right one.
TEST(Walks, WrongNamesAreFound) {
  const SourceTree tree = {
      {"src/a/x.cpp", "Result<> A::go(int b) {\n  other(b);\n  return B::run(b);\n}\n"},
      {"src/b/same.cpp", "void f() {}\n"},
      {"src/c/same.cpp", "void f() {}\n"},
      {"src/m/sqlite/0001_m.sql", "CREATE TRIGGER trg_made AFTER INSERT ON m\n"}};
  const auto of = [&](const std::string& file, const std::string& function) {
    return faults_of({"", {{7, file, function}}}, tree);
  };
  EXPECT_EQ(of("x.cpp", "A::go"), "");
  EXPECT_EQ(of("c/same.cpp", "f"), "");
  EXPECT_EQ(of("sqlite/0001_m.sql", "trg_made"), "");
  EXPECT_EQ(of("y.cpp", "A::go"), "docs/architecture.md:7: no file y.cpp\n");
  EXPECT_EQ(of("same.cpp", "f"),
            "docs/architecture.md:7: same.cpp is several files; name more of its path\n");
  for (const char* wrong : {"A::stop", "go", "other", "B::run", "A::g", "::go"})
    EXPECT_NE(of("x.cpp", wrong), "") << wrong;
  EXPECT_NE(of("sqlite/0001_m.sql", "trg_mad"), "");
}

}  // namespace
}  // namespace coffer
