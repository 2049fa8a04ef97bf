// DATA/identity: which chain a data directory is of, for commands that must not open its RocksDB
// database to learn that. Derived from the database, which keeps the word: a process that opens the
// database writes the file anew, and removes it while the database is of no chain yet.
//
// Two lines: "bitcoin mainnet" for people, and the identity as the database holds it, in hex.
#pragma once

#include <filesystem>
#include <optional>

#include <coffer/chainstate/identity.h>

namespace coffer::node {

// Nothing if there is no such file. Errors: kCorrupt if it cannot be read as one.
Result<std::optional<chainstate::Identity>> read_identity_file(
    const std::filesystem::path& data_dir);

// Makes the file say this; nothing: removes it. Writes only what is not there yet.
// Errors: kUnavailable.
Result<> update_identity_file(const std::filesystem::path& data_dir,
                              const std::optional<chainstate::Identity>& identity);

}  // namespace coffer::node
