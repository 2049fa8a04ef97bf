// What the benches of several engines measure with: a file of simulated blocks, a follower of such
// a file, a database of its own, and the same rows put into RocksDB with nothing computed.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <coffer/bus/consumer.h>
#include <coffer/chain/network.h>
#include <coffer/chainstate/chain_state.h>
#include <coffer/kv/database.h>

namespace coffer::node {

struct SimulatedFile {
  std::uint64_t seed = 1, blocks = 300, txs_per_block = 500;
};

// Writes the blocks as a file for a source `file:`, without reorgs. Returns its path.
Result<std::string> write_simulated_file(const std::filesystem::path& directory,
                                         const chain::Network& network, SimulatedFile what);

// As `coffer sync` does it, with one consumer, which is at the file's last block then. Errors:
// kUnavailable if the consumer halts before.
Result<> follow_file(const std::string& file, const chain::Network& network,
                     chainstate::ChainState& chain, bus::Consumer& consumer);

// A database with the columns of the chain state and these.
Result<std::unique_ptr<kv::Database>> open_bench_database(const std::filesystem::path& path,
                                                          std::span<const kv::ColumnOptions> more);

struct RawWrites {
  double seconds = 0;
  std::uint64_t rows = 0;
};

// What these columns of one database hold, put into a new one through memtables, in random order:
// nothing decoded, nothing looked up. Keeps all of it in memory.
Result<RawWrites> write_raw(const std::filesystem::path& from, const std::filesystem::path& to,
                            std::span<const kv::ColumnOptions> columns);

// The size of these columns' files after compaction; `columns` are all that the database has
// besides those of the chain state.
Result<double> compacted_bytes(const std::filesystem::path& path,
                               std::span<const kv::ColumnOptions> columns,
                               std::span<const std::string_view> measured);

}  // namespace coffer::node
