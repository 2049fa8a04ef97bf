// Reading the genesis files of a Cardano network, once for all that is taken from them.
#pragma once

#include <filesystem>
#include <optional>

#include <coffer/base/bytes.h>
#include "json/reader.h"

namespace coffer::chain {

struct GenesisFile {
  std::filesystem::path path;
  Bytes text;
  json::Value document;  // an object
};

// Errors: kInvalidInput, kTooLarge.
Result<json::Value> parse_genesis(ByteView text);
// Nothing if it is not there. Errors: as above with the file's name; kUnavailable.
Result<std::optional<GenesisFile>> load_genesis(const std::filesystem::path& path);

}  // namespace coffer::chain
