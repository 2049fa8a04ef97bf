// What the parts of `coffer bench utxo` share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace coffer::app {

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

// Pages of addresses with 3, 3,000 and 300,000 outputs, in process and over HTTP.
Result<> bench_utxo_reads(const std::filesystem::path& scratch, BenchReport& report);

}  // namespace coffer::app
