// Changes of status (001 §3): what becomes of a transaction, and of those that conflict with it.
#include <unordered_set>

#include "base/result.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
Result<std::vector<TxLifecycle::Row>> TxLifecycle::descendants(const Row& root) {
  // A recursive query works through a queue, so depth costs no stack; UNION meets each once.
  static const std::string statement = fmt::format(
      "WITH RECURSIVE d (id, tx_hash) AS ("
      "  SELECT CAST($2 AS BIGINT), CAST($3 AS BYTEA)"
      "  UNION SELECT c.id, c.tx_hash FROM d CROSS JOIN tx_inputs i CROSS JOIN transactions c"
      "   WHERE i.prev_tx_hash = d.tx_hash AND i.wallet_id = $1 AND c.wallet_id = i.wallet_id"
      "   AND c.id = i.tx_id AND c.status IN ('pending', 'published')"
      "   AND (c.block_height IS NULL OR c.user_confirmed))"
      " SELECT {} FROM d CROSS JOIN transactions t WHERE t.wallet_id = $1 AND t.id = d.id"
      " AND d.id <> $2 LIMIT $4",
      kRowColumns);
  // SQLite's name for bytes, and its plain cast of a blob.
  static const std::string sqlite_statement = [] {
    std::string text = statement;
    const std::string cast = "CAST($3 AS BYTEA)";
    return text.replace(text.find(cast), cast.size(), "CAST($3 AS BLOB)");
  }();
  const bool lite = sql_.dialect() == sql::Dialect::kSqlite;
  std::vector<Row> found = TRY(rows(lite ? sqlite_statement : statement,
                                    {wallet_, root.id, root.hash, kMaxInvalidated + 1}));
  if (found.size() > kMaxInvalidated)
    return fail(Code::kTooLarge, "more than {} transactions depend on {}", kMaxInvalidated,
                to_display(root.hash));
  return found;
}

Result<std::vector<Hash256>> TxLifecycle::invalidate(std::vector<Loser> losers, const Row* winner) {
  std::unordered_set<std::uint64_t> known;
  for (const Loser& loser : losers) known.insert(loser.row.id);
  const std::size_t direct = losers.size();
  for (std::size_t i = 0; i < direct; ++i) {
    std::vector<Row> family = TRY(descendants(losers[i].row));
    for (Row& row : family) {
      if (winner != nullptr && row.id == winner->id)
        return fail(Code::kConflict, "the transaction spends from {}, which it would replace",
                    to_display(losers[i].row.hash));
      if (!known.insert(row.id).second) continue;
      losers.push_back({std::move(row), TxStatus::kFailed, kParentReason, false});
    }
  }
  std::vector<Hash256> done;
  for (const Loser& loser : losers) {
    done.push_back(loser.row.hash);
    if (is_active(loser.row.status)) TRY(set_status(loser.row, loser.to, loser.reason));
    if (winner == nullptr || !loser.direct) continue;
    (void)TRY(sql_.execute(
        "INSERT INTO tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id, created_at)"
        " VALUES ($1, $2, $3, coffer_now())"
        " ON CONFLICT (wallet_id, replaced_tx_id, replacement_tx_id) DO NOTHING",
        {wallet_, loser.row.id, winner->id}));
  }
  for (const Loser& loser : losers) TRY(recompute_held_spenders(loser.row.id));
  return done;
}

Result<std::vector<TxLifecycle::Row>> TxLifecycle::pending_parents(const Row& row) {
  static const std::string statement = fmt::format(
      "SELECT DISTINCT {} FROM tx_inputs mine JOIN transactions t ON t.wallet_id = mine.wallet_id"
      " AND t.tx_hash = mine.prev_tx_hash WHERE mine.wallet_id = $1 AND mine.tx_id = $2"
      " AND t.status = 'pending' ORDER BY t.id",
      kRowColumns);
  return rows(statement, {wallet_, row.id});
}

Result<> TxLifecycle::check_parents_published(const Row& row) {
  const std::vector<Row> parents = TRY(pending_parents(row));
  if (parents.empty()) return {};
  return fail(Code::kConflict, "the transaction spends from {}, which is pending; publish it first",
              to_display(parents.front().hash));
}

