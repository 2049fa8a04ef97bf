// A wallet, a chain and a mempool that a test moves by hand, on either engine, so that a test reads
// like a story. Every story ends with a verification of the whole database.
#pragma once

#include <future>

#include "base/result.h"
#include "sql/test_engines.h"
#include "wallet/support/engines.h"
#include "wallet/support/tx_builder.h"

namespace coffer::wallet::test {

inline LockId lock_id(std::uint8_t number) {
  LockId id{};
  id.fill(number);
  return id;
}

// Coin 0 of a transaction, or another.
inline chain::Outpoint coin(const MadeTx& tx, std::uint32_t index = 0) {
  return {tx.id, index};
}

// A payment to the script of this number.
struct To {
  std::uint32_t script = 1;
  std::uint64_t amount = 100;
};

class WalletTest : public testing::TestWithParam<sql::test::Engine> {
 protected:
  static constexpr std::int64_t kStart = 1'700'000'000'000;

  void SetUp() override {
    clock().skew_ms(kStart - clock().unix_ms());
    if (is_sqlite()) {
      static const TempDir dir;
      static const auto engine = WalletEngine::sqlite(dir.path(), &clock(), store_options());
      engine_ = engine.get();
    } else {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
      static const auto engine = WalletEngine::postgres(&clock(), store_options());
      engine_ = engine.get();
    }
    engine_->empty();
    alice_ = make_wallet("alice", {1, 2});
  }
  void TearDown() override {
    if (engine_ == nullptr || is_damaged_) return;
    const auto verified = store().verify();
    EXPECT_TRUE(verified) << verified.error().message;
  }

  bool is_sqlite() const { return GetParam() == sql::test::Engine::kSqlite; }
  // The test breaks the database on purpose: nothing is verified at its end.
  void is_damaged() { is_damaged_ = true; }
  static StoreOptions store_options() { return {}; }
  static ManualClock& clock() {
    static ManualClock clock(kStart);
    return clock;
  }
  Store& store() { return engine_->store(); }
  Consumer& consumer() { return engine_->consumer(); }
  const chain::Network& network() const { return engine_->network(); }

  // ---- wallets: alice has script(1) and script(2) ----

  WalletId make_wallet(const std::string& name, std::initializer_list<std::uint32_t> scripts) {
    const auto made = store().create({name});
    EXPECT_TRUE(made) << made.error().message;
    for (const std::uint32_t number : scripts) watch(made->id, script(number));
    return made->id;
  }
  void watch(WalletId wallet, const Bytes& watched) {
    const auto done = store().import_script(wallet, watched, {});
    EXPECT_TRUE(done) << done.error().message;
  }

  // ---- transactions ----

  // From these outpoints to the scripts of these numbers; every transaction is another one.
  MadeTx tx(std::vector<chain::Outpoint> inputs, const std::vector<To>& outputs = {{}}) {
    std::vector<Pay> pays;
    pays.reserve(outputs.size());
    for (const To& to : outputs) pays.push_back({script(to.script), to.amount});
    return make_tx(std::move(inputs), std::move(pays), ++nonce_);
  }
  MadeTx coinbase(std::uint64_t amount = 5'000, std::uint32_t to = 1) {
    return make_tx({}, {{script(to), amount}}, ++nonce_, true);
  }
  // Money from outside; nobody else names that outpoint.
  MadeTx incoming(std::uint64_t amount = 100, std::uint32_t to = 1) {
    return tx({foreign(1'000'000 + ++nonce_)}, {{to, amount}});
  }
  MadeTx confirmed(std::uint64_t amount = 100) {
    const MadeTx made = incoming(amount);
    mine({made});
    return made;
  }

