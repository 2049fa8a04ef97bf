// Cases of raw SQL as data. tests/token/cases/format.txt says what a file holds.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace coffer::token::test {

struct CaseStep {
  std::string word, text;
  int line = 0;
};

struct Case {
  std::string name;
  std::vector<CaseStep> steps;
};

struct CaseFile {
  std::map<std::string, std::string> names;
  std::vector<CaseStep> setup;  // before the first case
  std::vector<Case> cases;
};

// Fails the test on a line that it does not understand.
CaseFile read_case_file(const std::string& path);

// The statements of a script, as psql and sqlite3 would send them: one by one.
std::vector<std::string> split_statements(const std::string& script);

}  // namespace coffer::token::test
