// The rows that `coffer bench …` prints.
#pragma once

#include <string>
#include <vector>

namespace coffer::node {

class BenchReport {
 public:
  void add(std::string name, std::string result, std::string meaning) {
    rows_.push_back({std::move(name), std::move(result), std::move(meaning)});
  }
  std::string table() const;
  std::string json() const;

 private:
  struct Row {
    std::string name, result, meaning;
  };
  std::vector<Row> rows_;
};

}  // namespace coffer::node
