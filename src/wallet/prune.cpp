// Manual pruning (W6), by the rule of safe deletion (X1): a confirmed transaction goes once it and
// every spender of its coins lie the window below the tip. It stays as a stub, without bytes and
// inputs, while a kept coin names it as its spender; so a spent coin never comes back (W5). A stub
// may have got coins of its own since (pruned.cpp), which go by the same rule. Cost: a look at the
// confirmed transactions below the window, oldest first, until the limit is reached.
#include "wallet/ledger_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

class Pruner {
 public:
  Pruner(sql::Transaction& sql, WalletId wallet, std::uint64_t window, const PruneOptions& options)
      : sql_(sql), wallet_(wallet), window_(window), options_(options) {}

  Result<Pruned> run() {
    TRY(prune_confirmed());
    if (options_.invalid_older_than_ms) TRY(prune_invalid());
    return done_;
  }

 private:
  struct Found {
    std::uint64_t id = 0;
    Hash256 hash{};
    std::int64_t height = 0;
    bool stub = false;
  };

  Result<std::vector<Found>> find(std::string_view text, sql::Params params) {
    sql::Rows rows = TRY(sql_.query(text, params));
    std::vector<Found> found;
    while (TRY(rows.next())) {
      Found one;
      one.id = TRY(rows.get<std::uint64_t>(0));
      one.hash = TRY(rows.get<Hash256>(1));
      one.height = TRY(rows.get<std::optional<std::int64_t>>(2))
      .value_or(-1);
      one.stub = TRY(rows.get<bool>(3));
      found.push_back(one);
    }
    if (found.size() > options_.limit) {
      done_.more = true;
      found.resize(options_.limit);
    }
    return found;
  }

  Result<> prune_confirmed() {
    const std::vector<Found> found =
        TRY(find("SELECT t.id, t.tx_hash, t.block_height, t.is_stub FROM transactions t CROSS JOIN "
                 "sync_state y"
                 " WHERE t.wallet_id = $1 AND t.block_height IS NOT NULL"
                 " AND (NOT t.is_stub OR EXISTS (SELECT 1 FROM utxos k"
                 "   WHERE k.wallet_id = t.wallet_id AND k.tx_id = t.id))"
                 " AND t.block_height <= y.tip_height - CAST($2 AS BIGINT)"
                 " AND NOT EXISTS (SELECT 1 FROM utxos u LEFT JOIN transactions s"
                 "   ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id"
                 "   WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND (s.block_height IS NULL"
                 "     OR s.block_height > y.tip_height - CAST($2 AS BIGINT)))"
                 " ORDER BY t.block_height, t.block_index, t.id LIMIT $3",
                 {wallet_, window_, options_.limit + 1}));
    for (const Found& tx : found) TRY(prune_one(tx));
    // Nobody names them any more.
    const std::int64_t unnamed = TRY(
        sql_.execute("DELETE FROM transactions WHERE wallet_id = $1 AND is_stub AND NOT EXISTS ("
                     " SELECT 1 FROM utxos u WHERE u.wallet_id = transactions.wallet_id"
                     " AND u.spent_by_tx_id = transactions.id)"
                     " AND NOT EXISTS (SELECT 1 FROM utxos u"
                     " WHERE u.wallet_id = transactions.wallet_id AND u.tx_id = transactions.id)",
                     {wallet_}));
    (void)unnamed;
    const auto stubs = TRY(sql_.value<std::uint64_t>(
        "SELECT count(*) FROM transactions WHERE wallet_id = $1 AND is_stub", {wallet_}));
    done_.stubs = stubs.value_or(0);
    return {};
  }

