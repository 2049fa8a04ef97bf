// A community with its first issuance, on every engine, with a clock that tests move.
#pragma once

#include <fmt/format.h>

#include "sql/test_engines.h"
#include "token/store_impl.h"

namespace coffer::token::village {

inline constexpr std::int64_t kNow = 1'700'000'000'000;
inline constexpr std::int64_t kDayMs = 86'400'000;

// Ids that tests can tell apart.
inline Uuid id_of(std::uint64_t number) {
  Uuid id{};
  id[6] = 0x40;
  id[8] = 0x80;
  store_be64(id.data() + 8, 0x8000000000000000 | number);
  return id;
}

// How an error is told in a test: its code and its reason.
template <typename T>
std::string outcome(const Result<T>& result) {
  if (result) return "ok";
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
  EXPECT_FALSE(result.error().message.empty());
  return std::string(info(result.error().code).name) +
         (result.error().reason.empty() ? "" : " " + result.error().reason);
}

class VillageTest : public sql::test::EngineTest {
 protected:
  static constexpr const char* kCommunity = "village";
  const Actor operator_{"user:operator", "a test"}, member_{"user:member"};

  // A database without a community.
  void open_database() {
    options_.clock = &clock_;
    EngineTest::SetUp();
  }
  void SetUp() override {
    open_database();
    if (IsSkipped() || HasFatalFailure()) return;
    store_ = open_store(db(), sql::Schema::kMigrate);
    ASSERT_NE(store_, nullptr);
    set_now(kNow);
    const auto seeded = store_->seed({.system_account = "treasury", .issuance = 10'000}, operator_);
    ASSERT_TRUE(seeded) << seeded.error().message;
    pool_ = seeded->account.wallet;
  }

  static std::unique_ptr<Store> open_store(sql::Database& database, sql::Schema schema) {
    auto opened = Store::open(database, {.community = kCommunity, .schema = schema});
    if (!opened) ADD_FAILURE() << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }
  Store& store() { return *store_; }

  // The database's time; SQLite's triggers read it in a table.
  void set_now(std::int64_t ms) {
    clock_.skew_ms(ms - clock_.unix_ms());
    if (is_sqlite()) {
      ASSERT_TRUE(execute("UPDATE clock SET now_ms = $1", {ms}));
    }
  }
  void advance(std::int64_t ms) { set_now(clock_.unix_ms() + ms); }
  std::int64_t now() const { return clock_.unix_ms(); }

  // "@name" is a name of the community.
  std::string raw(std::string text) const {
    const std::string schema = is_sqlite() ? "" : std::string(kCommunity) + ".";
    for (auto at = text.find('@'); at != std::string::npos; at = text.find('@', at + schema.size()))
      text.replace(at, 1, schema);
    return text;
  }
  std::int64_t count(const std::string& text) {
    return number(raw("SELECT count(*) FROM " + text));
  }
  std::int64_t audits(const std::string& action) {
    return count("@audit WHERE action = '" + action + "'");
  }
  std::string id_text(const Uuid& id) const { return "'" + to_string(id) + "'"; }

  User make_user(const std::string& name) {
    const auto made = store().create_user(id_of(++last_id_), name, operator_);
    EXPECT_TRUE(made) << made.error().message;
    return made.value_or(User{});
  }
  Uuid new_id() { return id_of(++last_id_); }

  // As a person with SQL does it, so that reads are tested apart from the engine of transfers.
  Uuid move(const Uuid& from, const Uuid& to, std::int64_t amount, std::int64_t created_at_ms = 0,
            int type = 1) {
    const Uuid id = new_id();
    const auto moved =
        execute(raw("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
                    " transaction_type, created_at) VALUES (" +
                    id_text(id) + ", " + id_text(from) + ", " + id_text(to) + ", $1, $2, $3)"),
                {amount, type, created_at_ms == 0 ? now() : created_at_ms});
    EXPECT_TRUE(moved) << moved.error().message;
    return id;
  }

  // `many` transfers of 1 in one statement, created one after another in a millisecond each.
  void move_many(const Uuid& from, const Uuid& to, std::int64_t many, std::int64_t first_ms) {
    const std::string columns =
        "@transactions (id, from_wallet_id, to_wallet_id, amount,"
        " transaction_type, created_at) ";
    const std::string text =
        is_sqlite()
            ? "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)"
              " INSERT INTO " +
                  columns +
                  "SELECT (SELECT id FROM random_uuid WHERE i > 0), $2, $3, 1, 1, $4 + i"
                  " FROM n"
            : "INSERT INTO " + columns +
                  "SELECT gen_random_uuid(), $2::uuid, $3::uuid, 1, 1, $4::bigint + i"
                  " FROM generate_series(1, $1::bigint) i";
    const Community& community = store_->ledger();
    const auto moved = execute(raw(text), {many, community.id(from), community.id(to), first_ms});
    ASSERT_TRUE(moved) << moved.error().message;
    ASSERT_EQ(*moved, many);
  }

  ManualClock clock_{kNow};
  std::unique_ptr<Store> store_;
  Uuid pool_{};  // the wallet with all tokens
  std::uint64_t last_id_ = 1'000;
};

}  // namespace coffer::token::village