Result<> TxLifecycle::check_children_pending(const Row& row) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM tx_inputs i CROSS JOIN transactions t WHERE i.prev_tx_hash = $2"
      " AND i.wallet_id = $1 AND t.wallet_id = i.wallet_id AND t.id = i.tx_id"
      " AND t.status = 'published' ORDER BY t.id LIMIT 1",
      kRowColumns);
  const std::vector<Row> children = TRY(rows(statement, {wallet_, row.hash}));
  if (children.empty()) return {};
  return fail(Code::kConflict, "{} spends from it and is published; so is it, then",
              to_display(children.front().hash));
}

Result<std::vector<Hash256>> TxLifecycle::publish_ancestors(const Row& row) {
  std::vector<Hash256> invalidated;
  std::vector<Row> path = {row};
  for (;;) {
    std::vector<Row> parents = TRY(pending_parents(path.back()));
    if (!parents.empty()) {
      path.push_back(std::move(parents.front()));
      continue;
    }
    if (path.size() == 1) return invalidated;
    const Recorded done = TRY(publish_row(path.back(), false, false));
    invalidated.insert(invalidated.end(), done.invalidated.begin(), done.invalidated.end());
    path.pop_back();
    for (const Row& child : path)
      if (std::ranges::find(done.invalidated, child.hash) != done.invalidated.end())
        return fail(Code::kConflict, "{} and {}, from which it spends, exclude each other",
                    to_display(child.hash), to_display(done.tx));
  }
}

Result<Recorded> TxLifecycle::win(const Row& row, std::vector<Loser> losers) {
  Recorded answer = TRY(unchanged(row, true));
  answer.invalidated = TRY(invalidate(std::move(losers), &row));
  TRY(recompute_input_spenders(row.id));
  return answer;
}

Result<Recorded> TxLifecycle::add_pending(const TxView& view, std::span<const OwnedOutput> owned,
                                          const RecordOptions& options) {
  if (view.tx.coinbase)
    return fail(Code::kInvalidInput, "a coinbase is in a block or nowhere; give its block");
  std::optional<Row> row = TRY(find(view.tx.id));
  if (!row)
    if (const auto pruned = TRY(find_pruned(view.tx.id))) return pruned->answer;
  if (row && (is_active(row->status) || row->coinbase)) {
    const bool bytes = TRY(keep_bytes(*row, view, false));
    const bool coins = !row->stub && TRY(add_coins(*row, view, owned));
    return unchanged(*row, bytes || coins);
  }
  const bool is_new = !row;
  if (is_new) {
    row = TRY(insert(view, TxStatus::kPending, std::nullopt, false));
    TRY(check_outlay(*row, view));
  } else {
    (void)TRY(keep_bytes(*row, view, false));
  }
  TRY(check_parents(*row));
  if (!options.force) TRY(check_mature(*row));
  TRY(check_children_pending(*row));
  const std::vector<Row> others = TRY(conflicts(*row));
  for (const Row& other : others) {
    if (other.height)
      return fail(Code::kConflict, "{} has spent an input of the transaction and is confirmed",
                  to_display(other.hash));
    if (!options.bump)
      return fail(Code::kConflict,
                  "{} holds an input of the transaction; declare a bump to replace it",
                  to_display(other.hash));
  }
  if (!is_new) TRY(set_status(*row, TxStatus::kPending, ""));
  row->status = TxStatus::kPending;
  TRY(recompute_input_spenders(row->id));
  // After the coins are ours to write: a lease that somebody takes now waits, and then sees it.
  TRY(check_leases(*row, options));
  (void)TRY(add_coins(*row, view, owned));
  return unchanged(*row, true);
}

