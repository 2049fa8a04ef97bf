// The state of a coin is decided twice: by the views coin_states and coin_kinds in SQL, and by
// coin_state() in C++. On random wallets both say the same of every coin.
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/query/coin_state.h"
#include "wallet/store_impl.h"
#include "wallet/support/random_workload.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class CoinStates : public testing::TestWithParam<sql::test::Engine> {
 protected:
  void SetUp() override {
    if (GetParam() == sql::test::Engine::kSqlite) {
      engine_ = WalletEngine::sqlite(dir_.path(), &clock_, options());
    } else {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
      engine_ = WalletEngine::postgres(&clock_, options());
    }
  }
  static StoreOptions options() {
    StoreOptions options;
    options.prune_window = 3;
    options.step = 2;
    return options;
  }

  // As what a coin counts in a balance: not at all, if nothing comes back.
  static std::optional<std::string_view> balance_kind(CoinState state, TxStatus created_by) {
    if (created_by != TxStatus::kPublished) return std::nullopt;
    if (state == CoinState::kUnconfirmed || state == CoinState::kLocked) return to_string(state);
    if (state == CoinState::kConfirmed || state == CoinState::kImmature) return "confirmed";
    return std::nullopt;
  }

  struct Row {
    std::int64_t id = 0;
    CoinFacts facts;
    std::string state;                // by coin_states
    std::optional<std::string> kind;  // by coin_kinds
  };
  // Every coin of the database. The facts come from the tables, not from the views.
  Result<std::vector<Row>> read_all() {
    return engine_->database().run_transaction(
        [&](sql::Transaction& sql) -> Result<std::vector<Row>> {
          // Compiling the statement would take longer than all of the rest.
          if (sql.dialect() == sql::Dialect::kPostgres) TRY(sql.script("SET LOCAL jit = off"));
          sql::Rows rows = TRY(sql.query(
              "SELECT u.id, t.status, s.status, t.block_height, t.is_coinbase, y.tip_height,"
              " c.state, k.kind FROM utxos u"
              " JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.tx_id"
              " CROSS JOIN sync_state y"
              " LEFT JOIN transactions s ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id"
              " LEFT JOIN coin_states c ON c.wallet_id = u.wallet_id AND c.id = u.id"
              " LEFT JOIN coin_kinds k ON k.wallet_id = u.wallet_id AND k.id = u.id"));
          std::vector<Row> list;
          while (TRY(rows.next())) {
            Row row;
            row.id = TRY(rows.get<std::int64_t>(0));
            row.facts.created_by = TRY(read_status(rows, 1));
            if (!rows.is_null(2)) row.facts.spent_by = TRY(read_status(rows, 2));
            row.facts.height = TRY(rows.get<std::optional<std::uint64_t>>(3));
            row.facts.is_coinbase = TRY(rows.get<bool>(4));
            row.facts.mature_height = TRY(rows.get<std::int64_t>(5)) - 100;
            row.state = TRY(rows.get<std::string>(6));
            row.kind = TRY(rows.get<std::optional<std::string>>(7));
            list.push_back(std::move(row));
          }
          return list;
        });
  }
  void compare_all() {
    const auto rows = read_all();
    ASSERT_TRUE(rows) << rows.error().message;
    for (const Row& row : *rows) {
      const CoinState state = coin_state(row.facts);
      states_.insert(state);
      mature_coinbases_ += row.facts.is_coinbase && state == CoinState::kConfirmed ? 1 : 0;
      ASSERT_EQ(row.state, to_string(state)) << "coin " << row.id;
      ASSERT_EQ(row.kind, balance_kind(state, row.facts.created_by)) << "coin " << row.id;
    }
  }
  // The same with the tip just below and at the height where the newest coinbase becomes mature.
  // The workload cannot go on afterwards.
  void compare_around_maturity() {
    auto connection = engine_->database().acquire();
    ASSERT_TRUE(connection) << connection.error().message;
    const auto newest = connection->value<std::int64_t>(
        "SELECT coalesce(max(block_height), -1) FROM transactions WHERE is_coinbase");
    ASSERT_TRUE(newest) << newest.error().message;
    if (newest->value_or(-1) < 0) return;
    for (const std::int64_t depth : {99, 100}) {
      set_tip(**newest + depth);
      ASSERT_NO_FATAL_FAILURE(compare_all()) << "tip " << **newest + depth;
    }
  }
  void set_tip(std::int64_t height) {
    const auto done = engine_->database().run_transaction([&](sql::Transaction& sql) {
      return sql.execute("UPDATE sync_state SET tip_height = $1", {height});
    });
    ASSERT_TRUE(done) << done.error().message;
  }

  TempDir dir_;
  ManualClock clock_{kStart};
  std::unique_ptr<WalletEngine> engine_;
  std::set<CoinState> states_;  // that were met
  int mature_coinbases_ = 0;
};
COFFER_ON_BOTH_ENGINES(CoinStates);

TEST_P(CoinStates, SqlAndCppAgreeOnRandomWorkloads) {
  for (std::uint64_t seed = 1; seed <= 25; ++seed) {
    RandomWorkload workload(seed, clock_);
    engine_->empty();
    RandomWorkload::create_wallets(*engine_);
    workload.join(*engine_);
    for (int step = 0; step < 30; ++step) {
      ASSERT_NO_FATAL_FAILURE(workload.step()) << "seed " << seed;
      if (step % 3 != 2) continue;
      ASSERT_NO_FATAL_FAILURE(compare_all()) << "seed " << seed << ", " << workload.did();
    }
    ASSERT_NO_FATAL_FAILURE(compare_around_maturity()) << "seed " << seed;
  }
  EXPECT_EQ(states_.size(), coin_state_names().size()) << "a state was never met";
  EXPECT_GT(mature_coinbases_, 0);
}

TEST(CoinStateNames, ParseIsInverseOfToString) {
  for (const std::string_view name : coin_state_names())
    EXPECT_EQ(to_string(parse_state(name).value()), name);
  EXPECT_EQ(parse_state("leased").error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace coffer::wallet::test
