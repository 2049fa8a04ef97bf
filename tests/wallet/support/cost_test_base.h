// A wallet whose statements are recorded and counted.
#pragma once

#include <set>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/bulk.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {

// A wallet of its own with so much history, whose statements are recorded.
class CostTest : public WalletTest {
 protected:
  static constexpr std::uint64_t kBlocks = 200;

  struct LargeWallet {
    TempDir dir;
    std::set<std::string> statements;
    std::unique_ptr<WalletEngine> engine;
    WalletId wallet;
    std::vector<BulkTx> txs;
  };
  LargeWallet& make_large_wallet(std::size_t unspent, std::size_t spent) {
    large_ = std::make_unique<LargeWallet>();
    LargeWallet* large = large_.get();
    sql::DatabaseOptions options;
    auto* server = is_sqlite() ? nullptr : sql::test::PostgresServer::shared();
    options.location = is_sqlite() ? "sqlite:" + (large->dir.path() / "w.db").string()
                                   : server->location(fresh_wallet_database(*server));
    options.clock = &clock();
    options.max_connections = 1;
    options.on_statement = [statements = &large->statements](std::string_view text) {
      statements->emplace(text);
    };
    large->engine = std::make_unique<WalletEngine>("cost", options, StoreOptions{});
    engine_ = large->engine.get();
    chain_.clear();
    large->wallet = alice_ = make_wallet("alice", {1, 2});
    mine_empty(kBlocks);
    for (std::uint64_t height = 0; height < kBlocks; ++height)
      rows_.emplace_back(height, chain_[height]->hash);
    ok(engine_->database().run_transaction([&](sql::Transaction& at) -> Result<> {
      auto rows =
          TRY(at.batch("INSERT INTO blocks (block_height, header_hash, block_timestamp)"
                       " VALUES ($1, $2, 0)"));
      for (const auto& [height, hash] : rows_) TRY(rows.add({height, hash}));
      (void)TRY(rows.finish());
      return {};
    }));
    rows_.clear();
    // Unspent coins stand among the spent ones, as they do in life.
    for (std::size_t i = 0; i < unspent; ++i) {
      const std::uint64_t height = i * kBlocks / unspent;
      large->txs.push_back({incoming(1'000 + i), TxStatus::kPublished, height});
      for (std::size_t k = i * spent / unspent; k < (i + 1) * spent / unspent; ++k) {
        large->txs.push_back({incoming(500 + k), TxStatus::kPublished, height});
        large->txs.push_back(
            {tx({coin(large->txs.back().tx)}, {{99, 400}}), TxStatus::kPublished, height});
      }
    }
    ok(BulkLoad(*engine_, alice_).run(large->txs));
    // Many rows are found by indexes, so these few are as well.
    let_it_scan(false);
    return *large;
  }
  void TearDown() override {
    if (engine_ != nullptr) let_it_scan(true);
    WalletTest::TearDown();
  }
  // There is one connection. Remembering the last blocks of a page saves it a few looks or not,
  // whatever is below the page.
  void let_it_scan(bool allowed) {
    if (is_sqlite()) return;
    for (const std::string_view way :
         {"enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_memoize", "jit"})
      ok(script_sql(fmt::format("SET {} = {}", way, allowed ? "on" : "off")));
  }

  // Work of one call: steps of SQLite's machine, or pages that PostgreSQL looked at.
  template <typename Call>
  std::int64_t work(Call call) {
    call();  // prepares
    const std::int64_t before = counted();
    call();
    return counted() - before;
  }
  static void expect_a_tenth_at_most(const std::map<std::string, std::int64_t[2]>& costs) {
    for (const auto& [what, cost] : costs) {
      EXPECT_GT(cost[0], 0) << what;
      EXPECT_LE(cost[1], cost[0] + cost[0] / 10) << what << " cost " << cost[0] << " before";
    }
  }
  std::int64_t counted() {
    auto connection = engine_->database().acquire();
    ok(connection);
    if (is_sqlite()) {
      const auto writer = engine_->database().acquire(sql::Access::kWrite);
      ok(writer);
      return connection->vm_steps() + writer->vm_steps();
    }
    ok(connection->query("SELECT pg_stat_force_next_flush()"));
    ok(connection->query("SELECT pg_stat_clear_snapshot()"));
    const auto pages = connection->value<std::int64_t>(
        "SELECT CAST(sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0)"
        " + coalesce(idx_blks_read, 0)) AS BIGINT) FROM pg_statio_user_tables");
    ok(pages);
    return pages.value_or(0).value_or(0);
  }

 private:
  std::unique_ptr<LargeWallet> large_;
  std::vector<std::pair<std::uint64_t, Hash256>> rows_;
};

}  // namespace coffer::wallet::test
