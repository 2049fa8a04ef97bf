// A transaction store on each database, in a temporary place, and transactions to put into it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <coffer/txstore/store.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/test_postgres.h"
#include "txstore/backend.h"
#include "txstore/support/model.h"

namespace coffer::txstore::test {

enum class Engine : std::uint8_t { kRocksDb, kSqlite, kPostgres };

inline const char* to_string(Engine engine) {
  constexpr const char* kNames[] = {"RocksDb", "Sqlite", "Postgres"};
  return kNames[static_cast<std::size_t>(engine)];
}
inline void PrintTo(Engine engine, std::ostream* out) {
  *out << to_string(engine);
}

// The value of a result that must be one; ends the test program otherwise.
template <typename T>
T must(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().message;
  CHECK(result.has_value());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// An id that is easy to tell apart in a message.
Hash256 make_id(std::uint64_t number);
// The block of this height on a branch.
bus::Position block_at(std::uint64_t height, std::uint64_t branch = 0);
inline BlockRef ref_at(std::uint64_t height, std::uint64_t branch = 0) {
  return BlockRef::of(block_at(height, branch));
}

// A transaction whose outputs are worth 1,000, 1,001, …
NewTx make_tx(std::uint64_t number, std::vector<chain::Outpoint> inputs, std::uint32_t outputs);
NewTx make_coinbase(std::uint64_t number, std::uint64_t height, std::uint32_t outputs);
// Adds an output that nobody can spend.
void add_op_return(NewTx& tx);
inline NewTx mined(NewTx tx, std::uint64_t height, std::uint64_t branch = 0) {
  tx.mined_in = ref_at(height, branch);
  return tx;
}

// One store. PostgreSQL must be installed where it is asked for.
class TestStore {
 public:
  TestStore(Engine engine, const Options& options,
            const chain::Network& network = chain::find_network("bitcoin", "regtest").value());
  ~TestStore();
  TestStore(const TestStore&) = delete;
  TestStore& operator=(const TestStore&) = delete;

  // Closes and opens it, as after a restart.
  void reopen();
  // Back to a new store.
  void empty();

  Store& store() { return *store_; }
  Store* operator->() { return store_.get(); }
  Engine engine() const { return engine_; }
  const Options& options() const { return options_; }

  // Block by block, without cleanup.
  void advance_to(std::uint64_t height);
  // At once, as a store that is fed by hand may.
  void jump_to(std::uint64_t height);
  // A new store that takes this as its first block: older parents are not known to it (X5).
  void begin_at(std::uint64_t height);

  // One item each.
  Outcome create(const NewTx& tx);
  Outcome spend(const Hash256& spender);
  Outcome unspend(const Hash256& spender);
  Outcome set_mined(const Hash256& id, const BlockRef& block, bool longest_chain = true);
  Outcome unset_mined(const Hash256& id, const BlockRef& block);
  Outcome preserve(const Hash256& id, std::uint64_t until);
  Outcome mark_conflicting(const Hash256& id);
  CleanupReport prune() { return must(store_->prune()); }
  // Why the rule keeps it at this tip.
  retention::Reason reason(const Hash256& id) {
    const auto explained = store_->explain(id);
    if (!explained) ADD_FAILURE() << explained.error().message;
    return explained ? explained->verdict.reason : retention::Reason::kDeletable;
  }
  std::optional<StoredTx> find(const Hash256& id);
  bool is_stored(const Hash256& id) { return find(id).has_value(); }
  StoredOutput output(const Hash256& id, std::uint32_t index);
  // Every stored transaction with its outputs, as TxStoreModel::describe_all() tells it.
  std::string describe_all();
  std::string describe_indexes();

  // Damage, past the engine.
  void force_stamp(const Hash256& id, std::uint64_t delete_at_height);
  void force_erase(const Hash256& id);
  void force_conflicting(const Hash256& id, std::uint64_t delete_at_height);

 private:
  void open();
  void open_postgres();
  void give_back();
  void change(const Hash256& id, const std::function<void(Record&)>& body);

  const Engine engine_;
  const Options options_;
  const chain::Network network_;
  TempDir dir_;
  int number_ = 0;             // of databases so far
  std::string postgres_ = {};  // the name of its database
  sql::DatabaseOptions sql_options_;
  std::unique_ptr<kv::Database> kv_;
  std::unique_ptr<sql::Database> sql_;
  std::unique_ptr<Store> store_;
};

// A test on every engine.
class StoreTest : public testing::TestWithParam<Engine> {
 protected:
  void SetUp() override {
    if (GetParam() == Engine::kPostgres) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
    }
  }
};

}  // namespace coffer::txstore::test

#define COFFER_ON_EVERY_STORE(suite)                                                    \
  INSTANTIATE_TEST_SUITE_P(Every, suite,                                                \
                           testing::Values(::coffer::txstore::test::Engine::kRocksDb,   \
                                           ::coffer::txstore::test::Engine::kSqlite,    \
                                           ::coffer::txstore::test::Engine::kPostgres), \
                           testing::PrintToStringParamName())
