// Parameters of a chain and network, as data, and which network a block or a file belongs to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::chain {

// From this slot on, slots and epochs have these lengths.
struct EraSummary {
  std::uint64_t first_slot = 0;
  std::uint64_t first_epoch = 0;
  std::int64_t start_unix_s = 0;
  std::uint64_t slot_ms = 1'000;
  std::uint64_t epoch_slots = 1;
  friend bool operator==(const EraSummary&, const EraSummary&) = default;
};

struct BitcoinParams {
  std::uint8_t magic[4] = {};  // before each block in blk files
  std::uint8_t p2pkh_prefix = 0;
  std::uint8_t p2sh_prefix = 0;
  std::string segwit_hrp;
  std::uint32_t xpub_version = 0;  // of extended public keys
  std::uint64_t halving_blocks = 210'000;
};

struct CardanoParams {
  std::uint64_t magic = 0;
  std::uint8_t network_id = 0;   // 1 on mainnet, 0 elsewhere
  std::vector<EraSummary> eras;  // in order of first_slot, the first at slot 0
  friend bool operator==(const CardanoParams&, const CardanoParams&) = default;
};

struct Network {
  Family family = Family::kBitcoin;
  std::string name;
  // Bitcoin: hash of block 0; Cardano: hash of the Byron genesis file, or of the Shelley one of a
  // private network.
  Hash256 genesis{};
  // The hash that the chain's first block must have (E15); none on simulated and private networks.
  std::optional<Hash256> first_block;
  // Blocks that this chain may undo: the default of chainstate.rollback_window, and the least that
  // the wallet's pruning keeps (X1).
  std::uint64_t rollback_window = 0;
  BitcoinParams bitcoin;
  CardanoParams cardano;

  std::string_view chain_name() const { return family == Family::kBitcoin ? "bitcoin" : "cardano"; }
  // Cardano only. Cost: a search among the few eras.
  std::uint64_t epoch_of(Slot slot) const;
  std::int64_t time_of(Slot slot) const;
};

// Whether a block without a parent may begin this network's chain (E15). The block must be hashed.
// Errors: kConflict naming the network that the block belongs to, if it is a known one.
Result<> check_first_block(const Network& network, const Block& block);
// Whether the block claims to be the first of some chain.
bool begins_a_chain(const Network& network, const Block& block);

// The name of the Bitcoin network whose blk files have this magic (4 bytes) before each block;
// empty if none is known. Regtest and the simulated network share theirs.
std::string_view network_of_magic(ByteView magic);
// kConflict if the bytes begin with the magic of another Bitcoin network than this one; `what` is
// the file's name.
Result<> check_magic(const Network& network, ByteView data, std::string_view what);
// "cardano preview" if the hash is that of a known network's first block, or of its genesis file;
// empty otherwise.
std::string network_of_first_block(Family family, const Hash256& hash);

// A private Cardano network, from what genesis files or a database say of it.
Network private_network_of(std::string_view name, const Hash256& genesis, CardanoParams params);

// A built-in network: bitcoin mainnet, testnet, testnet4, signet, regtest, devnet;
// cardano mainnet, preprod, preview, devnet. Errors: kUsage naming the known ones.
Result<Network> find_network(std::string_view chain, std::string_view network);

}  // namespace coffer::chain