  void see(const MadeTx& seen) { ok(consumer().on_tx_seen(make_seen(network(), seen))); }
  void drop(const MadeTx& dropped) { ok(consumer().on_tx_dropped({dropped.id})); }
  Result<Recorded> record(const MadeTx& made, RecordOptions options = {}) {
    return store().record(alice_, made.raw, options);
  }
  Result<Recorded> record_pending(const MadeTx& made, RecordOptions options = {}) {
    options.status = TxStatus::kPending;
    return record(made, options);
  }
  // "published", "published@7", "failed: double_spent", "absent".
  std::string status(const MadeTx& made, std::optional<WalletId> wallet = {}) {
    const auto found = store().transaction(wallet.value_or(alice_), made.id);
    if (!found) return found.error().code == Code::kNotFound ? "absent" : found.error().message;
    std::string text(to_string(found->entry.status));
    if (found->entry.height) text += "@" + std::to_string(*found->entry.height);
    if (!found->entry.reason.empty()) text += ": " + found->entry.reason;
    return text;
  }
  bool in_mempool(const MadeTx& made) {
    const auto found = store().transaction(alice_, made.id);
    EXPECT_TRUE(found) << found.error().message;
    return found && found->entry.in_mempool;
  }
  // "confirmed", "spent" …, "absent".
  std::string state(const chain::Outpoint& outpoint, std::optional<WalletId> wallet = {}) {
    const auto found = store().coin(wallet.value_or(alice_), outpoint);
    if (!found) return found.error().code == Code::kNotFound ? "absent" : found.error().message;
    return std::string(to_string(found->state));
  }
  std::optional<Hash256> spender(const chain::Outpoint& outpoint) {
    const auto found = store().coin(alice_, outpoint);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->spent_by : std::nullopt;
  }
  Balance balance(std::optional<WalletId> wallet = {}, const Scope& scope = {}) {
    const auto found = store().balance(wallet.value_or(alice_), scope);
    EXPECT_TRUE(found) << found.error().message;
    return found.value_or(Balance{});
  }

  // ---- the chain ----

  std::uint64_t tip() const { return chain_.size() - 1; }
  void mine(const std::vector<MadeTx>& txs = {}) { deliver(append_block(txs)); }
  // Empty blocks, in one commit.
  void mine_empty(std::uint64_t count) {
    for (std::uint64_t left = count; left > 0; --left) deliver(append_block({}), left - 1);
    ok(consumer().flush());
  }
  std::shared_ptr<const chain::Block> append_block(const std::vector<MadeTx>& txs) {
    const Hash256 prev = chain_.empty() ? Hash256{} : chain_.back()->hash;
    chain_.push_back(make_block(network(), prev, chain_.size(), txs, ++nonce_));
    return chain_.back();
  }
  Result<> try_deliver(const std::shared_ptr<const chain::Block>& block, std::uint64_t behind = 0) {
    return consumer().on_block({Ordinal(block->number.value), block, false, behind});
  }
  void deliver(const std::shared_ptr<const chain::Block>& block, std::uint64_t behind = 0) {
    ok(try_deliver(block, behind));
  }
  bus::Position position_after(std::uint64_t blocks) const {
    if (blocks == 0) return bus::Position::origin();
    return bus::Position::after(Ordinal(blocks - 1), chain_[blocks - 1]->point());
  }
  Result<> try_roll_back(std::uint64_t blocks) {
    return consumer().on_rollback({position_after(chain_.size() - blocks)});
  }
  // The blocks that are gone, oldest first: deliver() brings them back.
  std::vector<std::shared_ptr<const chain::Block>> roll_back(std::uint64_t blocks) {
    ok(try_roll_back(blocks));
    std::vector<std::shared_ptr<const chain::Block>> gone(
        chain_.end() - static_cast<std::ptrdiff_t>(blocks), chain_.end());
    chain_.resize(chain_.size() - blocks);
    return gone;
  }
  void bring_back(const std::vector<std::shared_ptr<const chain::Block>>& blocks) {
    for (const auto& block : blocks) {
      chain_.push_back(block);
      deliver(block, block == blocks.back() ? 0 : 1);
    }
  }

  // ---- the tables, as a person with a prompt sees them ----

