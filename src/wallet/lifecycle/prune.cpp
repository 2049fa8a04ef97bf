// Manual pruning (W6), by the rule of safe deletion (X1): a confirmed transaction goes once it and
// every spender of its coins lie the window below the tip, by the word of the chain and not of a
// person. It stays as a stub, without bytes and inputs, while a kept coin names it as its spender;
// so a spent coin never comes back (W5). A stub may have got coins of its own since (pruned.cpp),
// which go by the same rule.
//
// It is done in steps, each a commit of its own that looks at a bounded number of transactions and
// leaves nothing half done, so that nobody waits long for a turn to write. Cost: one look at the
// confirmed transactions below the window, oldest first, until the limit is reached.
#include <unordered_set>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

struct Found {
  std::uint64_t id = 0;
  Hash256 hash{};
  std::int64_t height = -1, index = -1;
  bool stub = false;
};
struct Looked {
  std::vector<Found> going;
  Found last;  // of all that were looked at
  bool at_end = false;
};

class Pruner {
 public:
  Pruner(sql::Transaction& sql, WalletId wallet, std::uint64_t window)
      : sql_(sql), wallet_(wallet), window_(window) {}

  // Which may go of the next `count` confirmed ones, in the order of the chain.
  Result<Looked> look_at_confirmed(const Found& last, std::size_t count) {
    return look(
        "SELECT t.id, t.tx_hash, t.block_height, t.block_index, t.is_stub, NOT t.user_confirmed"
        "  AND (NOT t.is_stub OR EXISTS (SELECT 1 FROM utxos k"
        "    WHERE k.wallet_id = t.wallet_id AND k.tx_id = t.id))"
        "  AND NOT EXISTS (SELECT 1 FROM utxos u LEFT JOIN transactions s"
        "    ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id"
        "    WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id AND (s.block_height IS NULL"
        "      OR s.user_confirmed OR s.block_height > t.tip_height - CAST($2 AS BIGINT)))"
        " FROM (SELECT c.*, y.tip_height FROM transactions c CROSS JOIN sync_state y"
        "   WHERE c.wallet_id = $1 AND c.block_height IS NOT NULL"
        "   AND (c.block_height, c.block_index, c.id) > ($3, $4, $5)"
        "   AND c.block_height <= y.tip_height - CAST($2 AS BIGINT)"
        "   ORDER BY c.block_height, c.block_index, c.id LIMIT $6) t"
        " ORDER BY t.block_height, t.block_index, t.id",
        {wallet_, window_, last.height, last.index, last.id, count}, count);
  }
  // Which may go of the next `count` that no block has.
  Result<Looked> look_at_invalid(const Found& last, std::size_t count, std::int64_t older_than_ms) {
    return look(
        "SELECT t.id, t.tx_hash, t.block_height, t.block_index, t.is_stub,"
        "  t.status NOT IN ('pending', 'published')"
        "  AND t.changed_at <= coffer_now() - CAST($2 AS BIGINT)"
        "  AND NOT EXISTS (SELECT 1 FROM utxos u WHERE u.wallet_id = t.wallet_id"
        "    AND u.tx_id = t.id AND u.spent_by_tx_id IS NOT NULL)"
        " FROM (SELECT * FROM transactions WHERE wallet_id = $1 AND block_height IS NULL"
        "   AND id > $3 ORDER BY id LIMIT $4) t ORDER BY t.id",
        {wallet_, older_than_ms, last.id, count}, count);
  }

  Result<> prune_confirmed(std::span<const Found> txs, Pruned& done) {
    std::vector<std::uint64_t> stubs;  // that may be named by nobody any more
    for (const Found& tx : txs) {
      stubs.push_back(tx.id);
      TRY(prune_one(tx, stubs, done));
    }
    for (const std::uint64_t id : stubs)
      (void)TRY(sql_.execute(
          "DELETE FROM transactions WHERE wallet_id = $1 AND id = $2 AND is_stub"
          " AND NOT EXISTS (SELECT 1 FROM utxos u WHERE u.wallet_id = $1 AND u.spent_by_tx_id = $2)"
          " AND NOT EXISTS (SELECT 1 FROM utxos u WHERE u.wallet_id = $1 AND u.tx_id = $2)",
          {wallet_, id}));
    return {};
  }

