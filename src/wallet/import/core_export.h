// What Bitcoin Core's `listdescriptors` prints, read so that a wallet can go on where Core's
// stands.
#pragma once

#include "wallet/descriptor/descriptor.h"

namespace coffer::wallet {

inline constexpr std::size_t kMaxCoreExportBytes = 16u << 20;
inline constexpr std::size_t kMaxCoreExportDescriptors = 10'000;

struct CoreDescriptor {
  struct Range {
    std::uint32_t first = 0, last = 0;  // both belong to it
    friend bool operator==(const Range&, const Range&) = default;
  };
  Descriptor descriptor;
  bool active = false;    // Core makes new addresses from it
  bool internal = false;  // … for change
  // What Core watches, and the first index that it has not given out; for ranged ones only.
  std::optional<Range> range;
  std::optional<std::uint32_t> next_index;
  // Unix time before which none of its scripts was used; 0 if that is not known.
  std::uint64_t birthday_s = 0;
};

struct CoreExport {
  std::string wallet_name;  // may be empty
  std::vector<CoreDescriptor> descriptors;
};

// The JSON text as bitcoin-cli prints it, or as the whole answer of the RPC interface. All of it is
// read or nothing. Thread-safe. Cost: that of parsing each descriptor.
// Errors: kInvalidInput naming the entry: no JSON, a missing or foreign field, private keys
// (`listdescriptors true`), whatever parse_descriptor() refuses, a descriptor that stands for
// several, or one from which nothing can be derived without private keys; kTooLarge.
Result<CoreExport> parse_core_export(const chain::Network& network, std::string_view json);

}  // namespace coffer::wallet