  Result<std::int64_t> sql(std::string_view text, sql::Params params = {}) {
    return engine_->database().run_transaction(
        [&](sql::Transaction& at) { return at.execute(text, params); });
  }
  Result<> script_sql(std::string_view text) {
    return engine_->database().run_transaction(
        [&](sql::Transaction& at) { return at.script(text); });
  }
  std::int64_t number(std::string_view text, sql::Params params = {}) {
    auto connection = engine_->database().acquire();
    EXPECT_TRUE(connection) << connection.error().message;
    if (!connection) return -1;
    const auto value = connection->value<std::int64_t>(text, params);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }
  // PostgreSQL: whether what runs beside this test comes to wait for a lock, rather than to its
  // end.
  template <typename T>
  bool waits_for_a_lock(const std::future<T>& running) {
    const std::int64_t end = system_clock().steady_ms() + 60'000;
    while (running.wait_for(std::chrono::milliseconds(5)) != std::future_status::ready) {
      if (number("SELECT count(*) FROM pg_locks WHERE NOT granted") > 0) return true;
      if (system_clock().steady_ms() > end) return false;
    }
    return false;
  }
  std::int64_t id_of(const MadeTx& made) {
    return number("SELECT id FROM transactions WHERE wallet_id = $1 AND tx_hash = $2",
                  {alice_, made.id});
  }
  // Everything that a wallet can show, to see that nothing has changed.
  std::string everything() {
    std::string text;
    for (const std::string_view table :
         {"wallets", "blocks", "accounts", "descriptors", "addresses", "transactions", "tx_raw",
          "tx_inputs", "utxos", "tx_replacements", "utxo_leases", "pruned_transactions",
          "pruned_summary", "labels", "balance_summary"}) {
      const std::string json = is_sqlite() ? table_in_sqlite(table)
                                           : fmt::format(
                                                 "SELECT coalesce(md5(string_agg(r, ',' "
                                                 "ORDER BY r)), '') FROM (SELECT CAST(t AS "
                                                 "TEXT) AS r FROM {} t) x",
                                                 table);
      auto connection = engine_->database().acquire();
      EXPECT_TRUE(connection) << connection.error().message;
      const auto value = connection->value<std::string>(json);
      EXPECT_TRUE(value) << value.error().message;
      text += fmt::format("{} {}\n", table, value && *value ? **value : "");
    }
    return text;
  }

  template <typename T>
  static void ok(const Result<T>& result) {
    EXPECT_TRUE(result) << result.error().message;
  }
  template <typename T>
  static Code code(const Result<T>& result) {
    if (result) {
      ADD_FAILURE() << "no error";
      return Code::kInternal;
    }
    sql::test::expect_one_line(result.error());
    return result.error().code;
  }

  WalletEngine* engine_ = nullptr;
  WalletId alice_;
  std::vector<std::shared_ptr<const chain::Block>> chain_;
  std::uint32_t nonce_ = 0;

 private:
  std::string table_in_sqlite(std::string_view table) {
    auto connection = engine_->database().acquire();
    std::string columns;
    auto rows = connection->query(fmt::format("SELECT name FROM pragma_table_info('{}')", table));
    while (rows && rows->next().value_or(false))
      columns += fmt::format("{}quote({})", columns.empty() ? "" : " || '|' || ",
                             rows->get<std::string>(0).value_or(""));
    return fmt::format(
        "SELECT coalesce(group_concat(r), '') FROM (SELECT {} AS r FROM {}"
        " ORDER BY r)",
        columns, table);
  }

  bool is_damaged_ = false;
};

}  // namespace coffer::wallet::test

#define COFFER_ON_BOTH_ENGINES(suite)                                               \
  INSTANTIATE_TEST_SUITE_P(On, suite,                                               \
                           testing::Values(::coffer::sql::test::Engine::kSqlite,    \
                                           ::coffer::sql::test::Engine::kPostgres), \
                           ::coffer::sql::test::engine_name)
