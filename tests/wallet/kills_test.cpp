// What the wallet does in steps, done by a process that is killed at any statement again and again,
// and by two processes at once: in the end it is as if one had done it in peace.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/random.h"
#include "base/result.h"
#include "sql/test_engines.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/import/history_import.h"
#include "wallet/support/dump.h"
#include "wallet/support/tx_builder.h"

namespace coffer::wallet::test {
namespace {

constexpr std::uint32_t kPayments = 60;
constexpr std::uint32_t kIndexes = 150;
constexpr std::uint32_t kLines = 60;            // of payments in the history of another program
constexpr std::uint64_t kMostStatements = 300;  // that a process lives to see

class WalletKills : public testing::TestWithParam<sql::test::Engine> {
 protected:
  using OnStatement = std::function<void(std::string_view)>;

  void SetUp() override {
    if (GetParam() == sql::test::Engine::kPostgres) COFFER_REQUIRE_POSTGRES_OR_SKIP();
  }

  // A database with a wallet: every payment is spent, far below the tip.
  void make_database() {
    write_history();
    auto* server = sql::test::PostgresServer::shared();
    static int number = 0;
    location_ = GetParam() == sql::test::Engine::kSqlite
                    ? fmt::format("sqlite:{}/{}.db", dir_.path().string(), ++number)
                    : server->location(server->fresh_database());
    const auto engine = open();
    wallet_ = engine->store().create({"shop"}).value().id;
    ASSERT_TRUE(engine->store().import_script(wallet_, script(1), {}));
    Hash256 prev{};
    for (std::uint32_t height = 0; height < kPayments + 10; ++height) {
      std::vector<MadeTx> txs;
      if (height < kPayments) {
        txs.push_back(make_tx({foreign(height)}, {{script(1), 1'000}}));
        txs.push_back(make_tx({{txs[0].id, 0}}, {{script(9), 900}}));
      }
      const auto block = make_block(engine->network(), prev, height, txs, height);
      prev = block->hash;
      ASSERT_TRUE(engine->consumer().on_block({Ordinal(height), block, false, 1}));
    }
    ASSERT_TRUE(engine->consumer().flush());
  }
  std::unique_ptr<WalletEngine> open(OnStatement on_statement = {}) const {
    sql::DatabaseOptions options;
    options.location = location_;
    options.on_statement = std::move(on_statement);
    StoreOptions store_options;
    store_options.prune_window = 3;
    store_options.step = 7;
    return std::make_unique<WalletEngine>("kills", options, store_options);
  }
  // All that takes steps.
  Result<> work(Store& store, WalletId wallet) const {
    ImportOptions import;
    import.watch_to = kIndexes;
    (void)TRY(store.import_descriptor(wallet, "wpkh(" + kTestnetKey + "/0/*)", import));
    (void)TRY(store.prune(wallet, {}));
    (void)TRY(import_history(store, wallet, history_file()));
    return {};
  }
  std::filesystem::path history_file() const { return dir_.path() / "history.jsonl"; }
  // A label ends a commit, and so do many transactions; every payment but the last is spent by the
  // line after it, and every tenth by a rival before that.
  void write_history() const {
    std::ofstream out(history_file());
    out << R"({"coffer_history":1,"chain":"bitcoin","network":"regtest"})" << "\n"
        << R"({"script":")" << to_hex(script(2)) << "\"}\n";
    const auto line = [&](const MadeTx& made, const std::string& more = "") {
      out << R"({"tx":")" << to_hex(made.raw) << "\"" << more << "}\n";
    };
    for (std::uint32_t i = 0; i < kLines; ++i) {
      const MadeTx paid = make_tx({foreign(10'000 + i)}, {{script(2), 500}}, i);
      line(paid);
      if (i % 10 == 0)
        line(make_tx({{paid.id, 0}}, {{script(2), 300}}, i), R"(,"status":"pending")");
      if (i + 1 < kLines) line(make_tx({{paid.id, 0}}, {{script(9), 400}}, i));
      if (i % 7 == 0)
        out << R"({"label":"payment )" << i << R"(","kind":"tx","ref":")"
            << chain::display(chain::Family::kBitcoin, paid.id) << "\"}\n";
    }
  }
  // In a process of its own, which sees its statements.
  pid_t start(OnStatement on_statement) const {
    const pid_t child = ::fork();
    if (child != 0) return child;
    const auto engine = open(std::move(on_statement));
    const auto done = work(engine->store(), wallet_);
    if (!done) fmt::print(stderr, "{}\n", done.error().message);
    ::_exit(done ? 0 : 1);
  }
  // The tables, once they are sound.
  std::string state() const {
    const auto engine = open();
    const auto verified = engine->store().verify();
    EXPECT_TRUE(verified) << verified.error().message;
    const StoreStats stats = engine->store().stats().value();
    const DescriptorInfo info = engine->store().descriptors(wallet_)->empty()
                                    ? DescriptorInfo{}
                                    : engine->store().descriptors(wallet_)->front();
    auto connection = engine->database().acquire();
    const auto sums = connection->one<std::int64_t, std::int64_t, std::int64_t, std::int64_t>(
        "SELECT transactions, coins, received, spent FROM pruned_summary");
    EXPECT_TRUE(sums) << sums.error().message;
    const auto pruned = sums->value_or(std::tuple(0, 0, 0, 0));
    const auto labels = connection->value<std::int64_t>("SELECT count(*) FROM labels");
    EXPECT_TRUE(labels) << labels.error().message;
    return dump_tables(engine->database()) +
           fmt::format("{} labels, {} addresses, derived to {}, next {}; pruned {} {} {} {}",
                       labels->value_or(0), stats.addresses, info.derived_to, info.next_index,
                       std::get<0>(pruned), std::get<1>(pruned), std::get<2>(pruned),
                       std::get<3>(pruned));
  }
  static int end_of(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return status;
  }
  std::string done_in_peace() {
    make_database();
    EXPECT_EQ(end_of(start({})), 0);
    const auto engine = open();
    EXPECT_EQ(engine->store().stats()->pruned, 2 * kPayments);
    EXPECT_EQ(engine->store().stats()->addresses, 2 + kIndexes);
    EXPECT_EQ(engine->store().balance(wallet_)->unconfirmed, 500u);
    EXPECT_EQ(engine->store()
                  .transaction(wallet_, make_tx({foreign(10'000)}, {{script(2), 500}}).id)
                  ->entry.label,
              "payment 0");
    return state();
  }

 private:
  const TempDir dir_;
  std::string location_;
  WalletId wallet_;
};
INSTANTIATE_TEST_SUITE_P(On, WalletKills,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

TEST_P(WalletKills, ImportResumesAfterEveryKill) {
  const std::string expected = done_in_peace();
  make_database();
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  int killed = 0;
  for (bool done = false; !done && !HasFailure();) {
    // Opening takes statements of its own.
    const std::uint64_t last = rng.between(1, kMostStatements);
    std::uint64_t statements = 0;
    const int end = end_of(start([&](std::string_view) {
      if (++statements == last) ::kill(::getpid(), SIGKILL);
    }));
    done = end == 0;
    if (!done) ++killed;
    ASSERT_TRUE(done || (WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL)) << "ended by " << end;
    (void)state();
    ASSERT_LT(killed, 500);
  }
  EXPECT_GE(killed, 5);
  EXPECT_EQ(state(), expected);
}

TEST_P(WalletKills, ConcurrentImportsApplyOnce) {
  const std::string expected = done_in_peace();
  for (int round = 0; round < 5; ++round) {
    make_database();
    const pid_t one = start({}), other = start({});
    EXPECT_EQ(end_of(one), 0);
    EXPECT_EQ(end_of(other), 0);
    EXPECT_EQ(state(), expected);
  }
}

}  // namespace
}  // namespace coffer::wallet::test
