// What differs between the simulated families: how transactions and blocks are put into bytes.
#pragma once

#include <coffer/chain/genesis.h>
#include "feed/devnet_ledger.h"

namespace coffer::feed {

struct DevMint {
  DevAsset asset;
  bool burn = false;
};

// A transaction before it is bytes. Inputs and outputs balance: inputs + minted = outputs + fee.
struct TxPlan {
  std::vector<DevCoin> inputs;
  std::vector<DevCoin> outputs;  // without outpoints
  std::vector<chain::Outpoint> reference_inputs;
  std::vector<DevMint> mint;
  std::vector<DevCoin> collateral;  // Cardano
  std::optional<DevCoin> collateral_return;
  bool valid = true;
  std::uint64_t fee = 0;
};

struct BlockPlan {
  std::uint64_t height = 0;
  Hash256 prev{};
  std::uint64_t unix_s = 0;  // Bitcoin's time
  std::uint64_t slot = 0;    // Cardano's
  std::uint64_t nonce = 0;   // differs between branches
  std::uint32_t owner = 0;   // whom a coinbase pays
  std::vector<DevTxPtr> txs;
};

struct BuiltBlock {
  Bytes raw;
  Hash256 hash{};
  std::vector<DevCoin> coinbase;  // coins it creates besides those of its transactions
};

// Deterministic; not thread-safe.
class DevnetFlavour {
 public:
  virtual ~DevnetFlavour() = default;
  virtual std::vector<DevCoin> genesis_coins() const = 0;
  // The same coins as outputs, in order of outpoint.
  virtual std::vector<chain::GenesisUtxo> genesis_utxos() const = 0;
  // The block at height 0 where the network prescribes one.
  virtual std::optional<BuiltBlock> genesis_block() const = 0;
  virtual std::uint8_t random_kind(Rng& rng) const = 0;
  virtual bool has_mempool_replacement() const = 0;
  virtual bool has_assets() const = 0;
  virtual std::uint64_t fee(Rng& rng) const = 0;
  virtual std::uint64_t least_value() const = 0;
  // The plan's outputs get their outpoints in DevTx::creates, in order, those of other people left
  // out.
  virtual DevTx build(const TxPlan& plan, Rng& rng) const = 0;
  virtual BuiltBlock build_block(const BlockPlan& plan) const = 0;
};

std::unique_ptr<DevnetFlavour> make_bitcoin_flavour();
std::unique_ptr<DevnetFlavour> make_cardano_flavour();

}  // namespace coffer::feed
