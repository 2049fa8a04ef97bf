// Recording, publishing and cancelling one transaction of one wallet.
#include "base/result.h"
#include "chain/bitcoin_limits.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

// Whether it was pruned here, or an input names a coin of the wallet, or an outpoint that one of
// its transactions names.
Result<bool> concerns(sql::Transaction& sql, WalletId wallet, const TxView& view) {
  if (TRY(sql.value<std::int64_t>(
          "SELECT height FROM pruned_transactions WHERE wallet_id = $1 AND tx_hash = $2",
          {wallet, view.tx.id})))
    return true;
  for (const chain::Input& input : view.inputs()) {
    const Hash256 prev = Hash256::from(input.tx);
    if (TRY(sql.value<std::int64_t>(
            "SELECT u.id FROM transactions p JOIN utxos u ON u.wallet_id = p.wallet_id"
            " AND u.tx_id = p.id WHERE p.wallet_id = $1 AND p.tx_hash = $2"
            " AND u.output_index = $3",
            {wallet, prev, input.index})))
      return true;
    if (TRY(sql.value<std::int64_t>(
            "SELECT tx_id FROM tx_inputs WHERE prev_tx_hash = $2 AND prev_output_index = $3"
            " AND wallet_id = $1 LIMIT 1",
            {wallet, prev, input.index})))
      return true;
  }
  return false;
}

// The row of the block that a person names: on the chain as far as is known here.
Result<> add_block(sql::Transaction& sql, const BlockRef& block) {
  constexpr std::uint64_t kMaxBlockHeight = 2'147'483'646;  // what chain_position can hold
  if (block.height > kMaxBlockHeight)
    return fail(Code::kInvalidInput, "height: from 0 to {}, not {}", kMaxBlockHeight, block.height);
  const auto tip = TRY(sql.value<std::int64_t>("SELECT tip_height FROM sync_state"));
  if (tip && *tip >= 0 && block.height > static_cast<std::uint64_t>(*tip))
    return fail(Code::kInvalidInput, "block {} is above the tip {} of these wallets", block.height,
                *tip);
  (void)TRY(sql.execute(
      "INSERT INTO blocks (block_height, header_hash, block_timestamp) VALUES ($1, $2, $3)"
      " ON CONFLICT DO NOTHING",
      {block.height, block.hash, block.time_s}));
  const auto hash = TRY(
      sql.value<Hash256>("SELECT header_hash FROM blocks WHERE block_height = $1", {block.height}));
  if (hash && *hash == block.hash) return {};
  return fail(Code::kConflict, "another block is known at height {}", block.height);
}

// Sums stay far from where numbers end, whatever a person says.
Result<> check_total(sql::Transaction& sql, WalletId wallet) {
  const auto total = TRY(sql.value<std::uint64_t>(
      "SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM balance_summary WHERE wallet_id = $1"
      " AND address_id = 0",
      {wallet}));
  if (total.value_or(0) <= chain::kMaxMoney) return {};
  return fail(Code::kInvalidInput, "the wallet would hold more than all money there is");
}

}  // namespace

Result<Recorded> Store::record_in(sql::Transaction& sql, WalletId wallet,
                                  const chain::Block& decoded, const RecordOptions& options) {
  const TxView view{decoded, decoded.txs.front()};
  if (!options.block && !is_active(options.status))
    return fail(Code::kInvalidInput,
                "a transaction is recorded as pending, published or confirmed");
  const bool pending = !options.block && options.status == TxStatus::kPending;
  if (options.block && options.status == TxStatus::kPending)
    return fail(Code::kInvalidInput, "a transaction that is in a block is not pending");
  if (!pending && (options.bump || options.lock_id || options.force))
    return fail(Code::kInvalidInput, "bump, lock id and force are for pending transactions");
  if (options.block && options.block->hash == network_.genesis)
    return fail(Code::kInvalidInput, "what the genesis block pays cannot be spent");
  if (options.block && view.tx.coinbase && options.block->index != 0)
    return fail(Code::kInvalidInput, "a coinbase is the first transaction of its block: index 0");
  TxLifecycle lifecycle(sql, wallet);
  TRY(lifecycle.lock());
  const std::vector<OwnedOutput> owned = TRY(find_owned(sql, network_, wallet, view));
  if (owned.empty() && !TRY(concerns(sql, wallet, view)))
    return fail(Code::kInvalidInput, "nothing in the transaction belongs to this wallet");
  Recorded recorded;
  if (options.block) {
    TRY(add_block(sql, *options.block));
    recorded =
        TRY(lifecycle.add_confirmed(view, owned, *options.block, TxLifecycle::ConfirmedBy::kUser));
  } else if (pending) {
    recorded = TRY(lifecycle.add_pending(view, owned, options));
  } else {
    recorded = TRY(lifecycle.add_published(view, owned, false));
  }
  TRY(check_total(sql, wallet));
  return recorded;
}

Result<> Store::check_block(const RecordOptions& options) const {
  if (!options.block || !options_.block_at) return {};
  const auto known = TRY(options_.block_at(options.block->height));
  if (!known || *known == options.block->hash) return {};
  return fail(Code::kConflict, "block {} of the chain is {}", options.block->height,
              to_display(*known));
}

Result<Recorded> Store::record(WalletId wallet, ByteView raw, const RecordOptions& options) {
  const std::unique_ptr<chain::Block> decoded = TRY(decode_tx(network_, raw));
  TRY(check_block(options));
  auto recorded = database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Recorded> {
        TRY(lock_writers_shared(sql));
        return record_in(sql, wallet, *decoded, options);
      },
      kWrite);
  if (recorded) counters_->invalidations += recorded->invalidated.size();
  return recorded;
}

Result<Recorded> Store::change_pending(WalletId wallet, const Hash256& tx, TxStatus to) {
  auto recorded = database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Recorded> {
        TRY(lock_writers_shared(sql));
        TxLifecycle lifecycle(sql, wallet);
        TRY(lifecycle.lock());
        if (to != TxStatus::kPublished) return lifecycle.cancel(tx);
        Recorded published = TRY(lifecycle.publish(tx));
        TRY(check_total(sql, wallet));
        return published;
      },
      kWrite);
  if (recorded) counters_->invalidations += recorded->invalidated.size();
  return recorded;
}

Result<Recorded> Store::publish(WalletId wallet, const Hash256& tx) {
  return change_pending(wallet, tx, TxStatus::kPublished);
}

Result<Recorded> Store::cancel(WalletId wallet, const Hash256& tx) {
  return change_pending(wallet, tx, TxStatus::kFailed);
}

}  // namespace coffer::wallet
