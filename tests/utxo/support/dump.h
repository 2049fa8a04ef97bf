// What `coffer utxo dump` prints of Bitcoin.
#pragma once

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace coffer::test {

struct DumpedOutput {
  std::string outpoint, script;
  std::uint64_t value = 0, height = 0;
};

inline std::vector<DumpedOutput> parse_dump(const std::string& text) {
  std::vector<DumpedOutput> outputs;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> fields;
    std::istringstream parts(line);
    for (std::string field; std::getline(parts, field, '|');) fields.push_back(field);
    if (fields.size() < 4) continue;
    outputs.push_back({fields[0], fields[2], std::stoull(fields[1]), std::stoull(fields[3])});
  }
  return outputs;
}

}  // namespace coffer::test
