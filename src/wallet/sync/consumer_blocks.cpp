// Blocks into wallets and out of them again.
#include <map>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/import/addresses_impl.h"
#include "wallet/store_impl.h"
#include "wallet/sync/consumer_impl.h"

namespace coffer::wallet {

Result<std::vector<Consumer::Hit>> Consumer::owners(sql::Transaction& sql, const TxView& view,
                                                    bool& extended) {
  std::map<WalletId, std::vector<OwnedOutput>> found;
  std::uint32_t at = 0;
  for (const chain::Output& output : view.outputs()) {
    const std::uint32_t index = at++;
    if (!watch_->may_own(output.address)) continue;
    struct Used {
      WalletId wallet;
      std::uint64_t descriptor = 0;
      std::uint32_t index = 0;
    };
    std::vector<Used> used;
    {
      sql::Rows rows = TRY(
          sql.query("SELECT wallet_id, id, account_id, descriptor_id, address_index, script_pub_key"
                    " FROM addresses WHERE script_hash = $1",
                    {script_hash(output.address)}));
      while (TRY(rows.next())) {
        if (!equal(TRY(rows.get<ByteView>(5)), output.address)) continue;
        const WalletId wallet = TRY(rows.get<WalletId>(0));
        OwnedOutput owned;
        owned.index = index;
        owned.address_id = TRY(rows.get<std::uint64_t>(1));
        owned.account_id = TRY(rows.get<std::uint64_t>(2));
        found[wallet].push_back(owned);
        const auto descriptor = TRY(rows.get<std::optional<std::uint64_t>>(3));
        const auto position = TRY(rows.get<std::optional<std::uint32_t>>(4));
        if (descriptor && position) used.push_back({wallet, *descriptor, *position});
      }
    }
    for (const Used& use : used)
      if (TRY(use_script(sql, store_.network(), use.wallet, use.descriptor, use.index,
                         output.address)))
        extended = true;
  }
  for (const chain::Input& input : view.inputs()) {
    const chain::Outpoint outpoint = input.outpoint();
    if (!watch_->may_name(outpoint)) continue;
    sql::Rows rows = TRY(sql.query(
        "SELECT u.wallet_id FROM transactions p JOIN utxos u ON u.wallet_id = p.wallet_id"
        " AND u.tx_id = p.id WHERE p.tx_hash = $1 AND u.output_index = $2"
        " UNION SELECT wallet_id FROM tx_inputs WHERE prev_tx_hash = $1 AND prev_output_index = $2",
        {outpoint.tx, outpoint.index}));
    while (TRY(rows.next())) (void)found[TRY(rows.get<WalletId>(0))];
  }
  if (extended) TRY(watch_->refresh(sql));
  std::vector<Hit> hits;
  hits.reserve(found.size());
  for (auto& [wallet, owned] : found) hits.push_back({wallet, std::move(owned)});
  return hits;
}

void Consumer::watch(const TxView& view, const std::vector<Hit>& hits) {
  if (hits.empty()) return;
  for (const Hit& hit : hits)
    for (const OwnedOutput& owned : hit.owned) watch_->add_outpoint({view.tx.id, owned.index});
  for (const chain::Input& input : view.inputs()) watch_->add_outpoint(input.outpoint());
}

Result<> Consumer::add_block_row(sql::Transaction& sql, const chain::Block& block,
                                 std::int64_t last) {
  const auto height = static_cast<std::int64_t>(block.number.value);
  const auto known =
      TRY(sql.value<Hash256>("SELECT header_hash FROM blocks WHERE block_height = $1", {height}));
  if (known && *known == block.hash) return {};
  if (known) (void)TRY(disconnect(sql, height, last));
  // A person may have named it at another height.
  if (const auto elsewhere = TRY(sql.value<std::int64_t>(
          "SELECT block_height FROM blocks WHERE header_hash = $1", {block.hash})))
    (void)TRY(disconnect(sql, *elsewhere, *elsewhere));
  (void)TRY(sql.execute(
      "INSERT INTO blocks (block_height, header_hash, block_timestamp) VALUES ($1, $2, $3)",
      {height, block.hash, block.time_unix_s}));
  return {};
}

Result<std::uint64_t> Consumer::apply(sql::Transaction& sql, const chain::Block& block,
                                      std::optional<WalletId> only, std::uint64_t& invalidated) {
  if (block.hash == store_.network().genesis) return 0;  // nobody can spend its output
  std::uint64_t changed = 0;
  bool has_row = false;
  // What a gap that grew makes ours may be anywhere in the block: then all of it is looked at
  // again.
  for (bool again = true; again;) {
    again = false;
    std::uint32_t index = 0;
    for (const chain::Tx& tx : block.txs) {
      const std::uint32_t place = index++;
      const TxView view{block, tx};
      if (!watch_->may_touch(view)) continue;
      const std::vector<Hit> hits = TRY(owners(sql, view, again));
      for (const Hit& hit : hits) {
        if (only && hit.wallet != *only) continue;
        // An old block says nothing of those above it.
        const std::int64_t last = only ? static_cast<std::int64_t>(block.number.value) : kAbove;
        if (!has_row) TRY(add_block_row(sql, block, last));
        has_row = true;
        const BlockRef where{block.number.value, block.hash, block.time_unix_s, place};
        const Recorded recorded =
            TRY(TxLifecycle(sql, hit.wallet)
                    .add_confirmed(view, hit.owned, where, TxLifecycle::ConfirmedBy::kChain));
        changed += recorded.changed ? 1 : 0;
        invalidated += recorded.invalidated.size();
      }
      watch(view, hits);
    }
  }
  return changed;
}

// A branch takes the spenders of pruned coins along, one block in the middle only what is in it:
// it was a person's word, which pruning does not believe.
Result<> Consumer::check_pruned(sql::Transaction& sql, std::int64_t first, std::int64_t last) {
  std::optional<std::int64_t> pruned;
  if (last == kAbove)
    pruned = TRY(
        sql.value<std::int64_t>("SELECT fixed_height FROM pruned_summary WHERE fixed_height >= $1"
                                " ORDER BY fixed_height DESC LIMIT 1",
                                {first}));
  else
    pruned = TRY(sql.value<std::int64_t>(
        "SELECT height FROM pruned_transactions WHERE height >= $1 AND height <= $2 LIMIT 1",
        {first, last}));
  if (!pruned) return {};
  return fail(Code::kBeyondWindow, "what was pruned needs block {}, which cannot be undone",
              *pruned);
}

Result<std::uint64_t> Consumer::disconnect(sql::Transaction& sql, std::int64_t first,
                                           std::int64_t last) {
  TRY(check_pruned(sql, first, last));
  TRY(watch_->add_disconnected(sql, first - 1));
  struct Orphan {
    WalletId wallet;
    std::uint64_t id = 0;
  };
  std::vector<Orphan> orphans;
  {
    sql::Rows rows =
        TRY(sql.query("SELECT wallet_id, id FROM transactions WHERE block_height >= $1"
                      " AND block_height <= $2 AND is_coinbase",
                      {first, last}));
    while (TRY(rows.next())) {
      Orphan orphan;
      orphan.wallet = TRY(rows.get<WalletId>(0));
      orphan.id = TRY(rows.get<std::uint64_t>(1));
      orphans.push_back(orphan);
    }
  }
  (void)TRY(sql.execute("DELETE FROM blocks WHERE block_height >= $1 AND block_height <= $2",
                        {first, last}));
  std::uint64_t invalidated = 0;
  for (const Orphan& orphan : orphans) {
    const std::vector<Hash256> gone =
        TRY(TxLifecycle(sql, orphan.wallet).invalidate_descendants(orphan.id));
    invalidated += gone.size();
  }
  return invalidated;
}

Result<std::uint64_t> Consumer::rescan_block(WalletId wallet, const chain::Block& block,
                                             const OnChain& on_chain) {
  std::lock_guard writing(writing_);
  std::uint64_t invalidated = 0;
  auto changed = store_.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<std::uint64_t> {
        TRY(lock_writers_exclusive(sql));
        watch_->start();
        TRY(watch_->refresh(sql));
        const bus::Position stored = TRY(stored_position(sql));
        if (block.number.value >= stored.block_count())
          return fail(Code::kConflict, "block {} is above the wallets' tip", block.number);
        // A reorg that comes after this question also brings its rollback after us.
        if (!TRY(on_chain(stored)))
          return fail(Error{Code::kUnavailable, true,
                            "the chain changed its branch, or the wallets stand on another: a "
                            "running coffer tries again by itself"});
        invalidated = 0;
        return apply(sql, block, wallet, invalidated);
      },
      kWrite);
  if (!changed) return changed;
  watch_->keep();
  store_.counters_->invalidations += invalidated;
  return changed;
}

}  // namespace coffer::wallet
