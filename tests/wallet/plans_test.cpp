// The plans of the wallet's statements (W9).
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/cost_test_base.h"

namespace coffer::wallet::test {
namespace {

// A plan is bad if it walks through a whole table, or a whole wallet, to find what it needs.
class Plans : public CostTest {
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
    LeaseSelection some;
    some.amount = 2'500;
    some.lock_id = lock_id(2);
    some.duration_ms = 1'000;
    for (const CoinOrder order : {CoinOrder::kLargest, CoinOrder::kSmallest}) {
      some.order = order;
      ok(store().select_and_lease(alice_, some));
      ok(store().select_and_lease(alice_, some));  // what it holds is enough
      ok(store().release_all(alice_, lock_id(2)));
    }
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
          types.emplace_back(found != std::string::npos ? "bigint" : "unknown");
          nulls.emplace_back("NULL");
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
  // of a wallet; pages follow an index of what is unspent, unconfirmed or in blocks.
  static bool walks_in_sqlite(const std::vector<std::string>& lines, std::size_t at) {
    const std::string& line = lines[at];
    // Pages are subqueries with a limit, whose own lines are looked at as well.
    if (line.starts_with("SCAN "))
      for (const std::string_view made : {"CO-ROUTINE ", "MATERIALIZE "})
        if (std::find(lines.begin(), lines.end(), std::string(made) + line.substr(5)) !=
            lines.end())
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
  static bool sorts(const std::vector<std::string>& lines) {
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("Sort") != std::string::npos ||
             line.find("FOR ORDER BY") != std::string::npos;
    });
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

TEST_P(Plans, LargestPageTakesFewStatements) {
  LargeWallet& large = make_large_wallet(600, 600);
  const Hash256 first = large.txs.front().tx.id, last = large.txs.back().tx.id;
  const std::string shown_first = display(chain::Family::kBitcoin, first);
  ok(store().set_label(alice_, "tx", shown_first, "the first"));
  ok(store().set_label(alice_, "tx", display(chain::Family::kBitcoin, last), "the last"));
  large.statements.clear();
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
  EXPECT_LT(large.statements.size(), 12u);  // texts

  ok(store().set_label(alice_, "output", shown_first + ":0", "the first coin"));
  large.statements.clear();
  CoinQuery coins;
  coins.page.count = kMaxPage;
  const auto page = store().coins(alice_, coins);
  ok(page);
  EXPECT_EQ(page->items.size(), 600u);
  EXPECT_EQ(page->items.front().label, "the first coin");
  EXPECT_LT(large.statements.size(), 8u);
}

TEST_P(Plans, NoStatementScansWallet) {  // W9
  LargeWallet& large = make_large_wallet(500, 500);
  large.statements.clear();
  live(large.txs);
  EXPECT_GT(large.statements.size(), 60u);
  int confirmed_pages = 0, coin_pages = 0;
  for (const std::string& text : std::set<std::string>(large.statements)) {
    const auto begins = [&](std::string_view word) { return text.starts_with(word); };
    if (begins("SELECT pg_") || begins("ANALYZE") || begins("SAVEPOINT")) continue;
    if (begins("RELEASE") || begins("ROLLBACK TO")) continue;
    const std::vector<std::string> lines = plan(text);
    // A page of the history does not read the blocks of other wallets. PostgreSQL knows that there
    // are none here.
    if (is_sqlite() && text.find("ORDER BY block_height DESC") != std::string::npos) {
      ++confirmed_pages;
      EXPECT_NE(fmt::format("{}", fmt::join(lines, "\n")).find("idx_transactions_by_block"),
                std::string::npos)
          << text << "\n  " << fmt::format("{}", fmt::join(lines, "\n  "));
    }
    // A page of unspent coins stops where it is full: it does not sort all of them first. One that
    // goes on among coins of one amount puts two parts together, each cut to a page.
    const bool of_two_parts = text.find("UNION ALL") != std::string::npos;
    if (text.find("FROM (SELECT * FROM utxos") != std::string::npos && !of_two_parts) {
      ++coin_pages;
      EXPECT_FALSE(sorts(lines)) << text << "\n  " << fmt::format("{}", fmt::join(lines, "\n  "));
    }
    for (std::size_t i = 0; i < lines.size(); ++i)
      EXPECT_FALSE(is_sqlite() ? walks_in_sqlite(lines, i) : walks_in_postgres(lines, i))
          << text << "\n  " << fmt::format("{}", fmt::join(lines, "\n  "));
  }
  EXPECT_EQ(confirmed_pages > 0, is_sqlite());
  EXPECT_GT(coin_pages, 0);
}

}  // namespace
}  // namespace coffer::wallet::test
