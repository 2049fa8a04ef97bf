#include "base/check.h"
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {

Result<> lock_writers_shared(sql::Transaction& sql) {
  if (sql.dialect() == sql::Dialect::kSqlite) return {};  // one writer at a time anyway
  (void)TRY(sql.query("SELECT pg_advisory_xact_lock_shared(7163093414438)"));
  return {};
}

Result<> lock_writers_exclusive(sql::Transaction& sql) {
  if (sql.dialect() == sql::Dialect::kSqlite) return {};
  (void)TRY(sql.query("SELECT pg_advisory_xact_lock(7163093414438)"));
  return {};
}

Result<> TxLifecycle::lock() {
  std::string text = "SELECT id FROM wallets WHERE id = $1";
  // Leases refer to the wallet and are not to wait for this.
  if (sql_.dialect() == sql::Dialect::kPostgres) text += " FOR NO KEY UPDATE";
  if (!TRY(sql_.value<std::int64_t>(text, {wallet_})))
    return fail(Code::kNotFound, "there is no wallet {}", wallet_);
  return {};
}

Result<std::vector<TxLifecycle::Row>> TxLifecycle::rows(std::string_view sql, sql::Params params) {
  sql::Rows found = TRY(sql_.query(sql, params));
  std::vector<Row> list;
  while (TRY(found.next())) {
    Row row;
    row.id = TRY(found.get<std::uint64_t>(0));
    row.hash = TRY(found.get<Hash256>(1));
    row.status = TRY(read_status(found, 2));
    row.height = TRY(found.get<std::optional<std::uint64_t>>(3));
    row.coinbase = TRY(found.get<bool>(4));
    row.stub = TRY(found.get<bool>(5));
    row.reason = TRY(found.get<std::optional<std::string>>(6)).value_or("");
    row.user_confirmed = TRY(found.get<bool>(7));
    list.push_back(std::move(row));
  }
  return list;
}

Result<std::optional<TxLifecycle::Row>> TxLifecycle::find(const Hash256& hash) {
  static const std::string statement = fmt::format(
      "SELECT {} FROM transactions t WHERE t.wallet_id = $1 AND t.tx_hash = $2", kRowColumns);
  std::vector<Row> found = TRY(rows(statement, {wallet_, hash}));
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

Result<TxLifecycle::Row> TxLifecycle::must_find(const Hash256& hash) {
  auto row = TRY(find(hash));
  if (!row) return fail(Code::kNotFound, "this wallet has no transaction {}", to_display(hash));
  return *std::move(row);
}

Result<TxLifecycle::Row> TxLifecycle::insert(const TxView& view, TxStatus status,
                                             const std::optional<BlockRef>& block,
                                             bool in_mempool) {
  std::optional<std::uint64_t> height;
  std::optional<std::uint32_t> index;
  if (block) height = block->height, index = block->index;
  const auto id = TRY(sql_.value<std::uint64_t>(
      "INSERT INTO transactions (wallet_id, tx_hash, block_height, block_index, status,"
      " received_time, changed_at, received_height, is_coinbase, in_mempool)"
      " VALUES ($1, $2, $3, $4, $5, coffer_now(), coffer_now(),"
      " coalesce($3, (SELECT CASE WHEN y.tip_height >= 0 THEN y.tip_height ELSE"
      "   coalesce((SELECT max(b.block_height) FROM blocks b), -1) END FROM sync_state y)),"
      " $6, $7) RETURNING id",
      {wallet_, view.tx.id, height, index, to_string(status), view.tx.coinbase, in_mempool}));
  CHECK(id.has_value());
  (void)TRY(sql_.execute("INSERT INTO tx_raw (wallet_id, tx_id, raw_tx) VALUES ($1, $2, $3)",
                         {wallet_, *id, view.tx.raw}));
  // The amounts of this wallet's coins, so that a spender's history stays when the coin is pruned.
  auto batch = TRY(sql_.batch(
      "INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash, prev_output_index,"
      " amount) VALUES ($1, $2, $3, $4, $5,"
      " (SELECT u.amount FROM transactions p JOIN utxos u ON u.wallet_id = p.wallet_id"
      "   AND u.tx_id = p.id WHERE p.wallet_id = $1 AND p.tx_hash = $4 AND u.output_index = $5))"));
  std::uint32_t at = 0;
  for (const chain::Input& input : view.inputs()) {
    const Hash256 prev = Hash256::from(input.tx);
    TRY(batch.add({wallet_, *id, at++, prev, input.index}));
  }
  (void)TRY(batch.finish());
  Row row;
  row.id = *id;
  row.hash = view.tx.id;
  row.status = status;
  row.height = height;
  row.coinbase = view.tx.coinbase;
  return row;
}

Result<> TxLifecycle::set_user_confirmed(const Row& row, bool user_confirmed) {
  if (row.user_confirmed == user_confirmed) return {};
  (void)TRY(
      sql_.execute("UPDATE transactions SET user_confirmed = $3 WHERE wallet_id = $1 AND id = $2",
                   {wallet_, row.id, user_confirmed}));
  return {};
}

Result<> TxLifecycle::set_status(const Row& row, TxStatus status, std::string_view reason) {
  std::optional<std::string_view> why;
  if (!reason.empty()) why = reason;
  // An invalid transaction is in no block and in no mempool.
  (void)TRY(
      sql_.execute("UPDATE transactions SET status = $3, reason = $4, changed_at = coffer_now(),"
                   " in_mempool = CASE WHEN $5 THEN in_mempool ELSE $5 END,"
                   " user_confirmed = CASE WHEN $5 THEN user_confirmed ELSE $5 END,"
                   " block_height = CASE WHEN $5 THEN block_height END,"
                   " block_index = CASE WHEN $5 THEN block_index END"
                   " WHERE wallet_id = $1 AND id = $2",
                   {wallet_, row.id, to_string(status), why, is_active(status)}));
  return {};
}

Result<bool> TxLifecycle::keep_bytes(const Row& row, const TxView& view, bool from_network) {
  if (row.stub) return false;
  if (!view.is_signed() && !from_network) return false;  // what it lacks says nothing
  if (row.status == TxStatus::kPublished && !from_network) {
    const auto kept = TRY(sql_.value<Bytes>(
        "SELECT raw_tx FROM tx_raw WHERE wallet_id = $1 AND tx_id = $2", {wallet_, row.id}));
    if (kept && equal(*kept, view.tx.raw)) return false;
    return fail(Code::kConflict, "{} is published with another witness", to_display(row.hash));
  }
  const std::int64_t changed =
      TRY(sql_.execute("UPDATE tx_raw SET raw_tx = $3 WHERE wallet_id = $1 AND tx_id = $2"
                       " AND raw_tx <> $3",
                       {wallet_, row.id, view.tx.raw}));
  return changed > 0;
}

Result<std::vector<TxLifecycle::Row>> TxLifecycle::conflicts(const Row& row) {
  static const std::string statement = fmt::format(
      "SELECT DISTINCT {} FROM tx_inputs mine CROSS JOIN tx_inputs other"
      " CROSS JOIN transactions t WHERE mine.wallet_id = $1 AND mine.tx_id = $2"
      " AND other.prev_tx_hash = mine.prev_tx_hash"
      " AND other.prev_output_index = mine.prev_output_index AND other.wallet_id = mine.wallet_id"
      " AND t.wallet_id = other.wallet_id AND t.id = other.tx_id AND other.tx_id <> $2"
      " AND t.status IN ('pending', 'published') ORDER BY t.id",
      kRowColumns);
  return rows(statement, {wallet_, row.id});
}

Result<> TxLifecycle::check_parents(const Row& row) {
  static const std::string invalid_parents = fmt::format(
      "SELECT DISTINCT {} FROM tx_inputs mine JOIN transactions t ON t.wallet_id = mine.wallet_id"
      " AND t.tx_hash = mine.prev_tx_hash WHERE mine.wallet_id = $1 AND mine.tx_id = $2"
      " AND t.status NOT IN ('pending', 'published') ORDER BY t.id LIMIT 1",
      kRowColumns);
  const std::vector<Row> invalid = TRY(rows(invalid_parents, {wallet_, row.id}));
  if (!invalid.empty())
    return fail(Code::kConflict, "the transaction spends from {}, which is {}",
                to_display(invalid.front().hash), to_string(invalid.front().status));
  static const std::string stub_spenders = fmt::format(
      "SELECT DISTINCT {} FROM tx_inputs mine"
      " JOIN transactions p ON p.wallet_id = mine.wallet_id AND p.tx_hash = mine.prev_tx_hash"
      " JOIN utxos u ON u.wallet_id = p.wallet_id AND u.tx_id = p.id"
      " AND u.output_index = mine.prev_output_index"
      " JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.spent_by_tx_id"
      " WHERE mine.wallet_id = $1 AND mine.tx_id = $2 AND t.is_stub ORDER BY t.id LIMIT 1",
      kRowColumns);
  const std::vector<Row> stub = TRY(rows(stub_spenders, {wallet_, row.id}));
  if (!stub.empty())
    return fail(Code::kConflict, "a coin of the transaction was spent by {}, long confirmed",
                to_display(stub.front().hash));
  const auto pruned = TRY(sql_.value<Hash256>(
      "SELECT mine.prev_tx_hash FROM tx_inputs mine JOIN pruned_transactions g"
      " ON g.wallet_id = mine.wallet_id AND g.tx_hash = mine.prev_tx_hash"
      " WHERE mine.wallet_id = $1 AND mine.tx_id = $2 AND (mine.amount IS NOT NULL"
      "   OR g.outputs LIKE '%,' || CAST(mine.prev_output_index AS TEXT) || ',%')"
      " AND NOT EXISTS (SELECT 1 FROM transactions p JOIN utxos u ON u.wallet_id = p.wallet_id"
      "   AND u.tx_id = p.id WHERE p.wallet_id = mine.wallet_id"
      "   AND p.tx_hash = mine.prev_tx_hash AND u.output_index = mine.prev_output_index)"
      " ORDER BY mine.input_index LIMIT 1",
      {wallet_, row.id}));
  if (pruned)
    return fail(Code::kConflict, "a coin of {} was spent long ago and is pruned",
                to_display(*pruned));
  return {};
}

Result<> TxLifecycle::check_outlay(const Row& row, const TxView& view) {
  std::uint64_t paid = 0;
  for (const chain::Output& output : view.outputs()) paid += output.amount.value;
  // Their sum may be more than a number of SQL holds.
  sql::Rows inputs = TRY(sql_.query(
      "SELECT amount FROM tx_inputs WHERE wallet_id = $1 AND tx_id = $2", {wallet_, row.id}));
  std::uint64_t spent = 0;
  bool is_any = false;
  while (TRY(inputs.next())) {
    const auto amount = TRY(inputs.get<std::optional<std::uint64_t>>(0));
    if (!amount) return {};
    spent += *amount;
    is_any = true;
    if (spent >= paid) return {};
  }
  if (!is_any) return {};  // a coinbase
  return fail(Code::kInvalidInput,
              "the transaction pays out {} satoshi, more than the {} that it spends", paid, spent);
}

Result<> TxLifecycle::check_mature(const Row& row) {
  const auto young = TRY(sql_.one<Hash256, std::int64_t>(
      "SELECT i.prev_tx_hash, i.made_at + y.tip_height - y.mature_height FROM sync_state y"
      // Asked for one by one: a condition on is_coinbase would lead PostgreSQL to all of them.
      " CROSS JOIN (SELECT mine.input_index, mine.prev_tx_hash,"
      "   (SELECT CASE WHEN p.is_coinbase THEN p.block_height END FROM transactions p"
      "     WHERE p.wallet_id = $1 AND p.tx_hash = mine.prev_tx_hash) AS made_at"
      "   FROM tx_inputs mine WHERE mine.wallet_id = $1 AND mine.tx_id = $2) i"
      " WHERE i.made_at > y.mature_height ORDER BY i.input_index LIMIT 1",
      {wallet_, row.id}));
  if (!young) return {};
  return fail(Code::kConflict, "coinbase {} matures with block {}; wait, or force the spend",
              to_display(std::get<0>(*young)), std::get<1>(*young));
}

Result<> TxLifecycle::check_leases(const Row& row, const RecordOptions& options) {
  if (options.force) return {};
  const LockId mine = options.lock_id.value_or(LockId{});
  const auto leased = TRY(sql_.one<Hash256, std::int64_t>(
      "SELECT p.tx_hash, u.output_index FROM tx_inputs mine CROSS JOIN transactions p"
      " CROSS JOIN utxos u CROSS JOIN utxo_leases l WHERE mine.wallet_id = $1 AND mine.tx_id = $2"
      " AND p.wallet_id = mine.wallet_id AND p.tx_hash = mine.prev_tx_hash"
      " AND u.wallet_id = p.wallet_id AND u.tx_id = p.id"
      " AND u.output_index = mine.prev_output_index"
      " AND l.wallet_id = u.wallet_id AND l.utxo_id = u.id AND l.expires_at > coffer_now()"
      " AND NOT ($4 AND l.external_lock_id = $3) ORDER BY u.id LIMIT 1",
      {wallet_, row.id, mine, options.lock_id.has_value()}));
  if (!leased) return {};
  return fail(Code::kConflict, "{}#{} is leased; give its lock id, or force the spend",
              to_display(std::get<0>(*leased)), std::get<1>(*leased));
}

Result<> TxLifecycle::recompute_spenders(std::string_view which_coins, std::uint64_t id) {
  (void)TRY(sql_.execute(
      fmt::format(
          "UPDATE utxos SET (spent_by_tx_id, spent_input_index) = ("
          "  SELECT t.id, i.input_index FROM transactions p CROSS JOIN tx_inputs i"
          "    CROSS JOIN transactions t WHERE p.wallet_id = utxos.wallet_id AND p.id = utxos.tx_id"
          "     AND i.prev_tx_hash = p.tx_hash AND i.prev_output_index = utxos.output_index"
          "     AND i.wallet_id = p.wallet_id AND t.wallet_id = i.wallet_id AND t.id = i.tx_id"
          "     AND t.status IN ('pending', 'published')"
          "   ORDER BY t.status = 'pending', t.id LIMIT 1)"
          " WHERE wallet_id = $1 AND {}"
          // A stub has no inputs any more and keeps what it spent (W5).
          " AND NOT EXISTS (SELECT 1 FROM transactions s WHERE s.wallet_id = utxos.wallet_id"
          "   AND s.id = utxos.spent_by_tx_id AND s.is_stub)",
          which_coins),
      {wallet_, id}));
  return {};
}

Result<> TxLifecycle::recompute_input_spenders(std::uint64_t tx_id) {
  return recompute_spenders(
      "(tx_id, output_index) IN (SELECT p.id, m.prev_output_index FROM tx_inputs m"
      "  CROSS JOIN transactions p WHERE m.wallet_id = $1 AND m.tx_id = $2"
      "   AND p.wallet_id = m.wallet_id AND p.tx_hash = m.prev_tx_hash)",
      tx_id);
}

Result<> TxLifecycle::recompute_held_spenders(std::uint64_t tx_id) {
  return recompute_spenders("spent_by_tx_id = $2", tx_id);
}

Result<bool> TxLifecycle::add_coins(const Row& row, const TxView& view,
                                    std::span<const OwnedOutput> owned) {
  bool added = false;
  for (const OwnedOutput& output : owned) {
    const std::uint64_t amount = view.outputs()[output.index].amount.value;
    const auto id = TRY(sql_.value<std::uint64_t>(
        "INSERT INTO utxos (wallet_id, tx_id, output_index, amount, account_id, address_id)"
        " VALUES ($1, $2, $3, $4, $5, $6)"
        " ON CONFLICT (wallet_id, tx_id, output_index) DO NOTHING RETURNING id",
        {wallet_, row.id, output.index, amount, output.account_id, output.address_id}));
    if (!id) continue;
    added = true;
    // Who was seen before its parent now knows what it spent.
    const std::int64_t spenders =
        TRY(sql_.execute("UPDATE tx_inputs SET amount = $4 WHERE wallet_id = $1"
                         " AND prev_tx_hash = $2 AND prev_output_index = $3",
                         {wallet_, row.hash, output.index, amount}));
    if (spenders > 0) TRY(recompute_spenders("id = $2", *id));
  }
  return added;
}

Result<Recorded> TxLifecycle::unchanged(const Row& row, bool changed) {
  Recorded answer;
  answer.tx = row.hash;
  answer.status = row.status;
  answer.height = row.height;
  answer.changed = changed;
  return answer;
}

}  // namespace coffer::wallet
