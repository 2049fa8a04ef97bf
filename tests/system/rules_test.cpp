// Rules that comments and pages cite by id, and sections of the specification: each must be defined
// in docs/decisions/rules.md. Runs with the project's root as working directory. Every finding
// names file and line.
//
// What counts as a citation: in C++, SQL and scripts only comments; in Markdown all text outside
// fenced blocks. An id is a letter of E, U, W, T, X and one or two digits, as a word of its own. A
// document is three digits that begin with 00, not a part of a number, and may be followed by a
// section; a section without a document belongs to the one that the file named last. A section that
// stands right behind a name, as in "RFC 7519 §2", is one of a public document.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace coffer {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;
using Lines = std::vector<std::string>;

constexpr std::string_view kRulesPage = "docs/decisions/rules.md";

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}
bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// ---- which part of a file is text that people read ----

// Comments of C++, line by line. Literals are passed over, raw ones too: a URL holds no comment.
class CppComments {
 public:
  // The comments of the next line, blanks in place of the rest.
  std::string next(const std::string& line) {
    std::string text(line.size(), ' ');
    for (std::size_t at = 0; at < line.size();) {
      const std::string_view rest = std::string_view(line).substr(at);
      if (!end_.empty()) {
        const auto end = rest.find(end_);
        const std::size_t size = end == std::string_view::npos ? rest.size() : end;
        if (end_ == "*/") text.replace(at, size, rest.substr(0, size));
        at += size;
        if (end == std::string_view::npos) break;
        at += end_.size();
        end_.clear();
      } else if (rest.starts_with("//")) {
        return text.replace(at, rest.size(), rest);
      } else if (rest.starts_with("/*")) {
        end_ = "*/";
        at += 2;
      } else if (rest.starts_with("R\"") && (at == 0 || !is_word(line[at - 1]))) {
        const auto open = rest.find('(');
        if (open == std::string_view::npos) break;
        end_ = ")" + std::string(rest.substr(2, open - 2)) + "\"";
        at += open + 1;
      } else if (rest[0] == '"' || (rest[0] == '\'' && (at == 0 || !is_word(line[at - 1])))) {
        at += literal(rest);
      } else {
        ++at;
      }
    }
    return text;
  }

 private:
  // A quote after a letter or digit separates digits, so this one begins a literal.
  static std::size_t literal(std::string_view rest) {
    std::size_t at = 1;
    while (at < rest.size() && rest[at] != rest[0]) at += rest[at] == '\\' ? 2 : 1;
    return std::min(at + 1, rest.size());
  }

  std::string end_;  // of the comment or raw literal that is open; empty: none
};

// From the mark on, where it begins a line or stands after a blank.
std::string after_mark(const std::string& line, std::string_view mark) {
  for (auto at = line.find(mark); at != std::string::npos; at = line.find(mark, at + 1))
    if (at == 0 || line[at - 1] == ' ') return line.substr(at);
  return "";
}

// The text to search, with as many lines as the file.
Lines readable(const std::string& path, const Lines& lines) {
  const std::string extension = fs::path(path).extension().string();
  Lines text;
  CppComments comments;
  bool fenced = false;
  for (const std::string& line : lines) {
    if (extension == ".h" || extension == ".cpp") {
      text.push_back(comments.next(line));
    } else if (extension == ".sql") {
      text.push_back(after_mark(line, "--"));
    } else if (extension == ".md") {
      const auto begin = line.find_first_not_of(' ');
      const bool fence = begin != std::string::npos && line.compare(begin, 3, "```") == 0;
      if (fence) fenced = !fenced;
      text.push_back(fence || fenced ? "" : line);
    } else {
      text.push_back(after_mark(line, "#"));
    }
  }
  return text;
}

// ---- citations ----

struct Citation {
  std::size_t line = 0;  // from 1
  std::string id;        // "W8", "001", "001 §3.1"
};

