// What the wallet's statements cost (W9): their plans, and that history does not slow it down.
#include <set>

#include "wallet_bulk.h"
#include "wallet_story.h"

namespace coffer::wallet::test {
namespace {

constexpr std::uint64_t kBlocks = 200;

// A wallet of its own with so much history, whose statements are heard.
class Cost : public Story {
 protected:
  struct World {
    TempDir dir;
    std::set<std::string> heard;
    std::unique_ptr<WalletEngine> engine;
    WalletId wallet;
    std::vector<BulkTx> txs;
  };
  World& make_world(std::size_t unspent, std::size_t spent) {
    world_ = std::make_unique<World>();
    World* world = world_.get();
    sql::DatabaseOptions options;
    auto* server = is_sqlite() ? nullptr : sql::test::PostgresServer::shared();
    options.location = is_sqlite() ? "sqlite:" + (world->dir.path() / "w.db").string()
                                   : server->location(server->fresh_database());
    options.clock = &clock();
    options.max_connections = 1;
    options.on_statement = [heard = &world->heard](std::string_view text) { heard->emplace(text); };
    world->engine = std::make_unique<WalletEngine>("cost", options, StoreOptions{});
    engine_ = world->engine.get();
    chain_.clear();
    world->wallet = alice_ = make_wallet("alice", {1, 2});
    mine_empty(kBlocks);
    for (std::uint64_t height = 0; height < kBlocks; ++height)
      rows_.push_back({height, chain_[height]->hash});
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
      world->txs.push_back({incoming(1'000 + i), TxStatus::kPublished, height});
      for (std::size_t k = i * spent / unspent; k < (i + 1) * spent / unspent; ++k) {
        world->txs.push_back({incoming(500 + k), TxStatus::kPublished, height});
        world->txs.push_back(
            {tx({coin(world->txs.back().tx)}, {{99, 400}}), TxStatus::kPublished, height});
      }
    }
    ok(BulkLoad(*engine_, alice_).run(world->txs));
    // Many rows are found by indexes, so these few are as well.
    let_it_scan(false);
    return *world;
  }
  void TearDown() override {
    if (engine_ != nullptr) let_it_scan(true);
    Story::TearDown();
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
  std::unique_ptr<World> world_;
  std::vector<std::pair<std::uint64_t, Hash256>> rows_;
};
COFFER_ON_BOTH_ENGINES(Cost);

// By what it is: first before, then with ten times the history.
using Costs = std::map<std::string, std::int64_t[2]>;

TEST_P(Cost, W9_TenTimesTheHistoryCostsReadsAtMostATenthMore) {
  Costs cost;
  for (const std::size_t size : {0u, 1u}) {
    (void)make_world(1'000, size == 0 ? 300 : 3'000);
    // The newest pages of the history hold the same in both, so that only what is below differs.
    std::vector<MadeTx> newest;
    for (int i = 0; i < 220; ++i) newest.push_back(incoming(700, 2));
    mine(newest);
    cost["balance"][size] = work([&] { EXPECT_EQ(balance().coins, 1'220u); });
    cost["balance of an account"][size] =
        work([&] { EXPECT_EQ(balance({}, {.account = "default"}).coins, 1'220u); });
    cost["balance of a script"][size] =
        work([&] { EXPECT_EQ(balance({}, {.script = script(1)}).coins, 1'000u); });
    const auto page = [&](CoinQuery& query) {
      const auto found = store().coins(alice_, query);
      ok(found);
      EXPECT_EQ(found->items.size(), 100u);
      return found->cursor;
    };
    const std::pair<CoinOrder, std::string> orders[] = {{CoinOrder::kOldest, "oldest"},
                                                        {CoinOrder::kNewest, "newest"},
                                                        {CoinOrder::kLargest, "largest"},
                                                        {CoinOrder::kSmallest, "smallest"}};
    for (const auto& [order, name] : orders)
      for (const std::string kind : {"", ", spendable", ", of a script"}) {
        CoinQuery query;
        query.order = order;
        query.spendable = kind == ", spendable";
        if (kind == ", of a script") query.script = script(1);
        cost["coins, " + name + kind][size] = work([&] { (void)page(query); });
        query.page.cursor = page(query);
        cost["coins, " + name + kind + ", second page"][size] = work([&] { (void)page(query); });
      }
    HistoryQuery history;
    for (const std::string name : {"history", "history, second page"}) {
      std::string cursor;
      cost[name][size] = work([&] {
        const auto found = store().history(alice_, history);
        ok(found);
        EXPECT_EQ(found->items.size(), 100u);
        cursor = found->cursor;
      });
      history.page.cursor = cursor;
    }
    cost["one transaction"][size] =
        work([&] { ok(store().transaction(alice_, newest.front().id)); });
  }
  expect_a_tenth_at_most(cost);
}

TEST_P(Cost, W9_TenTimesTheHistoryCostsWritesAtMostATenthMore) {
  Costs cost;
  for (const std::size_t size : {0u, 1u}) {
    const World& world = make_world(1'000, size == 0 ? 300 : 3'000);
    std::vector<chain::Outpoint> unspent;
    for (const BulkTx& one : world.txs)
      if (state(coin(one.tx)) == "confirmed") unspent.push_back(coin(one.tx));
    // Each time another coin, as in life.
    const auto next = [&] {
      const chain::Outpoint taken = unspent.back();
      unspent.pop_back();
      return taken;
    };
    std::vector<chain::Outpoint> held;
    cost["lease"][size] = work([&] {
      held = {next()};
      ok(store().lease(alice_, {held, lock_id(1), 1'000}));
    });
    cost["renew"][size] = work([&] { ok(store().renew(alice_, {held, lock_id(1), 2'000})); });
    cost["release"][size] = work([&] { ok(store().release(alice_, held, lock_id(1))); });
    cost["a payment seen"][size] = work([&] { see(incoming(900)); });
    cost["a spend seen"][size] = work([&] { see(tx({next()}, {{1, 900}})); });
    cost["a spend recorded"][size] = work([&] { ok(record(tx({next()}, {{1, 900}}))); });
    cost["a block of two"][size] = work([&] { mine({incoming(900), tx({next()}, {{1, 900}})}); });
  }
  expect_a_tenth_at_most(cost);
}

// A line of the summary that is changed once a coin costs PostgreSQL the square of the coins.
TEST_P(Cost, W11_ARollbackCostsEachCoinTheSame) {
  const auto changed_lines = [&] {
    return is_sqlite() ? 0
                       : number(
                             "SELECT n_tup_upd + n_tup_ins FROM pg_stat_user_tables"
                             " WHERE relname = 'balance_summary'");
  };
  std::int64_t cost[2] = {};
  for (const std::size_t size : {0u, 1u}) {
    (void)make_world(2'000, 200);
    const std::int64_t before = counted(), lines_before = changed_lines();
    (void)roll_back(size == 0 ? 20 : 160);
    cost[size] = counted() - before;
    // The confirmed and the unconfirmed of the account, and of its one address.
    EXPECT_LE(changed_lines() - lines_before, 4);
    EXPECT_EQ(number("SELECT coins FROM balance_summary WHERE address_id = 0"
                     " AND kind = 'unconfirmed'"),
              size == 0 ? 200 : 1'600);
  }
  EXPECT_GT(cost[0], 0);
  EXPECT_LE(cost[1], cost[0] * 8 * 5 / 4);
}

// A plan is bad if it walks through a whole table, or a whole wallet, to find what it needs.
class Plans : public Cost {
 protected:
  // Everything that the wallet does again and again.
  void live(const std::vector<BulkTx>& txs) {
    const auto unspent = [&](std::size_t i) { return coin(txs[3 * i].tx); };
    const MadeTx first = tx({unspent(0), unspent(1)}, {{1, 900}});
    see(first), see(first);
    see(tx({unspent(0)}, {{1, 800}}));
    drop(first);
    const MadeTx planned = tx({unspent(2)}, {{1, 900}}), chained = tx({coin(planned)}, {{2, 800}});
    ok(record_pending(planned));
    ok(record_pending(chained, {.lock_id = lock_id(1)}));
    ok(record_pending(tx({unspent(2)}), {.bump = true}));
    ok(store().publish(alice_, planned.id));
    ok(store().cancel(alice_, chained.id));
    const std::vector<chain::Outpoint> leased = {unspent(3), unspent(4)};
    ok(store().lease(alice_, {leased, lock_id(1), 1'000}));
    ok(store().renew(alice_, {leased, lock_id(1), 1'000}));
    ok(store().release(alice_, std::span(leased).first(1), lock_id(1)));
    ok(store().release_all(alice_, lock_id(1)));
    ok(store().clean_leases());
    ok(store().leases(alice_, {}));
    mine({coinbase(), planned, incoming()});
    (void)roll_back(1);
    mine({planned});
    RecordOptions in_block;
    in_block.block = BlockRef{tip(), chain_.back()->hash, 0, 9};
    ok(record(incoming(), in_block));
    ok(store().import_descriptor(alice_, "wpkh(" + kKey + "/<0;1>/*)", {}));
    ok(store().new_address(alice_, "default", false));
    read();
  }
  void read() {
    (void)balance();
    (void)balance({}, {.account = "default"});
    (void)balance({}, {.script = script(1)});
    for (const CoinOrder order :
         {CoinOrder::kOldest, CoinOrder::kNewest, CoinOrder::kLargest, CoinOrder::kSmallest})
      for (const bool of_script : {false, true}) {
        CoinQuery query;
        query.order = order;
        query.page.count = 10;
        if (of_script) query.script = script(1);
        const auto page = store().coins(alice_, query);
        ok(page);
        query.page.cursor = page->cursor;
        ok(store().coins(alice_, query));
      }
    HistoryQuery history;
    history.page.count = 3;
    for (int i = 0; i < 6; ++i) {
      const auto page = store().history(alice_, history);
      ok(page);
      ok(store().transaction(alice_, page->items.front().tx));
      history.page.cursor = page->cursor;
    }
    ok(store().addresses(alice_, {}));
    ok(store().list({}));
  }

  // The lines of a plan.
  std::vector<std::string> plan(const std::string& text) {
    std::vector<std::string> lines;
    ok(engine_->database().run_transaction([&](sql::Transaction& at) -> Result<> {
      int params = 0;
      while (text.find(fmt::format("${}", params + 1)) != std::string::npos) ++params;
      std::vector<sql::Param> values;
      std::string explain = "EXPLAIN QUERY PLAN " + text;
      if (is_sqlite()) {
        values.resize(static_cast<std::size_t>(params), std::optional<std::int64_t>());
      } else {
        // With a known LIMIT.
        std::string limited = text;
        std::vector<std::string> nulls, types;
        for (int i = 1; i <= params; ++i) {
          const std::string limit = fmt::format("LIMIT ${}", i);
          const std::size_t found = limited.find(limit);
          if (found != std::string::npos) limited.replace(found, limit.size(), "LIMIT 100");
          types.push_back(found != std::string::npos ? "bigint" : "unknown");
          nulls.push_back("NULL");
        }
        TRY(at.script("SET LOCAL plan_cache_mode = force_generic_plan"));
        TRY(at.script(params == 0 ? "PREPARE planned AS " + limited
                                  : fmt::format("PREPARE planned ({}) AS {}",
                                                fmt::join(types, ", "), limited)));
        explain = "EXPLAIN EXECUTE planned";
        if (params > 0) explain += fmt::format("({})", fmt::join(nulls, ", "));
      }
      sql::Rows rows = TRY(at.query(explain, values));
      while (TRY(rows.next())) lines.push_back(TRY(rows.get<std::string>(is_sqlite() ? 3 : 0)));
      return is_sqlite() ? Result<>() : at.script("DEALLOCATE planned");
    }));
    return lines;
  }

  // What has one row, or one for a wallet, may be scanned, and the leases, accounts and descriptors
  // of a wallet; pages follow an index of what is unspent, unconfirmed or in blocks, and u may be
  // such a page.
  static bool walks_in_sqlite(const std::vector<std::string>& lines, std::size_t at) {
    const std::string& line = lines[at];
    if (line == "SCAN u" && (lines[0] == "CO-ROUTINE u" || lines[0] == "MATERIALIZE u"))
      return false;
    if (line.starts_with("SCAN "))
      return line != "SCAN CONSTANT ROW" && line != "SCAN d" && line != "SCAN y" &&
             line != "SCAN sync_state" && line != "SCAN pruned_summary";
    const bool is_few = is_of_few(line) || line.starts_with("SEARCH l ");
    return line.ends_with("(wallet_id=?)") && !is_few && !line.starts_with("SEARCH d ");
  }
  static bool walks_in_postgres(const std::vector<std::string>& lines, std::size_t at) {
    const std::string& line = lines[at];
    for (const std::string_view table :
         {"transactions", "tx_inputs", "tx_raw", "utxos", "addresses", "pruned_transactions"})
      if (line.find(fmt::format("Seq Scan on {} ", table)) != std::string::npos) return true;
    if (line.find("Index Cond: (wallet_id = $1)") == std::string::npos || at == 0) return false;
    return !is_of_few(lines[at - 1]);
  }
  // Pages, and what a wallet has few of.
  static bool is_of_few(const std::string& line) {
    for (const std::string_view few :
         {"idx_utxos_unspent", "idx_transactions_unconfirmed", "idx_transactions_by_block",
          "leases", "accounts", "descriptors"})
      if (line.find(few) != std::string::npos) return true;
    return false;
  }

  static inline const std::string kKey =
      "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZ"
      "PStJRJCTKvosUCJZL5B";
};
COFFER_ON_BOTH_ENGINES(Plans);

TEST_P(Plans, TheLargestPageIsReadWithItsLabelsInAFewStatements) {
  World& world = make_world(600, 600);
  const Hash256 first = world.txs.front().tx.id, last = world.txs.back().tx.id;
  const std::string shown_first = display(chain::Family::kBitcoin, first);
  ok(store().set_label(alice_, "tx", shown_first, "the first"));
  ok(store().set_label(alice_, "tx", display(chain::Family::kBitcoin, last), "the last"));
  world.heard.clear();
  HistoryQuery query;
  query.page.count = kMaxPage;
  std::map<std::string, int> labels;
  do {
    const auto page = store().history(alice_, query);
    ok(page);
    for (const HistoryEntry& entry : page->items) ++labels[entry.label];
    query.page.cursor = page->cursor;
  } while (!query.page.cursor.empty());
  EXPECT_GT(labels[""], static_cast<int>(kMaxPage) - 2);
  EXPECT_EQ(labels["the first"], 1);
  EXPECT_EQ(labels["the last"], 1);
  EXPECT_EQ(labels.size(), 3u);
  EXPECT_LT(world.heard.size(), 12u);  // texts

  ok(store().set_label(alice_, "output", shown_first + ":0", "the first coin"));
  world.heard.clear();
  CoinQuery coins;
  coins.page.count = kMaxPage;
  const auto page = store().coins(alice_, coins);
  ok(page);
  EXPECT_EQ(page->items.size(), 600u);
  EXPECT_EQ(page->items.front().label, "the first coin");
  EXPECT_LT(world.heard.size(), 8u);
}

TEST_P(Plans, W9_NoStatementOfDailyLifeWalksThroughAWallet) {
  World& world = make_world(500, 500);
  world.heard.clear();
  live(world.txs);
  EXPECT_GT(world.heard.size(), 60u);
  for (const std::string& text : std::set<std::string>(world.heard)) {
    const auto begins = [&](std::string_view word) { return text.starts_with(word); };
    if (begins("SELECT pg_") || begins("ANALYZE") || begins("SAVEPOINT")) continue;
    if (begins("RELEASE") || begins("ROLLBACK TO")) continue;
    const std::vector<std::string> lines = plan(text);
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_FALSE(is_sqlite() ? walks_in_sqlite(lines, i) : walks_in_postgres(lines, i))
          << text << "\n  " << fmt::format("{}", fmt::join(lines, "\n  "));
  }
}

}  // namespace
}  // namespace coffer::wallet::test
