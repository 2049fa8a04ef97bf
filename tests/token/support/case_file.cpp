#include "token/support/case_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace coffer::token::test {
namespace {

std::string trimmed(const std::string& text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The first word and the rest.
std::pair<std::string, std::string> divided(const std::string& line) {
  const auto space = line.find(' ');
  if (space == std::string::npos) return {line, ""};
  return {line.substr(0, space), trimmed(line.substr(space))};
}

// The end of what begins with a quote, a dollar or a comment at `at`; `at` itself if nothing does.
std::size_t quoted_end(const std::string& text, std::size_t at) {
  std::string closing;
  if (text[at] == '\'' || text[at] == '"') closing = text[at];
  if (text.compare(at, 2, "$$") == 0) closing = "$$";
  if (text.compare(at, 2, "--") == 0) closing = "\n";  // a comment
  if (closing.empty()) return at;
  const auto end = text.find(closing, at + closing.size());
  return end == std::string::npos ? text.size() : end + closing.size();
}

}  // namespace

CaseFile read_case_file(const std::string& path) {
  CaseFile file;
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::vector<CaseStep>* steps = &file.setup;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string text = trimmed(line);
    if (text.empty() || text.starts_with('#')) continue;
    const auto [word, rest] = divided(text);
    if (line.front() != ' ' && word == "name") {
      const auto [name, value] = divided(rest);
      file.names[name] = value;
    } else if (line.front() != ' ' && word == "case") {
      steps = &file.cases.emplace_back(Case{rest, {}}).steps;
    } else if (line.starts_with("  ") && line[2] != ' ') {
      steps->push_back({word, rest, number});
    } else if (line.starts_with("   ") && !steps->empty()) {
      steps->back().text += "\n" + text;
    } else {
      ADD_FAILURE() << path << ":" << number << ": " << line;
    }
  }
  return file;
}

std::vector<std::string> split_statements(const std::string& script) {
  std::vector<std::string> statements;
  std::string current;
  // A trigger of SQLite ends with END, not at its first semicolon.
  const auto is_complete = [&] {
    const std::string text = trimmed(current);
    return !text.starts_with("CREATE TRIGGER") || text.find("BEGIN") == std::string::npos ||
           text.ends_with("END");
  };
  for (std::size_t i = 0; i < script.size();) {
    if (script[i] == ';' && is_complete()) {
      statements.push_back(current);
      current.clear();
      ++i;
      continue;
    }
    const std::size_t end = std::max(quoted_end(script, i), i + 1);
    current += script.substr(i, end - i);
    i = end;
  }
  if (!trimmed(current).empty() && current.find_first_not_of(" \n\t") != std::string::npos)
    statements.push_back(current);
  return statements;
}

}  // namespace coffer::token::test