// Whether a match of the line is a part of a longer word or number: 1,000 or 0.001 or E2E.
bool is_part_of_more(const std::string& line, std::size_t begin, std::size_t end, bool is_number) {
  const auto at = [&](std::size_t i) { return i < line.size() ? line[i] : ' '; };
  const char before = begin == 0 ? ' ' : line[begin - 1];
  if (is_word(before) || is_word(at(end))) return true;
  if (!is_number) return before == '<' || before == '-' || before == '+';
  if (std::string_view(",.'/-#:+").find(before) != std::string_view::npos) return true;
  return at(end) == '-' || at(end) == '/' ||
         (std::string_view(",.'").find(at(end)) != std::string_view::npos && is_digit(at(end + 1)));
}

// Most lines are done with this: the expression below is slow.
bool may_cite(std::string_view line) {
  for (std::size_t at = 0; at + 1 < line.size(); ++at) {
    const bool is_rule = std::string_view("EUWTX").find(line[at]) != std::string_view::npos;
    if ((is_rule && is_digit(line[at + 1])) || line.substr(at, 2) == "00") return true;
  }
  return line.find("§") != std::string_view::npos;
}

std::vector<Citation> citations(const Lines& text) {
  // A section of a public document, a document with or without a section (the mark may be missing
  // before "3.5"), a section alone, "section 4.2 of" a document, a rule.
  static const std::regex citation_pattern(
      R"([A-Z][A-Za-z]+(?: [1-9][0-9]*)? §[0-9.]+)"
      R"(|(00[0-9])(?: §([0-9]+(?:\.[0-9]+)*)| ([0-9]+(?:\.[0-9]+)+))?)"
      R"(|§([0-9]+(?:\.[0-9]+)*))"
      R"(|[Ss]ection ([0-9]+(?:\.[0-9]+)*) of (00[0-9]))"
      R"(|([EUWTX][1-9][0-9]?))");
  std::vector<Citation> found;
  std::string document;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!may_cite(text[i])) continue;
    for (std::sregex_iterator it(text[i].begin(), text[i].end(), citation_pattern), end; it != end;
         ++it) {
      const std::smatch& match = *it;
      const auto begin = static_cast<std::size_t>(match.position());
      const auto size = static_cast<std::size_t>(match.length());
      const auto part = [&](int a, int b) { return match[a].str() + match[b].str(); };
      const bool is_document = match[1].matched;
      if (!is_document && !match[4].matched && !match[6].matched && !match[7].matched) continue;
      if (!match[4].matched && is_part_of_more(text[i], begin, begin + size, is_document)) continue;
      if (match[7].matched) {
        found.push_back({i + 1, match[7].str()});
        continue;
      }
      if (!match[4].matched) document = part(1, 6);
      const std::string section = part(2, 3) + part(4, 5);
      found.push_back({i + 1, section.empty() ? document : document + " §" + section});
    }
  }
  return found;
}

// ---- definitions ----

struct Definition {
  std::size_t line = 0;
  std::string text;  // all of the item
};
using Definitions = std::multimap<std::string, Definition>;

// The items of the page: "- **W8: a name.** Sentences. Where: module (file.cpp)."
Definitions definitions(const Lines& page) {
  static const std::regex item_pattern(R"(^- \*\*([EUWTX][1-9][0-9]?|00[0-9](?: §[0-9.]+)?): .*)");
  Definitions all;
  auto open = all.end();
  for (std::size_t i = 0; i < page.size(); ++i) {
    std::smatch match;
    if (std::regex_match(page[i], match, item_pattern))
      open = all.insert({match[1].str(), {i + 1, page[i]}});
    else if (page[i].starts_with("  ") && open != all.end())
      open->second.text += page[i].substr(1);
    else
      open = all.end();
  }
  return all;
}

// "file:line: id is not defined in …" for each citation that the page lacks.
std::string undefined(const std::string& path, const Lines& lines, const Definitions& defined) {
  std::string findings;
  for (const Citation& citation : citations(readable(path, lines))) {
    if (defined.contains(citation.id)) continue;
    findings += path + ":" + std::to_string(citation.line) + ": " + citation.id +
                " is not defined in " + std::string(kRulesPage) + "\n";
  }
  return findings;
}