  // They never counted: no trace is needed, and if one is mined after all it is simply new.
  Result<> prune_invalid(std::span<const Found> txs, Pruned& done) {
    for (const Found& tx : txs) {
      const std::int64_t coins = TRY(
          sql_.execute("DELETE FROM utxos WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
      (void)TRY(sql_.execute("DELETE FROM transactions WHERE wallet_id = $1 AND id = $2",
                             {wallet_, tx.id}));
      done.coins += static_cast<std::uint64_t>(coins);
      ++done.invalid;
    }
    return {};
  }

  Result<std::uint64_t> coins_of(const Found& tx) {
    const auto coins = TRY(sql_.value<std::uint64_t>(
        "SELECT count(*) FROM utxos WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
    return coins.value_or(0);
  }
  // How many stubs there are once these are gone.
  Result<std::uint64_t> stubs_after(const std::unordered_set<std::uint64_t>& going) {
    std::vector<std::uint64_t> ids(going.begin(), going.end());
    {
      sql::Rows rows = TRY(
          sql_.query("SELECT id FROM transactions WHERE wallet_id = $1 AND is_stub", {wallet_}));
      while (TRY(rows.next())) {
        const std::uint64_t id = TRY(rows.get<std::uint64_t>(0));
        if (!going.contains(id)) ids.push_back(id);
      }
    }
    std::uint64_t stubs = 0;
    for (const std::uint64_t id : ids) {
      // A coin of its own, or one that it spends, which stays.
      sql::Rows rows =
          TRY(sql_.query("SELECT tx_id FROM utxos WHERE wallet_id = $1 AND spent_by_tx_id = $2"
                         " UNION SELECT tx_id FROM utxos WHERE wallet_id = $1 AND tx_id = $2",
                         {wallet_, id}));
      bool named = false;
      while (TRY(rows.next()))
        if (!going.contains(TRY(rows.get<std::uint64_t>(0)))) named = true;
      stubs += named ? 1 : 0;
    }
    return stubs;
  }

 private:
  Result<Looked> look(std::string_view text, sql::Params params, std::size_t count) {
    sql::Rows rows = TRY(sql_.query(text, params));
    Looked looked;
    std::size_t seen = 0;
    for (; TRY(rows.next()); ++seen) {
      Found one;
      one.id = TRY(rows.get<std::uint64_t>(0));
      one.hash = TRY(rows.get<Hash256>(1));
      one.height = TRY(rows.get<std::optional<std::int64_t>>(2)).value_or(-1);
      one.index = TRY(rows.get<std::optional<std::int64_t>>(3)).value_or(-1);
      one.stub = TRY(rows.get<bool>(4));
      if (TRY(rows.get<bool>(5))) looked.going.push_back(one);
      looked.last = one;
    }
    looked.at_end = seen < count;
    return looked;
  }

  Result<> prune_one(const Found& tx, std::vector<std::uint64_t>& stubs, Pruned& done) {
    std::string outputs;
    std::uint64_t coins = 0, received = 0;
    std::int64_t fixed = tx.height;
    {
      sql::Rows rows = TRY(
          sql_.query("SELECT u.output_index, u.amount, s.id, s.block_height FROM utxos u"
                     " JOIN transactions s ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id"
                     " WHERE u.wallet_id = $1 AND u.tx_id = $2 ORDER BY u.output_index",
                     {wallet_, tx.id}));
      for (; TRY(rows.next()); ++coins) {
        outputs += fmt::format("{},", TRY(rows.get<std::uint32_t>(0)));
        received += TRY(rows.get<std::uint64_t>(1));
        stubs.push_back(TRY(rows.get<std::uint64_t>(2)));
        fixed = std::max(fixed, TRY(rows.get<std::int64_t>(3)));
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
        " lowest_height, highest_height, fixed_height) VALUES ($1, $6, $2, $3, $4, $5, $5, $7)"
        " ON CONFLICT (wallet_id) DO UPDATE SET transactions = p.transactions + $6,"
        " coins = p.coins + excluded.coins, received = p.received + excluded.received,"
        " spent = p.spent + excluded.spent,"
        " lowest_height = CASE WHEN excluded.lowest_height < p.lowest_height"
        "   THEN excluded.lowest_height ELSE p.lowest_height END,"
        " highest_height = CASE WHEN excluded.highest_height > p.highest_height"
        "   THEN excluded.highest_height ELSE p.highest_height END,"
        " fixed_height = CASE WHEN excluded.fixed_height > p.fixed_height"
        "   THEN excluded.fixed_height ELSE p.fixed_height END",
        {wallet_, coins, received, spent.value_or(0), tx.height, tx.stub ? 0 : 1, fixed}));
    (void)TRY(
        sql_.execute("DELETE FROM utxos WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
    (void)TRY(sql_.execute("DELETE FROM tx_inputs WHERE wallet_id = $1 AND tx_id = $2",
                           {wallet_, tx.id}));
    (void)TRY(
        sql_.execute("DELETE FROM tx_raw WHERE wallet_id = $1 AND tx_id = $2", {wallet_, tx.id}));
    (void)TRY(sql_.execute("UPDATE transactions SET is_stub = $3 WHERE wallet_id = $1 AND id = $2",
                           {wallet_, tx.id, true}));
    done.transactions += tx.stub ? 0 : 1;
    done.coins += coins;
    return {};
  }

  sql::Transaction& sql_;
  const WalletId wallet_;
  const std::uint64_t window_;
};

}  // namespace

Result<Pruned> Store::prune(WalletId wallet, const PruneOptions& options) {
  if (options.limit < 1 || options.limit > 1'000'000)
    return fail(Code::kInvalidInput, "the limit is from 1 to 1000000, not {}", options.limit);
  if (options.invalid_older_than_ms.value_or(0) < 0)
    return fail(Code::kInvalidInput, "an age is not negative");
  if (options.dry_run) return prune_dry_run(wallet, options);
  Pruned sum;
  const auto run = [&](bool confirmed) -> Result<> {
    Looked looked;
    for (std::size_t left = options.limit; !looked.at_end;) {
      const Found last = looked.last;
      const auto step = database_.run_transaction(
          [&](sql::Transaction& sql) -> Result<Pruned> {
            TRY(lock_writers_shared(sql));
            TRY(TxLifecycle(sql, wallet).lock());
            Pruner pruner(sql, wallet, options_.prune_window);
            looked = TRY(confirmed ? pruner.look_at_confirmed(last, options_.step)
                                   : pruner.look_at_invalid(last, options_.step,
                                                            *options.invalid_older_than_ms));
            const std::size_t count = std::min(looked.going.size(), left);
            const std::span<const Found> going(looked.going.data(), count);
            Pruned done;
            done.more = count < looked.going.size();
            TRY(confirmed ? pruner.prune_confirmed(going, done)
                          : pruner.prune_invalid(going, done));
            return done;
          },
          kWrite);
      if (!step) return fail(Error(step.error()));
      sum.transactions += step->transactions;
      sum.invalid += step->invalid;
      sum.coins += step->coins;
      sum.more |= step->more;
      if (step->more) return {};
      left -= looked.going.size();
    }
    return {};
  };
  TRY(run(true));
  if (options.invalid_older_than_ms) TRY(run(false));
  auto connection = TRY(database_.acquire());
  const auto stubs = TRY(connection.value<std::uint64_t>(
      "SELECT count(*) FROM transactions WHERE wallet_id = $1 AND is_stub", {wallet}));
  sum.stubs = stubs.value_or(0);
  return sum;
}

Result<Pruned> Store::prune_dry_run(WalletId wallet, const PruneOptions& options) const {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Pruned> {
        TRY(require_wallet(sql, wallet));
        Pruner pruner(sql, wallet, options_.prune_window);
        Pruned sum;
        const auto find = [&](auto look) -> Result<std::vector<Found>> {
          std::vector<Found> found;
          for (Looked looked; !looked.at_end;) {
            looked = TRY(look(looked.last, options_.step));
            for (const Found& one : looked.going) {
              sum.more |= found.size() == options.limit;
              if (found.size() == options.limit) return found;
              sum.coins += TRY(pruner.coins_of(one));
              found.push_back(one);
            }
          }
          return found;
        };
        const std::vector<Found> confirmed = TRY(find([&](const Found& last, std::size_t count) {
          return pruner.look_at_confirmed(last, count);
        }));
        std::unordered_set<std::uint64_t> going;
        for (const Found& tx : confirmed) {
          going.insert(tx.id);
          sum.transactions += tx.stub ? 0 : 1;
        }
        sum.stubs = TRY(pruner.stubs_after(going));
        if (!options.invalid_older_than_ms) return sum;
        const std::vector<Found> invalid = TRY(find([&](const Found& last, std::size_t count) {
          return pruner.look_at_invalid(last, count, *options.invalid_older_than_ms);
        }));
        sum.invalid = invalid.size();
        return sum;
      },
      kRead);
}

Result<PrunedTotals> Store::pruned(WalletId wallet) const {
  auto connection = TRY(database_.acquire());
  TRY(require_wallet(connection, wallet));
  const auto row = TRY((connection.one<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                                       std::uint64_t, std::uint64_t>(
      "SELECT transactions, coins, received, spent, lowest_height, highest_height"
      " FROM pruned_summary WHERE wallet_id = $1",
      {wallet})));
  if (!row) return PrunedTotals{};
  return std::make_from_tuple<PrunedTotals>(*row);
}

}  // namespace coffer::wallet
