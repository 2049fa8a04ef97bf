// A Cardano network from its genesis files: byron-genesis.json and shelley-genesis.json.
#pragma once

#include <filesystem>

#include <coffer/chain/network.h>

namespace coffer::chain {

// The hash by which Byron's first block names its genesis file: Blake2b-256 of its canonical JSON
// (sorted keys, no blanks). Errors: kInvalidInput, kTooLarge.
Result<Hash256> byron_genesis_hash(ByteView json);

// Whether the files in the directory are those of this built-in network, as far as they are there:
// network magic, and the hashes of the files where they are known. Errors: kUsage naming the file.
Result<> check_genesis_files(const Network& network, const std::filesystem::path& directory);

// A private network, one that begins in Shelley or later (every era before it ends at epoch 0).
// The name is 1 to 32 of a-z, 0-9, '_' and '-'. Its genesis is the hash of shelley-genesis.json.
// Errors: kUsage (name), kNotFound, kInvalidInput naming the file and the field.
Result<Network> private_network(std::string_view name, const std::filesystem::path& directory);

}  // namespace coffer::chain
