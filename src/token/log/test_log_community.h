// A community on every engine whose log tests watch: written by SQL, as by any other program.
#pragma once

#include "base/check.h"
#include "sql/test_engines.h"
#include "token/log/log.h"
#include "token/log/pass.h"
#include "token/schema.h"

namespace coffer::token::test {

// The root of a log by the shortest code that follows docs/formats/mmr.md.
inline Hash256 log_naive_hash(unsigned tag, std::uint64_t number, ByteView a, ByteView b = {}) {
  Bytes input{static_cast<std::uint8_t>(tag)};
  append_be64(input, number);
  append(input, a);
  append(input, b);
  const mmr::Digest hash = hash_bytes(input.data(), input.size());
  return Hash256::from(hash.data());
}
inline Hash256 log_naive_tree(std::span<const std::string> entries, std::uint64_t& nodes) {
  if (entries.size() == 1) {
    const mmr::Digest data = hash_bytes(as_bytes(entries[0]).data(), entries[0].size());
    return log_naive_hash(0x20, nodes++, data);
  }
  const Hash256 left = log_naive_tree(entries.first(entries.size() / 2), nodes);
  const Hash256 right = log_naive_tree(entries.subspan(entries.size() / 2), nodes);
  return log_naive_hash(0x21, nodes++, left.view(), right.view());
}
inline Hash256 log_naive_root(std::span<const std::string> entries) {
  std::vector<Hash256> peaks;
  std::uint64_t nodes = 0;
  for (std::size_t from = 0; from < entries.size();) {
    const std::size_t width = std::bit_floor(entries.size() - from);
    peaks.push_back(log_naive_tree(entries.subspan(from, width), nodes));
    from += width;
  }
  if (peaks.empty()) return {};
  Hash256 root = peaks.back();
  for (std::size_t i = peaks.size() - 1; i-- > 0;)
    root = log_naive_hash(0x22, nodes, peaks[i].view(), root.view());
  return root;
}

class LogTest : public sql::test::EngineTest {
 protected:
  static constexpr const char* kName = "village";
  static constexpr std::int64_t kNow = 1'700'000'000'000;

  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    options_.clock = &clock_;
    ASSERT_TRUE(prepare_community(db(), kName, sql::Schema::kMigrate));
    community_ = std::make_unique<Community>(db(), kName);
    set_now(kNow);
    bank_ = new_wallet();
    run("INSERT INTO @system_accounts (id, wallet_id, name, created_at, updated_at)"
        " VALUES ($1::uuid, $2::uuid, 'bank', 1, 1)",
        {community().id(random_uuid()), community().id(bank_)});
    pay(bank_, bank_, 1'000'000);
    alice_ = new_wallet();
    bob_ = new_wallet();
  }

  const Community& community() const { return *community_; }
  Log log() const { return Log(community()); }

  void set_now(std::int64_t ms) {
    clock_.skew_ms(ms - clock_.unix_ms());
    if (is_sqlite()) run("UPDATE clock SET now_ms = $1", {ms});
  }
  void advance(std::int64_t ms) { set_now(clock_.unix_ms() + ms); }

  void run(const char* text, sql::Params params = {}) {
    const auto done = db().run_transaction(
        [&](sql::Transaction& sql) { return sql.execute(community().sql(text), params); });
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t count(const char* text, sql::Params params = {}) {
    return number(community().sql(text), params);
  }

  Uuid new_wallet() {
    const Uuid wallet = random_uuid();
    run("INSERT INTO @wallets (id, created_at, updated_at) VALUES ($1::uuid, 1, 1)",
        {community().id(wallet)});
    return wallet;
  }
  static Result<> insert_payment(sql::Transaction& sql, const Community& community, const Uuid& id,
                                 const Uuid& from, const Uuid& to, std::int64_t amount) {
    (void)TRY(sql.execute(
        community.sql("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
                      " transaction_type, created_at)"
                      " VALUES ($1::uuid, $2::uuid, $3::uuid, $4, 1, 1700000000000)"),
        {community.id(id), community.id(from), community.id(to), amount}));
    return {};
  }
  Uuid pay(const Uuid& from, const Uuid& to, std::int64_t amount) {
    const Uuid id = random_uuid();
    const auto done = db().run_transaction([&](sql::Transaction& sql) {
      return insert_payment(sql, community(), id, from, to, amount);
    });
    EXPECT_TRUE(done) << done.error().message;
    return id;
  }
  // With a memo, in one transaction.
  Uuid pay_with_memo(const std::string& memo) {
    const Uuid id = random_uuid();
    const SealedDetail sealed = seal_detail(memo);
    const auto done = db().run_transaction([&](sql::Transaction& sql) -> Result<> {
      TRY(insert_payment(sql, community(), id, bank_, alice_, 5));
      (void)TRY(sql.execute(
          community().sql("INSERT INTO @transaction_details (transaction_id, memo, memo_salt,"
                          " memo_hash, actor) VALUES ($1::uuid, $2, $3, $4, 'user:alice')"),
          {community().id(id), memo, sealed.salt, sealed.hash}));
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    return id;
  }
  void freeze(const Uuid& wallet, bool frozen) {
    run(is_sqlite() ? "UPDATE @wallets SET is_frozen = $2 WHERE id = $1::uuid"
                    : "UPDATE @wallets SET is_frozen = $2::boolean WHERE id = $1::uuid",
        {community().id(wallet), frozen});
  }

  Pass pass(const PassOptions& options = {}) {
    const auto done = run_pass(community(), &key_, options);
    EXPECT_TRUE(done) << done.error().message;
    return done.value_or(Pass{});
  }
  // The key that signs is the community's.
  void publish_key() {
    run("INSERT INTO @settings (key, value) VALUES ('log_public_key', $1)",
        {key_.public_key().hex()});
  }

  // Everything in the log, after the invariants of its tables: no gap, nothing twice, and roots and
  // checkpoints as from scratch.
  std::vector<std::string> checked_entries() {
    std::vector<std::string> texts;
    for (;;) {
      const auto page = log().entries(texts.size(), 1'000);
      EXPECT_TRUE(page) << page.error().message;
      if (!page || page->empty()) break;
      for (const PlacedEntry& each : *page) {
        EXPECT_EQ(each.position, texts.size());
        texts.push_back(to_text(each.entry));
      }
    }
    const auto status = log().status();
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->size, texts.size());
    EXPECT_EQ(status->root, log_naive_root(texts));
    const auto checkpoints = log().checkpoints({.count = 1'000});
    EXPECT_TRUE(checkpoints);
    for (const Checkpoint& each : checkpoints->items) {
      EXPECT_EQ(each.root, log_naive_root(std::span(texts).first(each.size))) << each.size;
      EXPECT_TRUE(is_signed_by(key_.public_key(), kName, each));
    }
    EXPECT_EQ(count("SELECT count(DISTINCT id) FROM @log_leaves"),
              static_cast<std::int64_t>(texts.size()));
    return texts;
  }

  template <typename T>
  static std::string reason_of(const Result<T>& result) {
    return result ? "no error" : result.error().reason;
  }

  ManualClock clock_{kNow};
  crypto::Ed25519Key key_ = crypto::Ed25519Key::generate();
  std::unique_ptr<Community> community_;
  Uuid bank_{}, alice_{}, bob_{};
};

}  // namespace coffer::token::test
