// The wallets as a consumer of blocks and of the mempool. All wallets of a database are matched in
// one pass over a block, and a commit holds whole blocks with the new position (E2).
#pragma once

#include <mutex>

#include <coffer/bus/consumer.h>
#include <coffer/wallet/store.h>

namespace coffer::bus {
class CommitPolicy;
}  // namespace coffer::bus

namespace coffer::wallet {

struct TxView;
class WatchSet;

struct ConsumerOptions {
  // Blocks that are held back for one commit, while the source has more.
  std::size_t held_blocks = 500;
  std::size_t held_bytes = 32u << 20;
  // Whether the events of a node's mempool will come. Only then what was in it is forgotten at the
  // start: for who does not hear them, it is what another process has heard.
  bool hears_mempool = true;
};

class Consumer final : public bus::Consumer {
 public:
  // The store must outlive it. Forgets what the node's mempool held, which the node tells anew.
  static Result<std::unique_ptr<Consumer>> open(Store& store, ConsumerOptions options = {});
  ~Consumer() override;

  std::string_view name() const override { return "wallet"; }
  bus::Position position() const override;
  Result<> on_block(const bus::BlockApplied& block) override;
  // Errors: kBeyondWindow if a transaction above it was pruned; kUnavailable, as from on_block(),
  // if another process led the wallets elsewhere.
  Result<> on_rollback(const bus::RolledBack& rollback) override;
  Result<> on_tx_seen(const bus::TxSeen& seen) override;
  Result<> on_tx_dropped(const bus::TxDropped& dropped) override;
  Result<> flush() override;
  bool can_wait() const override { return true; }
  Result<> probe() override;
  // Those that wallets have transactions in: nothing of the others is kept.
  Result<std::optional<bus::Position>> newest_block_below(
      std::uint64_t below_height) const override;
  std::string repair() const override {
    return "see 'coffer wallet verify'; a wallet is read anew with 'coffer wallet rescan'";
  }

  // Wallets without a single address need no block: they start here. Nothing happens if one has.
  // Before it is given to the bus.
  Result<> skip_to(const bus::Position& position);

  // Looks again at one block that is not above the position, for one wallet; how many transactions
  // changed. `on_chain` is asked, once nothing else can be applied, whether it and the position are
  // still on the chain: then it is right, whatever somebody said of its height. Thread-safe beside
  // the bus. Errors: kConflict if the block is above the position; kUnavailable, retryable, if one
  // of them left the chain.
  using OnChain = std::function<Result<bool>(const bus::Position& position)>;
  Result<std::uint64_t> rescan_block(WalletId wallet, const chain::Block& block,
                                     const OnChain& on_chain);

 private:
  struct Hit;  // a transaction of a block that a wallet owns a part of
  Consumer(Store& store, ConsumerOptions options, bus::Position position);

  Result<> commit();
  static Result<bus::Position> stored_position(sql::Reader& sql);
  Result<> move(sql::Transaction& sql, const bus::Position& to);
  Result<> commit_blocks(sql::Transaction& sql, std::uint64_t& invalidated);
  // The transactions of a block that concern somebody, into their wallets.
  Result<std::uint64_t> apply(sql::Transaction& sql, const chain::Block& block,
                              std::optional<WalletId> only, std::uint64_t& invalidated);
  // PostgreSQL plans by what it knows of its tables, and of new ones it knows nothing until it
  // looks at them by itself, a minute later: the first blocks would read a whole wallet for every
  // row.
  Result<> keep_statistics(sql::Transaction& sql, std::uint64_t changed);
  Result<std::vector<Hit>> owners(sql::Transaction& sql, const TxView& view, bool& extended);
  // How many it invalidated. A wallet that refuses it stays as it is, and that is no error.
  Result<std::uint64_t> see(sql::Transaction& sql, const TxView& view, const Hit& hit);
  // `last`: of the heights that another block at this one makes wrong.
  Result<> add_block_row(sql::Transaction& sql, const chain::Block& block, std::int64_t last);
  // Takes the blocks of these heights off the chain, both included.
  static constexpr std::int64_t kAbove = std::numeric_limits<std::int64_t>::max();
  Result<std::uint64_t> disconnect(sql::Transaction& sql, std::int64_t first,
                                   std::int64_t last = kAbove);
  Result<> check_pruned(sql::Transaction& sql, std::int64_t first, std::int64_t last);
  void watch(const TxView& view, const std::vector<Hit>& hits);

  Store& store_;
  const std::unique_ptr<const bus::CommitPolicy> commit_policy_;
  std::mutex writing_;  // the bus's thread, or a rescan
  const std::unique_ptr<WatchSet> watch_;
  std::uint64_t changed_ = 0, analyze_at_ = 100;  // keep_statistics()
  std::vector<bus::BlockApplied> held_;
  std::size_t held_bytes_ = 0;
  mutable std::mutex mutex_;  // guards position_
  bus::Position position_;    // as far as this process knows, with what is held
};

}  // namespace coffer::wallet
