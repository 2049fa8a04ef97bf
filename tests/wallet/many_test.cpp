// Many wallets in one database: a block is matched against all of them in one pass, and costs what
// the wallets cost that it concerns, not what the others would.
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class ManyWallets : public WalletTest {
 protected:
  struct Cost {
    std::size_t statements = 0;
    std::int64_t steps = 0;  // of SQLite's machine
  };
  // So many wallets, each with an address, whose statements are counted.
  void make_wallets(std::uint32_t count) {
    counted_.reset();
    dir_.emplace();
    sql::DatabaseOptions options;
    auto* server = is_sqlite() ? nullptr : sql::test::PostgresServer::shared();
    options.location = is_sqlite() ? "sqlite:" + (dir_->path() / "w.db").string()
                                   : server->location(server->fresh_database());
    options.clock = &clock();
    options.max_connections = 1;
    options.on_statement = [this](std::string_view) { ++statements_; };
    counted_ = std::make_unique<WalletEngine>("many", options, StoreOptions{});
    engine_ = counted_.get();
    chain_.clear();
    nonce_ = 0;
    wallets_.clear();
    for (std::uint32_t i = 0; i < count; ++i)
      wallets_.push_back(make_wallet(fmt::format("wallet-{}", i), {1'000 + i}));
    mine();  // takes note of all scripts
  }
  void TearDown() override {
    WalletTest::TearDown();
    engine_ = nullptr;
    counted_.reset();
  }
  std::int64_t steps() {
    const auto writer = engine_->database().acquire(sql::Access::kWrite);
    ok(writer);
    return writer->vm_steps();
  }
  template <typename Call>
  Cost cost(Call call) {
    const std::int64_t before = steps();
    statements_ = 0;
    call();
    const std::size_t statements = statements_;
    return {statements, steps() - before};
  }

  // A payment to each of these wallets.
  std::vector<MadeTx> payments(std::initializer_list<std::uint32_t> wallets) {
    std::vector<MadeTx> made;
    for (const std::uint32_t number : wallets) made.push_back(incoming(100, 1'000 + number));
    return made;
  }

  std::optional<TempDir> dir_;
  std::size_t statements_ = 0;
  std::unique_ptr<WalletEngine> counted_;
  std::vector<WalletId> wallets_;
};
COFFER_ON_BOTH_ENGINES(ManyWallets);

TEST_P(ManyWallets, BlockCostIsIndependentOfWalletCount) {
  Cost nobody[2], three[2], mempool[2], reorg[2];
  for (const std::size_t many : {0u, 1u}) {
    make_wallets(many == 0 ? 3 : 500);
    const std::uint32_t last = static_cast<std::uint32_t>(wallets_.size()) - 1;
    mine(payments({0, 1, last}));  // prepares
    nobody[many] = cost([&] { mine({incoming(100, 99), incoming(100, 98)}); });
    const std::vector<MadeTx> paid = payments({0, 1, last});
    three[many] = cost([&] { mine(paid); });
    const MadeTx seen = tx({foreign(7)}, {{1'000, 5}, {1'001, 5}, {1'000 + last, 5}});
    mempool[many] = cost([&] { see(seen); });
    reorg[many] = cost([&] { roll_back(1); });
    for (const std::uint32_t number : {0u, 1u, last}) {
      const Balance now = balance(wallets_[number]);
      EXPECT_EQ(now.confirmed, 100u);
      EXPECT_EQ(now.unconfirmed, 105u);
      EXPECT_EQ(status(paid[2], wallets_[number]), number == last ? "published" : "absent");
    }
    for (std::uint32_t number = 2; number < last; ++number)
      EXPECT_EQ(balance(wallets_[number]).coins, 0u);
  }
  const auto expect_same = [&](const char* what, const Cost& few, const Cost& many) {
    EXPECT_GT(few.statements, 0u) << what;
    EXPECT_EQ(many.statements, few.statements) << what;
    EXPECT_LE(many.steps, few.steps + few.steps / 10) << what << " cost " << few.steps;
  };
  expect_same("a block of strangers", nobody[0], nobody[1]);
  expect_same("a block that pays three", three[0], three[1]);
  expect_same("a payment in the mempool", mempool[0], mempool[1]);
  expect_same("a reorg", reorg[0], reorg[1]);
  EXPECT_LT(nobody[0].statements, 8u);
  EXPECT_LT(nobody[0].statements, three[0].statements);
}

}  // namespace
}  // namespace coffer::wallet::test
