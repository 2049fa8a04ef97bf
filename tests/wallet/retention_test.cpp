// Pruning decides in SQL what may go; this compares its verdict with the rule of safe deletion
// (X1), asked with facts that plain code gathers from the same rows, on random wallets.
#include <deque>

#include <coffer/retention/retention.h>
#include "base/test_data.h"
#include "sql/connection.h"
#include "wallet/support/random_workload.h"

namespace coffer::wallet::test {
namespace {

constexpr std::uint64_t kRetentionWindow = 3;

struct TxRow {
  Hash256 hash{};
  std::optional<std::uint64_t> height;
  bool stub = false, user_confirmed = false;
  std::vector<std::optional<std::uint64_t>> spenders;  // of its coins: rows of transactions
};
using TxRows = std::map<std::uint64_t, TxRow>;

struct WalletRows {
  std::int64_t tip = -1;
  TxRows txs;
};

Result<WalletRows> read_rows(sql::Database& database, WalletId wallet) {
  return database.run_transaction(
      [&](sql::Transaction& sql) -> Result<WalletRows> {
        WalletRows all;
        all.tip = TRY(sql.value<std::int64_t>("SELECT tip_height FROM sync_state")).value_or(-1);
        {
          sql::Rows rows =
              TRY(sql.query("SELECT id, tx_hash, block_height, is_stub, user_confirmed FROM"
                            " transactions WHERE wallet_id = $1",
                            {wallet}));
          while (TRY(rows.next())) {
            TxRow& row = all.txs[TRY(rows.get<std::uint64_t>(0))];
            row.hash = TRY(rows.get<Hash256>(1));
            row.height = TRY(rows.get<std::optional<std::uint64_t>>(2));
            row.stub = TRY(rows.get<bool>(3));
            row.user_confirmed = TRY(rows.get<bool>(4));
          }
        }
        sql::Rows rows = TRY(
            sql.query("SELECT tx_id, spent_by_tx_id FROM utxos WHERE wallet_id = $1", {wallet}));
        while (TRY(rows.next()))
          all.txs.at(TRY(rows.get<std::uint64_t>(0)))
              .spenders.push_back(TRY(rows.get<std::optional<std::uint64_t>>(1)));
        return all;
      },
      {.access = sql::Access::kRead});
}

// A block that only a person named is no word of the chain. The wallet has no stamps: whatever is
// final is due.
// `trust_users`: as if it were, to see how often that decides.
retention::Reason judge_row(const WalletRows& rows, const TxRow& row, bool trust_users = false) {
  const auto on_chain = [&](const TxRow& tx) {
    return tx.height && (trust_users || !tx.user_confirmed);
  };
  const retention::Window window{kRetentionWindow,
                                 {static_cast<std::uint64_t>(rows.tip),
                                  rows.tip - static_cast<std::int64_t>(kRetentionWindow)}};
  retention::TxFacts tx;
  tx.on_longest_chain = on_chain(row);
  tx.highest_height = row.height;
  tx.delete_at_height = 0;
  std::deque<retention::ChildFacts> children;
  std::vector<retention::OutputFacts> outputs;
  for (const std::optional<std::uint64_t>& spender : row.spenders) {
    retention::OutputFacts& output = outputs.emplace_back();
    if (!spender) continue;
    const TxRow& child = rows.txs.at(*spender);
    output.spent = true;
    output.child = &children.emplace_back(retention::ChildFacts{
        .present = true, .on_longest_chain = on_chain(child), .highest_height = child.height});
  }
  return retention::judge(tx, outputs, window).reason;
}

// What pruning leaves of a transaction that went: nothing, or a stub without coins.
bool is_gone(const WalletRows& rows, std::uint64_t id) {
  const auto found = rows.txs.find(id);
  return found == rows.txs.end() || (found->second.stub && found->second.spenders.empty());
}

class WalletRetention : public testing::Test {
 protected:
  // Of what only a person said to be in a block, chance brings little below the window.
  static void mark_some_user_confirmed(WalletEngine& engine) {
    const auto marked = engine.database().run_transaction([](sql::Transaction& sql) {
      return sql.execute(
          "UPDATE transactions SET user_confirmed = $1 WHERE block_height IS NOT NULL"
          " AND NOT is_stub AND id % 4 = 0",
          {true});
    });
    ASSERT_TRUE(marked) << marked.error().message;
  }
  void compare(WalletEngine& engine, std::size_t wallet) {
    const auto id = engine.store().find("wallet" + std::to_string(wallet));
    ASSERT_TRUE(id);
    const auto before = read_rows(engine.database(), id->id);
    ASSERT_TRUE(before) << before.error().message;
    PruneOptions options;
    options.limit = 1'000'000;
    const auto pruned = engine.store().prune(id->id, options);
    ASSERT_TRUE(pruned) << pruned.error().message;
    const auto after = read_rows(engine.database(), id->id);
    ASSERT_TRUE(after) << after.error().message;
    for (const auto& [number, row] : before->txs) {
      if (!row.height) continue;
      if (row.stub && row.spenders.empty()) continue;  // it is gone already
      const retention::Reason reason = judge_row(*before, row);
      ++reasons_[reason];
      if (judge_row(*before, row, true) == retention::Reason::kDeletable)
        ++reasons_but_users_[reason];
      EXPECT_EQ(is_gone(*after, number), reason == retention::Reason::kDeletable)
          << engine.name() << ": " << row.hash.hex() << " at " << *row.height << " of "
          << before->tip << " is judged " << reason;
    }
  }

  std::map<retention::Reason, std::uint64_t> reasons_;
  std::map<retention::Reason, std::uint64_t> reasons_but_users_;  // of what a person decided
};

TEST_F(WalletRetention, PruningAgreesWithRuleOnRandomWallets) {  // X1
  const TempDir dir;
  ManualClock clock(kStart);
  StoreOptions options;
  options.prune_window = kRetentionWindow;
  options.step = 5;
  const auto lite = WalletEngine::sqlite(dir.path(), &clock, options);
  const auto postgres = WalletEngine::postgres(&clock, options);
  if (shared_data_required()) {
    ASSERT_NE(postgres, nullptr) << "PostgreSQL is not installed";
  }
  std::vector<WalletEngine*> engines = {lite.get()};
  if (postgres) engines.push_back(postgres.get());
  for (std::uint64_t seed = 1'001; seed <= 1'060; ++seed) {
    RandomWorkload life(seed, clock);
    for (WalletEngine* engine : engines) {
      engine->empty();
      RandomWorkload::create_wallets(*engine);
      life.join(*engine);
    }
    for (int i = 0; i < 50; ++i) ASSERT_NO_FATAL_FAILURE(life.step());
    for (WalletEngine* engine : engines) {
      if (seed % 2 == 0) {
        ASSERT_NO_FATAL_FAILURE(mark_some_user_confirmed(*engine));
      }
      for (std::size_t wallet = 0; wallet < kWallets; ++wallet)
        ASSERT_NO_FATAL_FAILURE(compare(*engine, wallet));
    }
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
  // Each arm of the rule was met.
  for (const auto reason : {retention::Reason::kDeletable, retention::Reason::kUnmined,
                            retention::Reason::kNotFinal, retention::Reason::kUnspent,
                            retention::Reason::kChildUnmined, retention::Reason::kChildNotFinal})
    EXPECT_GT(reasons_[reason], 0u) << reason;
  EXPECT_GT(reasons_but_users_[retention::Reason::kUnmined], 0u);
  EXPECT_GT(reasons_but_users_[retention::Reason::kChildUnmined], 0u);
}

}  // namespace
}  // namespace coffer::wallet::test
