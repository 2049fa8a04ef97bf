// T3: the application's role may do what serve does and nothing more. T8: the library on a
// community in monthly partitions. PostgreSQL only.
#include <regex>

#include "token/account/export.h"
#include "token/account/test_village.h"
#include "token/log/log.h"
#include "token/log/pass.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kDayMs;
using village::kNow;
using village::outcome;

const std::string kStoreRole = "token_store_app";

class TokenRole : public village::VillageTest {
 protected:
  void SetUp() override {
    VillageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (GetParam() == sql::test::Engine::kPostgres) {
      ASSERT_NO_FATAL_FAILURE(become_application());
    }
    alice_ = make_user("alice");
    bob_ = make_user("bob");
  }

  // Makes the role, gives it what serve needs, and opens database and store again as it. The
  // owner's connection stays for what only the owner may do.
  void become_application() {
    script("DO $$ BEGIN CREATE ROLE " + kStoreRole +
           " LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
    script("SELECT village.token_grant_application('" + kStoreRole + "')");
    sql::DatabaseOptions options = options_;
    options.location =
        std::regex_replace(options.location, std::regex("user=\\S+"), "user=" + kStoreRole);
    auto opened = sql::Database::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    application_ = *std::move(opened);
    store_ = open_store(*application_, sql::Schema::kMustBeCurrent);
    ASSERT_NE(store_, nullptr);
  }
  void TearDown() override { store_.reset(); }

  Transfer make_transfer(const Uuid& from, const Uuid& to, std::int64_t amount) {
    return {.id = new_id(), .from = from, .to = to, .amount = amount};
  }
  // Everything that serve asks of the store.
  void use_transfers();
  void use_accounts();
  void use_reads();
  void use_access();
  void use_log();

  std::unique_ptr<sql::Database> application_;
  User alice_, bob_;
};
INSTANTIATE_TEST_SUITE_P(Server, TokenRole, testing::Values(sql::test::Engine::kPostgres),
                         sql::test::engine_name);

#define EXPECT_OK(expression)                                             \
  do {                                                                    \
    const auto answer = (expression);                                     \
    EXPECT_TRUE(answer) << #expression << ": " << answer.error().message; \
  } while (false)

void TokenRole::use_transfers() {
  Transfer issue = make_transfer(pool_, pool_, 1'000);
  issue.memo = "more";
  issue.metadata = R"({"why":"festival"})";
  EXPECT_OK(store().transfer(issue, member_));
  EXPECT_OK(store().transfer(issue, member_));
  const Transfer gift = make_transfer(pool_, alice_.wallet, 2'000);
  EXPECT_OK(store().transfer(gift, member_));
  const std::vector<Transfer> round = {make_transfer(alice_.wallet, bob_.wallet, 300),
                                       make_transfer(bob_.wallet, alice_.wallet, 100),
                                       make_transfer(bob_.wallet, alice_.wallet, 5'000)};
  const auto each = store().batch(round, BatchMode::kEach, member_);
  ASSERT_TRUE(each) << each.error().message;
  EXPECT_EQ(outcome(each->at(1)), "ok");
  EXPECT_EQ(outcome(each->at(2)), "conflict insufficient_balance");
  EXPECT_EQ(outcome(store().batch(round, BatchMode::kAll, member_)).substr(0, 8), "conflict");
  const std::vector<Transfer> good = {make_transfer(alice_.wallet, bob_.wallet, 1),
                                      make_transfer(bob_.wallet, alice_.wallet, 1)};
  EXPECT_OK(store().batch(good, BatchMode::kAll, member_));
  EXPECT_OK(store().reverse(round[1].id, new_id(), operator_));
  EXPECT_OK(store().erase_details(issue.id, operator_));
  const NewHold hold{.id = new_id(),
                     .wallet = alice_.wallet,
                     .to = bob_.wallet,
                     .amount = 50,
                     .duration_ms = 1'000};
  NewHold second = hold, third = hold;
  second.id = new_id();
  third.id = new_id();
  for (const NewHold& one : {hold, second, third}) EXPECT_OK(store().open_hold(one, member_));
  EXPECT_OK(store().capture_hold(hold.id, new_id(), 20, member_));
  EXPECT_OK(store().release_hold(second.id, member_));
  advance(1'000);
  EXPECT_OK(store().expire_holds());
  EXPECT_EQ((*store().find_hold(third.id))->state, HoldState::kExpired);
  EXPECT_OK(store().holds({.wallet = alice_.wallet}));
}

void TokenRole::use_accounts() {
  EXPECT_OK(store().create_system_account(new_id(), "rewards", operator_));
  EXPECT_OK(store().rename_user(bob_.id, "robert", operator_));
  EXPECT_OK(store().delete_user(bob_.id, operator_));
  EXPECT_OK(store().reactivate_user(bob_.id, operator_));
  EXPECT_OK(store().freeze(bob_.wallet, operator_));
  EXPECT_OK(store().unfreeze(bob_.wallet, operator_));
  EXPECT_OK(store().set_limits(bob_.wallet, {10, 20}, operator_));
  EXPECT_OK(store().set_limits(bob_.wallet, {}, operator_));
  const ExternalIdentity identity{"https://id.example", "bob"};
  EXPECT_OK(store().link_identity(bob_.id, identity, operator_));
  EXPECT_OK(store().find_user_by_identity(identity));
  EXPECT_OK(store().identities(bob_.id));
  EXPECT_OK(store().unlink_identity(identity, operator_));
  const Uuid account = store().system_accounts()->back().id;
  const std::vector<ImportRow> rows = {{"carol", 10, identity}, {"dave", 0}};
  const auto imported = store().import_members(rows, account, false, operator_);
  ASSERT_TRUE(imported) << imported.error().message;
  EXPECT_TRUE(imported->problems.empty());
}

void TokenRole::use_reads() {
  EXPECT_OK(store().find_wallet(alice_.wallet));
  EXPECT_OK(store().balance_at(alice_.wallet, kNow));
  EXPECT_OK(store().history({.wallet = alice_.wallet}));
  EXPECT_OK(store().history({}));
  EXPECT_OK(store().statement({.wallet = alice_.wallet, .from_ms = 0, .to_ms = now() + 1}));
  EXPECT_OK(store().users({}));
  EXPECT_OK(store().wallets({}));
  EXPECT_OK(store().supply());
  EXPECT_OK(store().refresh_statistics());
  EXPECT_OK(store().statistics());
  EXPECT_OK(store().audit({}));
  const auto report = store().check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_consistent);
  EXPECT_OK(store().rebuild_balances(true, operator_));
  EXPECT_OK(export_all(store().ledger(), ExportFormat::kJsonLines,
                       [](std::string_view, std::string_view) { return Result<>(); }));
}

void TokenRole::use_access() {
  const ExternalIdentity identity{"https://id.example", "op"};
  EXPECT_OK(store().grant_role(identity, Role::kOperator, operator_));
  EXPECT_OK(store().roles_of(identity));
  EXPECT_OK(store().role_grants({}));
  EXPECT_OK(store().revoke_role(identity, Role::kOperator, operator_));
  const auto made =
      store().make_api_key({.name = "shop", .scopes = {"read"}, .duration_ms = 10'000}, operator_);
  ASSERT_TRUE(made) << made.error().message;
  const auto used = store().use_api_key(made->secret);
  ASSERT_TRUE(used && *used);
  EXPECT_EQ((*used)->last_used_at_ms, now());
  EXPECT_EQ(store().api_keys({})->items.front().last_used_at_ms, now());
  EXPECT_OK(store().revoke_api_key(made->key.id, operator_));
}

void TokenRole::use_log() {
  const auto pass = run_pass(store().ledger(), nullptr);
  ASSERT_TRUE(pass) << pass.error().message;
  EXPECT_GT(pass->entries, 10u);
  const auto status = Log(store().ledger()).status();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->size, pass->size);
  EXPECT_EQ(status->unlogged, 0u);
}

TEST_P(TokenRole, DoesAllThatServeDoes) {
  use_transfers();
  use_accounts();
  use_reads();
  use_access();
  use_log();
  const auto logged = store().history({.page = {.count = 1}});
  ASSERT_TRUE(logged);
  EXPECT_TRUE(logged->items.front().log_position.has_value());
}

TEST_P(TokenRole, CannotWriteWhatOnlyTheOwnerMay) {
  const auto as_role = [&](const std::string& text) {
    return outcome(application_->run_transaction(
        [&](sql::Transaction& sql) { return sql.execute(raw(text)); }));
  };
  for (const char* text :
       {"UPDATE @wallets SET balance = 5", "UPDATE @wallets SET is_frozen = false",
        "UPDATE @transactions SET amount = 1", "DELETE FROM @transactions",
        "TRUNCATE @transactions", "DELETE FROM @users", "UPDATE @issuance SET total = 1",
        "DELETE FROM @audit", "UPDATE @api_keys SET secret_hash = secret_hash"})
    EXPECT_EQ(as_role(text), "forbidden") << text;
  EXPECT_EQ(outcome(store().rebuild_balances(false, operator_)), "forbidden");
  // A table that shadows the real one is not looked at: money that is not there is not sent.
  const auto shadowed = application_->run_transaction([&](sql::Transaction& sql) -> Result<> {
    TRY(sql.script(
        "CREATE TEMPORARY TABLE wallets AS SELECT * FROM village.wallets;"
        "UPDATE wallets SET balance = 1000000; SET LOCAL search_path = pg_temp, village"));
    (void)TRY(sql.execute(raw("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
                              " transaction_type, created_at) VALUES (" +
                              id_text(new_id()) + ", " + id_text(alice_.wallet) + ", " +
                              id_text(bob_.wallet) + ", 10, 1, $1)"),
                          {now()}));
    return {};
  });
  EXPECT_EQ(outcome(shadowed), "conflict TK009");
}

// T8: a community in monthly partitions, through the library.
class TokenPartitions : public TokenRole {
 protected:
  void SetUp() override {
    open_database();
    if (IsSkipped()) return;
    clock_.skew_ms(kNow - clock_.unix_ms());
    ASSERT_TRUE(Store::open(db(), {.community = "village", .schema = sql::Schema::kMigrate}));
    std::string text = sql::test::read_text("src/token/migrations/partitioned.sql");
    ASSERT_FALSE(text.empty());
    text = std::regex_replace(text, std::regex("@schema@"), "village");
    script("SET LOCAL search_path = village, pg_temp; " + text);
    {
      const auto owner = open_store(db(), sql::Schema::kMustBeCurrent);
      const auto seeded = owner->seed({.system_account = "treasury"}, operator_);
      ASSERT_TRUE(seeded) << seeded.error().message;
      pool_ = seeded->account.wallet;
    }
    ASSERT_NO_FATAL_FAILURE(become_application());
    alice_ = make_user("alice");
    bob_ = make_user("bob");
  }
};
INSTANTIATE_TEST_SUITE_P(Server, TokenPartitions, testing::Values(sql::test::Engine::kPostgres),
                         sql::test::engine_name);

TEST_P(TokenPartitions, ServeTheLibrary) {
  EXPECT_GT(number("SELECT count(*) FROM pg_inherits WHERE inhparent ="
                   " 'village.transactions'::regclass"),
            3);
  use_transfers();
  use_accounts();
  use_reads();
  use_access();
  use_log();
}

// One id in two months is one transfer.
TEST_P(TokenPartitions, IdIsUsedOnceInAllMonths) {
  Transfer transfer = make_transfer(pool_, alice_.wallet, 100);
  transfer.created_at_ms = now();
  ASSERT_TRUE(store().transfer(transfer, member_));
  for (const std::int64_t skew : {-40 * kDayMs, kDayMs}) {
    Transfer other = transfer;
    other.created_at_ms = now() + skew;
    EXPECT_EQ(outcome(store().transfer(other, member_)), "conflict id_taken");
    EXPECT_EQ(outcome(store().batch(std::vector{other}, BatchMode::kAll, member_)),
              "conflict id_taken");
  }
  const auto again = store().transfer(transfer, member_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_repeat);
  EXPECT_EQ((*store().find_wallet(alice_.wallet))->balance, 100);
  // The history goes over months in one order.
  for (const std::int64_t skew : {-70 * kDayMs, -35 * kDayMs, std::int64_t{0}}) {
    Transfer old = make_transfer(alice_.wallet, bob_.wallet, 1);
    old.created_at_ms = now() + skew;
    EXPECT_OK(store().transfer(old, member_));
  }
  const auto page = store().history({.wallet = alice_.wallet});
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->items.size(), 4u);
  EXPECT_TRUE(std::ranges::is_sorted(page->items, std::greater(), &Transaction::created_at_ms));
}

#undef EXPECT_OK

}  // namespace
}  // namespace coffer::token
