// Which chain and network a database belongs to (E5). Checked before anything else is read or
// written.
#pragma once

#include "chain/network.h"
#include "kv/database.h"

namespace coffer::chainstate {

inline constexpr std::uint64_t kFormatVersion = 1;

struct Identity {
  std::string chain;
  std::string network;
  Hash256 genesis{};  // a simulated chain puts a digest of its parameters here
  std::uint64_t format_version = kFormatVersion;

  static Identity of(const chain::Network& network) {
    return {std::string(network.chain_name()), network.name, network.genesis, kFormatVersion};
  }
  friend bool operator==(const Identity&, const Identity&) = default;
};

inline constexpr std::string_view kMetaColumn = "chain_meta";

// What the database says, or nothing if it is new. Errors: kCorrupt.
Result<std::optional<Identity>> read_identity(const kv::Database& db, kv::Column meta);

// Accepts a database of this identity, or a new one, which then gets it.
// Errors: kConflict naming both identities; kCorrupt. On an error nothing is touched.
Result<> claim(kv::Database& db, kv::Column meta, const Identity& identity);

}  // namespace coffer::chainstate