// What is wrong with the items themselves. `files` are the names of all source files.
std::string faults(const Definitions& defined, const Names& files) {
  static const std::regex file_pattern(R"([a-z0-9_]+\.(?:h|cpp|sql))");
  std::string findings;
  for (auto it = defined.begin(); it != defined.end(); ++it) {
    const auto& [id, item] = *it;
    const auto add = [&, line = item.line](const std::string& what) {
      findings += std::string(kRulesPage) + ":" + std::to_string(line) + ": " + what + "\n";
    };
    if (it != defined.begin() && std::prev(it)->first == id) add(id + " is defined twice");
    const auto where = item.text.find(" Where: ");
    const auto name_end = item.text.find(".** ");
    if (name_end == std::string::npos || where == std::string::npos || where < name_end + 20) {
      add(id + " needs a name in bold, a sentence, and 'Where:'");
      continue;
    }
    const std::string places = item.text.substr(where);
    for (std::sregex_iterator file(places.begin(), places.end(), file_pattern), end; file != end;
         ++file)
      if (!files.contains(file->str())) add(id + " names a file that is not there: " + file->str());
  }
  return findings;
}

// ---- the project's files ----

Lines read(const fs::path& path) {
  Lines lines;
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path << ": the working directory must be the project's root";
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool is_searched(const fs::path& path) {
  static const Names extensions = {".h",    ".cpp", ".sql", ".md", ".cmake", ".txt",
                                   ".toml", ".yml", ".sh",  ".py", ".in"};
  return extensions.contains(path.extension().string());
}

// Where citations may stand. Fixtures are data.
std::vector<fs::path> searched_files() {
  std::vector<fs::path> files = {"README.md", "CONTRIBUTING.md"};
  for (const char* root : {"src", "tests", "fuzz", "examples", "include", "docs"}) {
    if (!fs::exists(root)) continue;
    for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
      if (it->is_directory() && it->path().filename() == "fixtures") it.disable_recursion_pending();
      if (it->is_regular_file() && is_searched(it->path())) files.push_back(it->path());
    }
  }
  return files;
}

TEST(Rules, EveryCitationIsDefined) {
  const Definitions defined = definitions(read(kRulesPage));
  const std::vector<fs::path> files = searched_files();
  std::string findings;
  std::size_t cited = 0;
  for (const fs::path& file : files) {
    const Lines lines = read(file);
    findings += undefined(file.generic_string(), lines, defined);
    if (file != kRulesPage) cited += citations(readable(file.string(), lines)).size();
  }
  EXPECT_EQ(findings, "");
  EXPECT_GT(cited, 100u) << "the search has become blind";
}

TEST(Rules, EveryDefinitionIsComplete) {
  Names files;
  for (const fs::path& file : searched_files()) files.insert(file.filename().string());
  const Definitions defined = definitions(read(kRulesPage));
  EXPECT_FALSE(defined.empty());
  EXPECT_EQ(faults(defined, files), "");
}

// The checks themselves: each must object to a bad file and accept a good one.

std::string ids_in(const std::string& path, const Lines& lines) {
  std::string ids;
  for (const Citation& citation : citations(readable(path, lines)))
    ids += (ids.empty() ? "" : "|") + citation.id;
  return ids;
}