Result<Recorded> TxLifecycle::publish_row(Row row, bool is_new, bool from_network) {
  const bool was_invalid = !is_new && !is_active(row.status);
  if (was_invalid) {
    // W3: seen again, it changes nothing while somebody published holds an input, or while its
    // parents are invalid.
    const std::vector<Row> holders = TRY(conflicts(row));
    for (const Row& other : holders)
      if (other.status == TxStatus::kPublished) return unchanged(row);
    if (auto parents = check_parents(row); !parents) {
      if (parents.error().code != Code::kConflict) return fail(std::move(parents).error());
      return unchanged(row);
    }
  }
  std::vector<Hash256> earlier;
  if (from_network)
    earlier = TRY(publish_ancestors(row));
  else
    TRY(check_parents_published(row));
  std::vector<Loser> losers;
  std::vector<Row> others = TRY(conflicts(row));
  for (Row& other : others) {
    if (other.height)
      return fail(Code::kConflict, "{} has spent an input of the transaction and is confirmed",
                  to_display(other.hash));
    const bool published = other.status == TxStatus::kPublished;
    losers.push_back({std::move(other), published ? TxStatus::kReplaced : TxStatus::kFailed,
                      published ? kReplacedReason : kDoubleSpentReason, true});
  }
  TRY(check_parents(row));
  if (!is_new) TRY(set_status(row, TxStatus::kPublished, ""));
  row.status = TxStatus::kPublished;
  Recorded answer = TRY(win(row, std::move(losers)));
  answer.invalidated.insert(answer.invalidated.begin(), earlier.begin(), earlier.end());
  return answer;
}

Result<Recorded> TxLifecycle::add_published(const TxView& view, std::span<const OwnedOutput> owned,
                                            bool in_mempool) {
  if (view.tx.coinbase)
    return fail(Code::kInvalidInput, "a coinbase is in a block or nowhere; give its block");
  std::optional<Row> row = TRY(find(view.tx.id));
  if (!row)
    if (const auto pruned = TRY(find_pruned(view.tx.id))) return pruned->answer;
  if (row && row->stub) return unchanged(*row);
  Recorded answer;
  if (row && row->status == TxStatus::kPublished) {
    // Of a confirmed one those of its block count.
    const bool bytes = !(in_mempool && row->height) && TRY(keep_bytes(*row, view, in_mempool));
    answer = TRY(unchanged(*row, bytes));
    if (in_mempool) answer.invalidated = TRY(publish_ancestors(*row));
  } else {
    const bool is_new = !row;
    if (is_new) row = TRY(insert(view, TxStatus::kPublished, std::nullopt, in_mempool));
    if (is_new && !in_mempool) TRY(check_outlay(*row, view));
    answer = TRY(publish_row(*row, is_new, in_mempool));
    if (!is_new && answer.changed) (void)TRY(keep_bytes(*row, view, in_mempool));
  }
  if (in_mempool && answer.status == TxStatus::kPublished && !answer.height)
    (void)TRY(
        sql_.execute("UPDATE transactions SET in_mempool = $3 WHERE wallet_id = $1 AND id = $2"
                     " AND in_mempool <> $3",
                     {wallet_, row->id, true}));
  if (TRY(add_coins(*row, view, owned))) answer.changed = true;
  return answer;
}

