// The rules about files that the compiler does not check: who may include whom, sizes, headers,
// stray text. Runs with the project's root as working directory. Every finding names file and line.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "system/include_rules.h"

namespace coffer {
namespace {

constexpr std::size_t kMaxLines = 400;  // the aim is 300
constexpr std::size_t kMaxColumns = 100;

// Libraries that stay behind one directory.
struct Confined {
  std::string prefix, directory;
  bool tests_may = false;  // tests read with it what the program wrote
};
const std::vector<Confined> kConfined = {
    {"rocksdb/", "kv"},     {"boost/beast", "http"},      {"boost/asio", "http"},
    {"postgresql/", "sql"}, {"libpq", "sql", true},       {"sqlite3", "sql", true},
    {"zmq", "feed"},        {"boost/json", "json", true}, {"CLI/", "cli"},
    {"cjose/", "oidc"},
};

// Pieces, so that this file does not contain what it looks for.
const std::vector<std::string> kUnfinished = {std::string("TO") + "DO", std::string("FIX") + "ME"};
const std::vector<std::string> kMachinePaths = {std::string("/wo") + "rk/",
                                                std::string("/ho") + "me/"};

struct SourceFile {
  std::string path;  // from the root, with slashes
  std::vector<std::string> lines;

  // "kv" for src/kv/store.h; empty outside src/.
  std::string directory() const {
    if (!path.starts_with("src/")) return "";
    const auto end = path.find('/', 4);
    return end == std::string::npos ? "" : path.substr(4, end - 4);
  }
  std::string name() const { return fs::path(path).filename().string(); }
  bool is_header() const { return path.ends_with(".h"); }
  bool is_cpp() const { return is_header() || path.ends_with(".cpp"); }
};

// Files that only tests use: x_test.cpp, test_x.h, x_test_y.h, and all of tests/, fuzz/, bench/.
bool is_for_tests(const std::string& path) {
  const std::string name = fs::path(path).filename().string();
  return path.starts_with("tests/") || path.starts_with("fuzz/") || path.starts_with("bench/") ||
         name.starts_with("test_") || name.find("_test.") != std::string::npos ||
         name.find("_test_") != std::string::npos;
}

class Findings {
 public:
  void add(const SourceFile& file, std::size_t line, const std::string& what) {
    text_ += file.path + ":" + std::to_string(line) + ": " + what + "\n";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Calls with each line and its number from 1.
void each_line(const SourceFile& file,
               const std::function<void(const std::string&, std::size_t)>& visit) {
  for (std::size_t i = 0; i < file.lines.size(); ++i) visit(file.lines[i], i + 1);
}

// The file named by an #include line, or nothing.
std::string included(const std::string& line, char open, char close) {
  const auto hash = line.find_first_not_of(' ');
  if (hash == std::string::npos || line[hash] != '#') return "";
  const auto word = line.find_first_not_of(' ', hash + 1);
  if (word == std::string::npos || line.compare(word, 7, "include") != 0) return "";
  const auto begin = line.find(open, word);
  const auto end = begin == std::string::npos ? begin : line.find(close, begin + 1);
  return end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

// "wallet/store.h" of include/coffer/wallet/store.h and <coffer/wallet/store.h>, which belong to
// the library wallet; nothing if it is another path.
std::string public_part(const std::string& path, const std::string& root) {
  return path.starts_with(root) ? path.substr(root.size()) : "";
}

void check_project_include(const SourceFile& file, std::size_t line, const std::string& target,
                           Findings& findings) {
  std::string from = public_part(file.path, "src/") + public_part(file.path, "include/coffer/");
  if (!from.empty()) from = library_of(from);
  const std::string to = library_of(target);
  if (from.empty() && !may_include().contains(to))
    return;  // a neighbour in tests/, fuzz/ or bench/
  if (target.find('/') == std::string::npos || !may_include().contains(to)) {
    findings.add(file, line, "\"" + target + "\" is not rooted at src/");
    return;
  }
  if (is_for_tests(target) && !is_for_tests(file.path))
    findings.add(file, line, "\"" + target + "\" is for tests only");
  if (from.empty() || !may_include().contains(from))
    return;  // tests/, examples/, fuzz/ see everything
  if (!reachable_from(from).contains(to)) findings.add(file, line, from + " may not include " + to);
}

void check_includes(const SourceFile& file, Findings& findings) {
  each_line(file, [&](const std::string& line, std::size_t number) {
    const auto library = included(line, '<', '>');
    if (const auto target = included(line, '"', '"'); !target.empty()) {
      check_project_include(file, number, target, findings);
      if (file.path.starts_with("include/"))
        findings.add(file, number, "a public header includes public headers only");
    }
    if (const auto target = public_part(library, "coffer/"); target.find('/') != target.npos)
      check_project_include(file, number, target, findings);
    if (file.path.starts_with("include/") && library.find('/') != library.npos &&
        !library.starts_with("coffer/"))
      findings.add(file, number, "<" + library + "> would be needed by who includes this");
    for (const auto& confined : kConfined)
      if (library.starts_with(confined.prefix) && file.directory() != confined.directory &&
          !(confined.tests_may && is_for_tests(file.path)))
        findings.add(file, number, "<" + library + "> belongs into src/" + confined.directory);
  });
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

void check_size(const SourceFile& file, Findings& findings) {
  if (file.lines.size() > kMaxLines)
    findings.add(file, file.lines.size(), "longer than " + std::to_string(kMaxLines) + " lines");
  each_line(file, [&](const std::string& line, std::size_t number) {
    if (columns(line) > kMaxColumns)
      findings.add(file, number, std::to_string(columns(line)) + " columns");
  });
}

void check_header(const SourceFile& file, Findings& findings) {
  if (file.lines.empty() || !file.lines[0].starts_with("//"))
    findings.add(file, 1, "a header starts with a comment that says what it is for");
  if (std::find(file.lines.begin(), file.lines.end(), "#pragma once") == file.lines.end())
    findings.add(file, 1, "no #pragma once");
}

void check_text(const SourceFile& file, Findings& findings) {
  each_line(file, [&](const std::string& line, std::size_t number) {
    if (line.find('\t') != std::string::npos) findings.add(file, number, "a tab");
    if (line.ends_with(' ') || line.ends_with('\r')) findings.add(file, number, "a trailing blank");
    for (const auto& word : kUnfinished)
      if (line.find(word) != std::string::npos) findings.add(file, number, "unfinished: " + word);
  });
}

// A machine's path, not the end of a longer relative one such as "net/…".
void check_machine_paths(const SourceFile& file, Findings& findings) {
  each_line(file, [&](const std::string& line, std::size_t number) {
    for (const auto& path : kMachinePaths)
      for (auto at = line.find(path); at != std::string::npos; at = line.find(path, at + 1))
        if (at == 0 || (!std::isalnum(static_cast<unsigned char>(line[at - 1])) &&
                        std::string_view("_-.}*").find(line[at - 1]) == std::string_view::npos))
          findings.add(file, number, "a path of one machine: " + path);
  });
}

// The libraries that a CMakeLists.txt under src/ links must follow the same directions.
void check_cmake_deps(const SourceFile& file, Findings& findings) {
  const std::string from = file.directory();
  if (file.name() != "CMakeLists.txt" || !may_include().contains(from)) return;
  each_line(file, [&](const std::string& line, std::size_t number) {
    const auto at = line.find(" DEPS ");
    if (!line.starts_with("coffer_module(") || at == std::string::npos) return;
    for (const std::string& to : stated_deps(line))
      if (!reachable_from(from).contains(to))
        findings.add(file, number, from + " may not link " + to);
  });
}

SourceFile read(const fs::path& path) {
  SourceFile file{path.lexically_normal().generic_string(), {}};
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  return file;
}

bool is_text(const fs::path& path) {
  static const Names extensions = {".h",    ".cpp",  ".cmake", ".txt", ".in", ".md",
                                   ".json", ".toml", ".yml",   ".sh",  ".py", ".html",
                                   ".js",   ".ts",   ".css",   ".sql"};
  static const Names names = {"dev",         "run",           ".clang-format",
                              ".clang-tidy", ".editorconfig", ".gitignore"};
  return extensions.contains(path.extension().string()) || names.contains(path.filename().string());
}

// The project's own text files; what is built, fetched or produced by running is left out.
std::vector<SourceFile> project_files() {
  static const Names skipped = {".git", "build", "node_modules", "coffer-data", ".cache", "dist"};
  std::vector<SourceFile> files;
  for (auto it = fs::recursive_directory_iterator("."); it != fs::recursive_directory_iterator();
       ++it) {
    const std::string name = it->path().filename().string();
    if (it->is_directory() && (skipped.contains(name) || name.starts_with("build-")))
      it.disable_recursion_pending();
    else if (it->is_regular_file() && is_text(it->path()))
      files.push_back(read(it->path()));
  }
  return files;
}

// Runs a check over the files that `wanted` picks; there must be some.
template <typename Wanted>
std::string run(Wanted wanted, void (*check)(const SourceFile&, Findings&)) {
  static const std::vector<SourceFile> files = project_files();
  Findings findings;
  std::size_t seen = 0;
  for (const auto& file : files)
    if (wanted(file)) check(file, findings), ++seen;
  EXPECT_GT(seen, 0u) << "the working directory must be the project's root";
  return findings.text();
}

bool any_cpp(const SourceFile& file) {
  return file.is_cpp();
}
bool any(const SourceFile&) {
  return true;
}
bool in_src_or_tests(const SourceFile& file) {
  return file.is_cpp() && (file.path.starts_with("src/") || file.path.starts_with("include/") ||
                           file.path.starts_with("tests/"));
}

TEST(Layout, IncludesFollowTheDesign) {
  EXPECT_EQ(run(any_cpp, check_includes), "");
}
TEST(Layout, LinkedModulesFollowTheDesign) {
  EXPECT_EQ(run(any, check_cmake_deps), "");
}
TEST(Layout, FilesAndLinesAreShort) {
  EXPECT_EQ(run(in_src_or_tests, check_size), "");
}
TEST(Layout, TextIsCleanAndFinished) {
  EXPECT_EQ(run(any, check_text), "");
}
TEST(Layout, NoPathOfOneMachine) {
  EXPECT_EQ(run(any, check_machine_paths), "");
}

TEST(Layout, HeadersHaveAPurposeAndAGuard) {
  EXPECT_EQ(run([](const SourceFile& file) { return file.is_header(); }, check_header), "");
}

TEST(Layout, EveryDirectoryIsInTheDesign) {
  for (const auto& entry : fs::directory_iterator("src")) {
    const std::string name = entry.path().filename().string();
    EXPECT_TRUE(!entry.is_directory() || may_include().contains(name)) << name;
  }
}

TEST(LayoutRules, EnginesNeverSeeEachOtherOrAFace) {
  const Names all = engines();
  EXPECT_TRUE(all.contains("utxo") && all.contains("wallet"));
  for (const auto& from : all)
    for (const auto& to : reachable_from(from)) {
      EXPECT_TRUE(from == to || !all.contains(to)) << from << " sees " << to;
      EXPECT_FALSE(to.ends_with("_faces") || to == "api" || to == "cli" || to == "node") << from;
    }
}

TEST(LayoutRules, HaveNoCycles) {
  for (const auto& [from, direct] : may_include())
    for (const auto& to : direct) EXPECT_FALSE(reachable_from(to).contains(from)) << from << to;
}

// The checks themselves: each must object to a bad file and accept a good one.

using Check = void (*)(const SourceFile&, Findings&);
std::string findings_of(Check check, std::string path, std::vector<std::string> lines) {
  Findings findings;
  check(SourceFile{std::move(path), std::move(lines)}, findings);
  return findings.text();
}

TEST(LayoutChecker, ObjectsToBadIncludes) {
  const auto of = [](std::string path, std::string line) {
    return findings_of(check_includes, std::move(path), {"", std::move(line)});
  };
  EXPECT_EQ(of("src/crypto/a.cpp", "#include \"chain/block.h\""),
            "src/crypto/a.cpp:2: crypto may not include chain\n");
  EXPECT_EQ(of("src/crypto/a.cpp", "#include <coffer/chain/block.h>"),
            "src/crypto/a.cpp:2: crypto may not include chain\n");
  EXPECT_NE(of("include/coffer/utxo/a.h", "#include <coffer/wallet/types.h>"), "");
  EXPECT_NE(of("include/coffer/utxo/a.h", "#include \"utxo/keys.h\""), "");
  EXPECT_NE(of("include/coffer/utxo/a.h", "#include <fmt/format.h>"), "");
  EXPECT_EQ(of("include/coffer/utxo/a.h", "#include <coffer/chain/block.h>"), "");
  EXPECT_NE(of("src/utxo/a_test.cpp", "#include \"wallet/x.h\""), "");
  EXPECT_NE(of("src/utxo/store.cpp", "#include \"utxo/settings.h\""), "");
  EXPECT_NE(of("src/utxo/store.cpp", "#include \"config/config.h\""), "");
  EXPECT_EQ(of("src/utxo/settings.cpp", "#include \"config/config.h\""), "");
  EXPECT_NE(of("src/api/a.h", "#  include <boost/beast/http.hpp>"), "");
  EXPECT_NE(of("tests/a.cpp", "#include <rocksdb/db.h>"), "");
  EXPECT_NE(of("src/wallet/a.cpp", "#include <libpq-fe.h>"), "");
  EXPECT_EQ(of("src/wallet/a.cpp", "#include <boost/json.hpp>"),
            "src/wallet/a.cpp:2: <boost/json.hpp> belongs into src/json\n");
  EXPECT_NE(of("src/api/a.h", "#include <boost/json/fwd.hpp>"), "");
  EXPECT_NE(of("examples/a.cpp", "#include <boost/json/value.hpp>"), "");
  EXPECT_NE(of("src/json/a.h", "#include \"crypto/sha256.h\""), "");
  EXPECT_EQ(of("src/node/a.cpp", "#include <CLI/CLI.hpp>"),
            "src/node/a.cpp:2: <CLI/CLI.hpp> belongs into src/cli\n");
  EXPECT_NE(of("src/kv/a.cpp", "#include \"store.h\""), "");
  EXPECT_NE(of("src/kv/a.cpp", "#include \"base/test_data.h\""), "");
  EXPECT_EQ(of("src/kv/a_test.cpp", "#include \"base/test_data.h\""), "");
  EXPECT_EQ(of("tests/a.cpp", "#include \"oracle.h\""), "");
  EXPECT_EQ(of("src/bus/a.cpp", "#include \"base/bytes.h\""), "");
  EXPECT_EQ(of("src/kv/a.cpp", "#include <rocksdb/db.h>"), "");
  for (const char* allowed : {"src/json/a.h", "src/api/a_test.cpp", "src/api/test_a.h",
                              "src/api/a_test_util.h", "tests/a.h", "fuzz/a.cpp"})
    EXPECT_EQ(of(allowed, "#include <boost/json.hpp>"), "") << allowed;
}

TEST(LayoutChecker, ObjectsToBadText) {
  EXPECT_EQ(findings_of(check_text, "a", {"x", "\ty", "z "}),
            "a:2: a tab\na:3: a trailing blank\n");
  EXPECT_NE(findings_of(check_text, "a", {"// " + kUnfinished[0] + ": later"}), "");
  EXPECT_NE(findings_of(check_machine_paths, "a", {"see " + kMachinePaths[0] + "main"}), "");
  EXPECT_EQ(findings_of(check_machine_paths, "a", {"net" + kMachinePaths[0]}), "");
}

TEST(LayoutChecker, ObjectsToBadSizesHeadersAndLinks) {
  EXPECT_NE(findings_of(check_size, "src/a.cpp", {std::string(101, 'x')}), "");
  EXPECT_EQ(findings_of(check_size, "src/a.cpp", {std::string(100, 'x')}), "");
  EXPECT_NE(findings_of(check_size, "src/a.cpp", std::vector<std::string>(401)), "");
  EXPECT_NE(findings_of(check_header, "src/a.h", {"#pragma once"}), "");
  EXPECT_NE(findings_of(check_header, "src/a.h", {"// A."}), "");
  EXPECT_EQ(findings_of(check_header, "src/a.h", {"// A.", "#pragma once"}), "");
  EXPECT_EQ(findings_of(check_cmake_deps, "src/kv/CMakeLists.txt", {"coffer_module(kv DEPS bus)"}),
            "src/kv/CMakeLists.txt:1: kv may not link bus\n");
}

}  // namespace
}  // namespace coffer