TEST(Rules, CitationsStandInComments) {
  EXPECT_EQ(ids_in("a.cpp", {"int x = W1;  // W2, and U13"}), "W2|U13");
  EXPECT_EQ(ids_in("a.h", {"/* E1", "E2 */ E3 /* E4 */"}), "E1|E2|E4");
  EXPECT_EQ(ids_in("a.cpp", {R"(f("http://a W1");  // W2)", R"(g('"');  // W3)"}), "W2|W3");
  EXPECT_EQ(ids_in("a.cpp", {"f(R\"sql(", "-- W1 // W1", ")sql\");  // W2"}), "W2");
  EXPECT_EQ(ids_in("a.cpp", {"f(1'000, 'x', \"\\\"// W1\");  // W2"}), "W2");
  EXPECT_EQ(ids_in("a.sql", {"SELECT 'W1'; -- W2"}), "W2");
  EXPECT_EQ(ids_in("CMakeLists.txt", {"set(W1 x)  # W2"}), "W2");
  EXPECT_EQ(ids_in("a.md", {"W1, `W2`", "```", "W3", "```", "(W4)"}), "W1|W2|W4");
}

TEST(Rules, CitationsAreWordsOfTheirOwn) {
  EXPECT_EQ(ids_in("a.md", {"1E5 0xE2 E2E W0 W100 UTF8 kW1 T1_x W1x pair<T1> SHA-X1 U+E1"}), "");
  EXPECT_EQ(ids_in("a.md", {"1,000 1'000 0.001 10.000,5 0001 000x 003-a a/001/b 000,1"}), "");
  EXPECT_EQ(ids_in("a.md", {"(E1), E2. U3/U4 \"W5\""}), "E1|E2|U3|U4|W5");
  EXPECT_EQ(ids_in("a.md", {"003, 000's. | 001 |"}), "003|000|001");
}

TEST(Rules, SectionsBelongToADocument) {
  EXPECT_EQ(ids_in("a.md", {"001 §3. 000 §3.4, 003"}), "001 §3|000 §3.4|003");
  EXPECT_EQ(ids_in("a.md", {"001 §3.1 and §4.1", "000 names", "| §3.2 |"}),
            "001 §3.1|001 §4.1|000|000 §3.2");
  EXPECT_EQ(ids_in("a.sql", {"-- 000 3.5: a view (001 4.2)", "-- 000 3 rows"}),
            "000 §3.5|001 §4.2|000");
  EXPECT_EQ(ids_in("a.md", {"section 4.2 of 003"}), "003 §4.2");
  EXPECT_EQ(ids_in("a.md", {"§7"}), " §7");  // of no document: never defined
  EXPECT_EQ(ids_in("a.md", {"RFC 4648 §5, RFC 7515 §2 and Discovery §4.3; 001 §3"}), "001 §3");
  EXPECT_EQ(ids_in("a.md", {"Document 001 §3, and §4"}), "001 §3|001 §4");
}

TEST(Rules, UndefinedCitationIsNamedByFileAndLine) {
  const Lines page = {"- **W8: clocks.** Leases end by the database's clock.", "  Where: `wallet`.",
                      "- **001 §3: statuses.** Those of transactions.", "  Where: `wallet`."};
  const Lines code = {"int x;", "// Leases (W8, 001 §3).", "int y;  // W99"};
  const Definitions defined = definitions(page);
  EXPECT_EQ(undefined("src/a.cpp", code, defined),
            "src/a.cpp:3: W99 is not defined in docs/decisions/rules.md\n");
  const Definitions without_first = definitions(Lines(page.begin() + 2, page.end()));
  EXPECT_NE(undefined("src/a.cpp", code, without_first).find("src/a.cpp:2: W8 "),
            std::string::npos);
  EXPECT_EQ(undefined("src/a.cpp", {"// 001 §3.1"}, defined),
            "src/a.cpp:1: 001 §3.1 is not defined in docs/decisions/rules.md\n");
}

TEST(Rules, IncompleteDefinitionIsNamed) {
  const auto of = [](const Lines& page) { return faults(definitions(page), {"a.cpp"}); };
  const std::string good = "- **W1: a name.** What the code does, at some length. Where: `a` ";
  EXPECT_EQ(of({good + "(a.cpp)."}), "");
  EXPECT_NE(of({good + "(b.cpp)."}).find("b.cpp"), std::string::npos);
  EXPECT_NE(of({good, good}).find("W1 is defined twice"), std::string::npos);
  EXPECT_NE(of({"- **W1: a name.** What the code does, at some length."}), "");
  EXPECT_NE(of({"- **W1: a name.** Where: `a`."}), "");
}

}  // namespace
}  // namespace coffer