Result<Recorded> TxLifecycle::add_confirmed(const TxView& view, std::span<const OwnedOutput> owned,
                                            const BlockRef& block, ConfirmedBy confirmed_by) {
  std::optional<Row> row = TRY(find(view.tx.id));
  if (!row || row->stub)
    if (const auto gone = TRY(find_pruned(view.tx.id)))
      return add_coins_of_pruned(*gone, std::move(row), view, owned, block, confirmed_by);
  const bool bytes = row && TRY(keep_bytes(*row, view, confirmed_by == ConfirmedBy::kChain));
  if (row && row->height == block.height) {
    if (confirmed_by == ConfirmedBy::kChain && row->user_confirmed) {
      // The person may have been wrong about its place in the block.
      (void)TRY(
          sql_.execute("UPDATE transactions SET user_confirmed = $3, block_index = $4 WHERE "
                       "wallet_id = $1 AND id = $2",
                       {wallet_, row->id, false, block.index}));
    }
    const bool coins = TRY(add_coins(*row, view, owned));
    return unchanged(*row, bytes || coins);
  }
  if (row && row->height && confirmed_by == ConfirmedBy::kUser)
    return fail(Code::kConflict, "{} is confirmed at height {}", to_display(row->hash),
                *row->height);
  if (!row) {
    row = TRY(insert(view, TxStatus::kPublished, block, false));
    if (confirmed_by == ConfirmedBy::kUser) TRY(check_outlay(*row, view));
  } else {
    (void)TRY(sql_.execute(
        "UPDATE transactions SET status = 'published', reason = NULL, changed_at = coffer_now(),"
        " block_height = $3, block_index = $4, in_mempool = $5 WHERE wallet_id = $1 AND id = $2",
        {wallet_, row->id, block.height, block.index, false}));
  }
  TRY(set_user_confirmed(*row, confirmed_by == ConfirmedBy::kUser));
  row->status = TxStatus::kPublished;
  row->height = block.height;
  std::vector<Loser> losers;
  std::vector<Row> others = TRY(conflicts(*row));
  for (Row& other : others) {
    if (other.height && confirmed_by == ConfirmedBy::kUser)
      return fail(Code::kConflict, "{} has spent an input of the transaction and is confirmed",
                  to_display(other.hash));
    losers.push_back({std::move(other), TxStatus::kFailed, kDoubleSpentReason, true});
  }
  if (confirmed_by == ConfirmedBy::kUser) {
    TRY(check_parents(*row));
    TRY(check_parents_published(*row));
  }
  Recorded answer = TRY(win(*row, std::move(losers)));
  if (confirmed_by == ConfirmedBy::kChain) TRY(publish_parents_of_block(*row, answer));
  (void)TRY(add_coins(*row, view, owned));
  return answer;
}

// They are in a block that this wallet has not looked at. What stands against it does not hold up
// the block.
Result<> TxLifecycle::publish_parents_of_block(const Row& row, Recorded& answer) {
  const std::vector<Row> parents = TRY(pending_parents(row));
  if (parents.empty()) return {};
  const auto published = sql_.attempt([&] { return publish_ancestors(row); });
  if (published)
    answer.invalidated.insert(answer.invalidated.end(), published->begin(), published->end());
  else if (published.error().code != Code::kConflict)
    return fail(Error(published.error()));
  return {};
}

Result<Recorded> TxLifecycle::publish(const Hash256& hash) {
  const Row row = TRY(must_find(hash));
  if (row.status == TxStatus::kPublished) return unchanged(row);
  if (row.status != TxStatus::kPending)
    return fail(Code::kConflict, "{} is {}; only a pending transaction can be published",
                to_display(hash), to_string(row.status));
  return publish_row(row, false, false);
}

Result<Recorded> TxLifecycle::cancel(const Hash256& hash) {
  Row row = TRY(must_find(hash));
  if (row.status == TxStatus::kFailed && row.reason == kCancelledReason) return unchanged(row);
  if (row.status != TxStatus::kPending)
    return fail(Code::kConflict,
                "{} is {}; only a pending transaction can be cancelled, a published one replaced",
                to_display(hash), row.height ? "confirmed" : to_string(row.status));
  TRY(check_children_pending(row));
  std::vector<Loser> losers;
  losers.push_back({row, TxStatus::kFailed, kCancelledReason, false});
  Recorded answer = TRY(unchanged(row, true));
  answer.status = TxStatus::kFailed;
  answer.invalidated = TRY(invalidate(std::move(losers), nullptr));
  answer.invalidated.erase(answer.invalidated.begin());  // itself
  return answer;
}

Result<std::vector<Hash256>> TxLifecycle::invalidate_descendants(std::uint64_t coinbase_id) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM transactions t WHERE t.wallet_id = $1 AND t.id = $2", kRowColumns);
  const std::vector<Row> root = TRY(rows(statement, {wallet_, coinbase_id}));
  if (root.empty()) return std::vector<Hash256>();
  std::vector<Loser> losers;
  std::vector<Row> family = TRY(descendants(root.front()));
  losers.reserve(family.size());
  for (Row& row : family)
    losers.push_back({std::move(row), TxStatus::kFailed, kParentReason, false});
  return invalidate(std::move(losers), nullptr);
}

}  // namespace coffer::wallet
