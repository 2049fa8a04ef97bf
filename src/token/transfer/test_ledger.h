// A community with wallets for tests of transfers and holds, on every engine.
#pragma once

#include <mutex>

#include <coffer/token/store.h>
#include "sql/test_engines.h"
#include "token/schema.h"
#include "token/store_impl.h"

namespace coffer::token::test {

inline constexpr std::int64_t kNow = 1'700'000'000'000;
inline const Actor kTester{"user:tester", "a test"};

class LedgerTest : public sql::test::EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    options_.clock = &clock_;
    options_.max_connections = 16;
    ASSERT_TRUE(prepare_community(db(), "village", sql::Schema::kMigrate));
    community_ = std::make_unique<Community>(db(), "village");
    set_clock(kNow);
    bank_ = make_wallet();
    ASSERT_TRUE(
        run("INSERT INTO @system_accounts (id, wallet_id, name, created_at, updated_at)"
            " VALUES ($1::uuid, $2::uuid, 'bank', 1, 1)",
            {id(random_uuid()), id(bank_)}));
    issue(1'000'000);
  }

  Store& store() {
    const std::lock_guard lock(opening_);
    if (!store_) {
      store_options_.community = "village";
      auto opened = Store::open(db(), store_options_);
      if (!opened) ADD_FAILURE() << opened.error().message;
      store_ = std::move(opened).value();
    }
    return *store_;
  }
  IdParam id(const Uuid& value) const { return community_->id(value); }

  // Every session reads the same clock.
  void set_clock(std::int64_t now_ms) {
    clock_.skew_ms(now_ms - clock_.unix_ms());
    if (is_sqlite()) {
      ASSERT_TRUE(run("UPDATE clock SET now_ms = $1", {now_ms}));
    }
  }

  // One statement of SQL, as a person would type it.
  Result<std::int64_t> run(const char* text, sql::Params params = {}) {
    auto done = db().run_transaction(
        [&](sql::Transaction& sql) { return sql.execute(community_->sql(text), params); },
        {.max_attempts = 1});
    if (!done) return std::unexpected(explain(std::move(done).error()));
    return done;
  }
  std::int64_t count(const char* text, sql::Params params = {}) {
    return number(community_->sql(text), params);
  }

  // A user's wallet, with that much from the bank.
  Uuid make_wallet(std::int64_t balance = 0) {
    const Uuid wallet = random_uuid();
    EXPECT_TRUE(run("INSERT INTO @wallets (id, created_at, updated_at) VALUES ($1::uuid, 1, 1)",
                    {id(wallet)}));
    if (balance > 0) pay(bank_, wallet, balance);
    return wallet;
  }
  Uuid make_user_wallet(std::int64_t balance = 0) {
    const Uuid wallet = make_wallet(balance);
    EXPECT_TRUE(
        run("INSERT INTO @users (id, wallet_id, username, created_at, updated_at)"
            " VALUES ($1::uuid, $2::uuid, 'member', 1, 1)",
            {id(random_uuid()), id(wallet)}));
    return wallet;
  }
  void issue(std::int64_t amount) { pay(bank_, bank_, amount); }
  // By SQL.
  Uuid pay(const Uuid& from, const Uuid& to, std::int64_t amount) {
    const Uuid transaction = random_uuid();
    const auto done = insert({.id = transaction, .from = from, .to = to, .amount = amount});
    EXPECT_TRUE(done) << done.error().message;
    return transaction;
  }
  Result<std::int64_t> insert(const Transfer& transfer) {
    return run(
        "INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type,"
        " created_at) VALUES ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6)",
        {id(transfer.id), id(transfer.from), id(transfer.to), transfer.amount, transfer.type,
         transfer.created_at_ms.value_or(kNow)});
  }
  std::int64_t balance(const Uuid& wallet) {
    return count("SELECT balance FROM @wallets WHERE id = $1::uuid", {id(wallet)});
  }
  std::int64_t transactions() { return count("SELECT count(*) FROM @transactions"); }
  void expect_consistent() {
    EXPECT_EQ(count("SELECT count(*) FROM @wallet_consistency"), 0);
    EXPECT_EQ(count("SELECT sum(balance)::bigint FROM @wallets"),
              count("SELECT total FROM @issuance"));
    EXPECT_EQ(count("SELECT count(*) FROM @transactions"),
              count("SELECT count(*) FROM @log_outbox WHERE kind = 1"));
  }

  // Another person's session that has locked a wallet until release() (PostgreSQL).
  struct Lock {
    sql::Connection connection;
    std::optional<sql::Transaction> transaction;
    void release() { transaction->rollback(); }
  };
  std::unique_ptr<Lock> lock(const Uuid& wallet) {
    auto connection = db().acquire(sql::Access::kWrite);
    EXPECT_TRUE(connection);
    auto held = std::make_unique<Lock>(Lock{std::move(*connection), std::nullopt});
    auto begun = held->connection.begin();
    EXPECT_TRUE(begun);
    held->transaction.emplace(std::move(*begun));
    const auto rows = held->transaction->query(
        community_->sql("SELECT id FROM @wallets WHERE id = $1::uuid FOR UPDATE"), {id(wallet)});
    EXPECT_TRUE(rows) << rows.error().message;
    return held;
  }

  std::mutex opening_;
  ManualClock clock_{kNow};
  StoreOptions store_options_;
  std::unique_ptr<Community> community_;
  std::unique_ptr<Store> store_;
  Uuid bank_{};
};

inline Transfer make_transfer(const Uuid& from, const Uuid& to, std::int64_t amount) {
  return {.id = random_uuid(), .from = from, .to = to, .amount = amount};
}
template <typename T>
std::string reason_of(const Result<T>& result) {
  return result ? "applied" : result.error().reason;
}

}  // namespace coffer::token::test
