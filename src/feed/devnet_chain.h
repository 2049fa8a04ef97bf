// A simulated chain from a seed: payments, chains of unconfirmed transactions, replacements, double
// spends, coinbases, reorgs; on Cardano also assets, datums, scripts and phase-2-invalid
// transactions. It emits real wire bytes. Invariant: the same options give the same emissions, on
// every machine.
#pragma once

#include "feed/devnet_flavour.h"

namespace coffer::feed {

// A simulated Cardano block of height h has a slot in [h, h + 1) times this.
inline constexpr std::uint64_t kDevnetSlotsPerBlock = 20;

struct DevnetOptions {
  chain::Family family = chain::Family::kBitcoin;
  std::uint64_t seed = 1;
  std::uint64_t txs_per_block = 8;  // on average, once there are coins
  std::uint64_t reorg_every = 40;   // blocks between reorgs on average; 0 = none
  std::uint64_t max_reorg_depth = 6;
  std::uint64_t owners = 200;  // addresses in use
  std::uint64_t start_unix_s = 1'500'000'000;
  std::uint64_t seconds_per_block = 600;
};

struct MempoolEvent {
  DevTxPtr seen;  // null when it was dropped
  Hash256 dropped{};
};

// One block and what happened in the mempool around it.
struct Emission {
  std::vector<MempoolEvent> before, after;
  Bytes block;
  Hash256 hash{};
  std::uint64_t height = 0;
  std::uint64_t rolled_back = 0;  // blocks that this one leaves behind
};

// Not thread-safe. Cost: a few microseconds a transaction.
class DevnetChain {
 public:
  explicit DevnetChain(DevnetOptions options);

  Emission next();

  const DevnetOptions& options() const { return options_; }
  // Hashes of the best chain by height.
  const std::vector<Hash256>& best() const { return best_; }
  // Coins that are there before the first block (Cardano).
  std::vector<DevCoin> genesis_coins() const { return flavour_->genesis_coins(); }
  std::vector<chain::GenesisUtxo> genesis_utxos() const { return flavour_->genesis_utxos(); }
  // Depends on every option that shapes the chain.
  static Hash256 identity(const DevnetOptions& options);

 private:
  void maybe_reorg(Emission& emission);
  void make_traffic(Emission& emission);
  std::optional<DevTxPtr> pay(bool on_unconfirmed);
  std::optional<DevTxPtr> spend(std::vector<DevCoin> inputs, std::uint64_t fee);
  void add_invalid(TxPlan& plan);
  void accept_and_tell(DevTxPtr tx, Emission& emission);
  void replace(Emission& emission);
  void double_spend(Emission& emission);
  void drop_and_tell(const Hash256& id, std::vector<MempoolEvent>& events);
  std::vector<DevCoin> pick_inputs(bool on_unconfirmed);
  void mine(Emission& emission);

  const DevnetOptions options_;
  std::unique_ptr<DevnetFlavour> flavour_;
  Rng rng_;
  DevnetLedger ledger_;
  std::vector<Hash256> best_;
  std::uint64_t emitted_ = 0;      // blocks ever, stale ones included
  std::uint64_t branch_left_ = 0;  // blocks until a new branch is longer than the old one
};

}  // namespace coffer::feed