  Result<> prune_one(const Found& tx) {
    std::string outputs;
    std::uint64_t coins = 0, received = 0;
    {
      sql::Rows rows = TRY(
          sql_.query("SELECT output_index, amount FROM utxos WHERE wallet_id = $1 AND tx_id = $2"
                     " ORDER BY output_index",
                     {wallet_, tx.id}));
      for (; TRY(rows.next()); ++coins) {
        outputs += fmt::format("{},", TRY(rows.get<std::uint32_t>(0)));
        received += TRY(rows.get<std::uint64_t>(1));
      }
    }
    const auto spent = TRY(sql_.value<std::uint64_t>(
        "SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM tx_inputs WHERE wallet_id = $1"
        " AND tx_id = $2",
        {wallet_, tx.id}));
    // Which of its outputs were coins, so that another that becomes one later is told from them.
    (void)TRY(
        sql_.execute("INSERT INTO pruned_transactions AS g (wallet_id, tx_hash, height, outputs)"
                     " VALUES ($1, $2, $3, $4) ON CONFLICT (wallet_id, tx_hash)"
                     " DO UPDATE SET outputs = g.outputs || substr(excluded.outputs, 2)",
                     {wallet_, tx.hash, tx.height, "," + outputs}));
    (void)TRY(sql_.execute(
        "INSERT INTO pruned_summary AS p (wallet_id, transactions, coins, received, spent,"
        " lowest_height, highest_height) VALUES ($1, $6, $2, $3, $4, $5, $5)"
        " ON CONFLICT (wallet_id) DO UPDATE SET transactions = p.transactions + $6,"
        " coins = p.coins + excluded.coins, received = p.received + excluded.received,"
        " spent = p.spent + excluded.spent,"
        " lowest_height = CASE WHEN excluded.lowest_height < p.lowest_height"
        "   THEN excluded.lowest_height ELSE p.lowest_height END,"
        " highest_height = CASE WHEN excluded.highest_height > p.highest_height"
        "   THEN excluded.highest_height ELSE p.highest_height END",
        {wallet_, coins, received, spent.value_or(0), tx.height, tx.stub ? 0 : 1}));
    (void)TRY(
        sql_.execute("DELETE FROM utxos WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
    (void)TRY(sql_.execute("DELETE FROM tx_inputs WHERE wallet_id = $1 AND tx_id = $2",
                           {wallet_, tx.id}));
    (void)TRY(
        sql_.execute("DELETE FROM tx_raw WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
    (void)TRY(sql_.execute("UPDATE transactions SET is_stub = $3 WHERE wallet_id = $1 AND id = $2",
                           {wallet_, tx.id, true}));
    done_.transactions += tx.stub ? 0 : 1;
    done_.coins += coins;
    return {};
  }

  // They never counted: no trace is needed, and if one is mined after all it is simply new.
  Result<> prune_invalid() {
    const std::vector<Found> found =
        TRY(find("SELECT t.id, t.tx_hash, t.block_height, t.is_stub FROM transactions t WHERE "
                 "t.wallet_id = $1"
                 " AND t.block_height IS NULL AND t.status NOT IN ('pending', 'published')"
                 " AND t.changed_at <= coffer_now() - CAST($2 AS BIGINT)"
                 " AND NOT EXISTS (SELECT 1 FROM utxos u WHERE u.wallet_id = t.wallet_id"
                 "   AND u.tx_id = t.id AND u.spent_by_tx_id IS NOT NULL) ORDER BY t.id LIMIT $3",
                 {wallet_, *options_.invalid_older_than_ms, options_.limit + 1}));
    for (const Found& tx : found) {
      const std::int64_t coins = TRY(
          sql_.execute("DELETE FROM utxos WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
      (void)TRY(sql_.execute("DELETE FROM transactions WHERE wallet_id = $1 AND id = $2",
                             {wallet_, tx.id}));
      done_.coins += static_cast<std::uint64_t>(coins);
      ++done_.invalid;
    }
    return {};
  }

  sql::Transaction& sql_;
  const WalletId wallet_;
  const std::uint64_t window_;
  const PruneOptions& options_;
  Pruned done_;
};

}  // namespace

Result<Pruned> Store::prune(WalletId wallet, const PruneOptions& options) {
  if (options.limit < 1 || options.limit > 1'000'000)
    return fail(Code::kInvalidInput, "the limit is from 1 to 1000000, not {}", options.limit);
  if (options.invalid_older_than_ms.value_or(0) < 0)
    return fail(Code::kInvalidInput, "an age is not negative");
  auto connection = TRY(database_.acquire(sql::Access::kWrite));
  sql::Transaction sql = TRY(connection.begin());
  TRY(share_writing(sql));
  TRY(Ledger(sql, wallet).lock());
  Pruned done = TRY(Pruner(sql, wallet, options_.prune_window, options).run());
  // A dry run does all of it and forgets it: so it cannot promise anything else.
  if (options.dry_run) {
    sql.rollback();
  } else {
    TRY(sql.commit());
  }
  return done;
}

}  // namespace coffer::wallet
