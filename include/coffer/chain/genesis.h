// The outputs that a Cardano chain begins with, from its genesis files (U6): Byron's redeem
// addresses (avvmDistr) and nonAvvmBalances, Shelley's initialFunds. No transaction makes them;
// each has Blake2b-256 of its address bytes as transaction id, and index 0.
#pragma once

#include <filesystem>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::chain {

inline constexpr std::uint64_t kMaxGenesisBytes = 64u << 20;  // mainnet's has 1 MB

enum class GenesisKind : std::uint8_t { kRedeem, kByronBalance, kShelleyFunds };

struct GenesisUtxo {
  Outpoint outpoint;
  Bytes address;
  Amount amount;  // zero is allowed
  GenesisKind kind = GenesisKind::kRedeem;
};

// All are thread-safe. In order of outpoint. Errors: kInvalidInput naming the entry; kTooLarge.
// Cost: one pass; mainnet's 14,505 entries take some 50 ms.
Result<std::vector<GenesisUtxo>> byron_genesis_utxos(ByteView json);
Result<std::vector<GenesisUtxo>> shelley_genesis_utxos(ByteView json);

// Both from byron-genesis.json and shelley-genesis.json in a directory; a chain may lack either,
// not both. Errors: as above, with the file's name; kNotFound, kUnavailable.
Result<std::vector<GenesisUtxo>> load_genesis_utxos(const std::filesystem::path& directory);

// The address that only the holder of this Ed25519 key (32 bytes) could redeem. Networks other than
// mainnet have their magic in it.
Bytes redeem_address(ByteView public_key, std::uint64_t network_magic);
// Whether an address is such a one: the first Allegra block removes what is unspent there (U6).
bool is_redeem_address(ByteView address);

}  // namespace coffer::chain
