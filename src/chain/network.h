// Parameters of a chain and network. They are data: tests and later configuration can add entries.
#pragma once

#include <string>
#include <vector>

#include "chain/block.h"

namespace coffer::chain {

// From this slot on, slots and epochs have these lengths.
struct EraSummary {
  std::uint64_t first_slot = 0;
  std::uint64_t first_epoch = 0;
  std::int64_t start_unix_s = 0;
  std::uint64_t slot_seconds = 1;
  std::uint64_t epoch_slots = 1;
};

struct BitcoinParams {
  std::uint8_t magic[4] = {};  // before each block in blk files
  std::uint8_t p2pkh_prefix = 0;
  std::uint8_t p2sh_prefix = 0;
  std::string segwit_hrp;
  std::uint32_t xpub_version = 0;  // of extended public keys
  std::uint64_t halving_blocks = 210'000;
  std::uint64_t coinbase_maturity = 100;
};

struct CardanoParams {
  std::uint64_t magic = 0;
  std::uint8_t network_id = 0;   // 1 on mainnet, 0 elsewhere
  std::vector<EraSummary> eras;  // in order of first_slot, the first at slot 0
};

struct Network {
  Family family = Family::kBitcoin;
  std::string name;
  Hash256 genesis{};  // Bitcoin: hash of block 0; Cardano: hash of the first genesis file
  std::uint64_t rollback_window =
      0;  // blocks that this chain may undo; the default for all windows (X1)
  BitcoinParams bitcoin;
  CardanoParams cardano;

  std::string_view chain_name() const { return family == Family::kBitcoin ? "bitcoin" : "cardano"; }
  // Cardano only. Cost: a search among the few eras.
  std::uint64_t epoch_of(Slot slot) const;
  std::int64_t time_of(Slot slot) const;
};

// A built-in network: bitcoin mainnet, testnet, testnet4, signet, regtest, devnet;
// cardano mainnet, preprod, preview, devnet. Errors: kUsage naming the known ones.
Result<Network> find_network(std::string_view chain, std::string_view network);

}  // namespace coffer::chain
