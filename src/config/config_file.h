// coffer.toml as a flat list of keys and values, each with its line. Knows TOML, not the keys.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace coffer::config {

// A value as it was found: text, number, switch, list of texts, or something that no key takes.
struct OtherValue {
  std::string kind;  // "a date", "a table"
};
using RawValue =
    std::variant<std::string, std::int64_t, bool, std::vector<std::string>, OtherValue>;

struct FileEntry {
  std::string key;  // with dots
  std::uint64_t line = 0;
  RawValue value;
};

// In the order of the keys. A section without keys is an entry too, of kind "an empty section".
// Errors: kUsage with line and column for what is not TOML (the text there is not shown: it may be
// a secret); kNotFound, kUnavailable, kTooLarge.
Result<std::vector<FileEntry>> read_config_file(const std::filesystem::path& path);

}  // namespace coffer::config
