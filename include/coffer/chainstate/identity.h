// Which chain and network a database belongs to (E5). Checked when a database that has blocks is
// opened for writing; put into it with its first block, so that a sync that failed before binds
// nothing.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/kv/database.h>

namespace coffer::chainstate {

inline constexpr std::uint64_t kFormatVersion = 1;

struct Identity {
  std::string chain;
  std::string network;
  Hash256 genesis{};  // a simulated chain puts a digest of its parameters here
  std::uint64_t format_version = kFormatVersion;
  // Of a private network, whose parameters no program knows by its name.
  std::optional<chain::CardanoParams> params = {};

  static Identity of(const chain::Network& network);
  // The network with all its parameters. Errors: kUsage if this program does not know it.
  Result<chain::Network> to_network() const;
  friend bool operator==(const Identity&, const Identity&) = default;
};

inline constexpr std::string_view kMetaColumn = "chain_meta";

// What the database says, or nothing if it is new. Errors: kCorrupt.
Result<std::optional<Identity>> read_identity(const kv::Database& db, kv::Column meta);

// Whether the database is of this identity, or of none yet. Errors: kConflict naming both
// identities; kCorrupt.
Result<> check_identity(const kv::Database& db, kv::Column meta, const Identity& identity);
// As it stands in the database: docs/formats/chainstate.md. Errors: kCorrupt.
Bytes encode_identity(const Identity& identity);
Result<Identity> decode_identity(ByteView data);
// Adds the identity to a batch.
void put_identity(kv::Batch& batch, kv::Column meta, const Identity& identity);

}  // namespace coffer::chainstate
