// The tables of specification 004, each with its own heights, on every database; and again with the
// window of Cardano.
#include <gtest/gtest.h>

#include "sql/test_postgres.h"
#include "txstore/support/stores.h"

namespace coffer::txstore::test {
namespace {

constexpr std::uint64_t kTableParent = 1, kChildA = 2, kChildB = 3;

enum class Do : std::uint8_t {
  kSpend,      // the child is seen and spends its output of the parent
  kMine,       // the block of this height has the child
  kUnmine,     // a reorganisation takes the child's block away
  kReopen,     // the store restarts
  kIsKept,     // cleanup runs and the parent stays
  kIsDeleted,  // cleanup runs and the parent goes
};

// Heights are those of 004, for a window of 288; `windows` tells how many windows of waiting lie
// before one, which another window makes longer.
struct Step {
  std::uint64_t height;
  std::uint64_t windows;
  Do what;
  std::uint64_t child = kChildA;
};

struct Table {
  const char* name;
  std::uint64_t begin;
  std::uint32_t outputs;  // of the parent; child A spends the first, B the second
  std::vector<Step> steps;
};

const Table kTables[] = {
    {"TimelineExample",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'001, 0, Do::kMine},
      {1'287, 1, Do::kIsKept},
      {1'288, 1, Do::kIsKept},       // 1288 - 1001 = 287
      {1'289, 1, Do::kIsDeleted}}},  // 288
    {"ScenarioA",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'200, 1, Do::kIsKept},  // not yet time
      {1'288, 1, Do::kIsKept},  // the child is unmined
      {1'300, 1, Do::kMine},    // it is validated: its parent is there
      {1'300, 1, Do::kIsKept},
      {1'587, 2, Do::kIsKept},
      {1'588, 2, Do::kIsDeleted}}},
    {"ScenarioB",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'100, 0, Do::kMine},
      {1'288, 1, Do::kIsKept},  // 188 blocks on the child
      {1'300, 1, Do::kUnmine},  // it needs its parent again
      {1'300, 1, Do::kIsKept},
      {1'301, 1, Do::kMine},
      {1'588, 2, Do::kIsKept},
      {1'589, 2, Do::kIsDeleted}}},
    {"EdgeCase1ChildNeverMined",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'288, 1, Do::kIsKept},
      {1'500, 1, Do::kIsKept},
      {2'000, 1, Do::kIsKept}}},
    {"EdgeCase2ChildMinedLate",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'288, 1, Do::kIsKept},
      {1'500, 1, Do::kMine},
      {1'787, 2, Do::kIsKept},
      {1'788, 2, Do::kIsDeleted}}},
    {"EdgeCase3Reorganisation",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'100, 0, Do::kMine},
      {1'200, 0, Do::kUnmine},
      {1'288, 1, Do::kIsKept},
      {1'300, 1, Do::kMine},
      {1'587, 2, Do::kIsKept},
      {1'588, 2, Do::kIsDeleted}}},
    // Nobody calls preserve().
    {"EdgeCase4RestartRace",
     1'000,
     1,
     {{1'000, 0, Do::kSpend},
      {1'400, 1, Do::kReopen},
      {1'500, 1, Do::kIsKept},
      {1'500, 1, Do::kReopen},
      {1'500, 1, Do::kIsKept}}},
    {"MultiChild",
     100,
     2,
     {{100, 0, Do::kSpend, kChildA},
      {100, 0, Do::kMine, kChildA},
      {200, 0, Do::kSpend, kChildB},
      {200, 0, Do::kMine, kChildB},
      {487, 1, Do::kIsKept},
      {488, 1, Do::kIsDeleted}}},
    // Child B alone is final at 488.
    {"MultiChildFirstOneUnmined",
     100,
     2,
     {{100, 0, Do::kSpend, kChildA},
      {100, 0, Do::kMine, kChildA},
      {200, 0, Do::kSpend, kChildB},
      {200, 0, Do::kMine, kChildB},
      {380, 1, Do::kUnmine, kChildA},
      {488, 1, Do::kIsKept},
      {500, 1, Do::kMine, kChildA},
      {500, 1, Do::kIsKept},
      {787, 2, Do::kIsKept},
      {788, 2, Do::kIsDeleted}}},
    {"MultiChildReorganisedAfterCleanup",
     100,
     2,
     {{100, 0, Do::kSpend, kChildA},
      {200, 0, Do::kSpend, kChildB},
      {200, 0, Do::kMine, kChildB},
      {450, 1, Do::kMine, kChildA},
      {488, 1, Do::kIsKept},
      {500, 1, Do::kUnmine, kChildA},
      {500, 1, Do::kIsKept}}},
};

class TableRun {
 public:
  TableRun(const Table& table, Engine engine, const chain::Network& network, bool every_block)
      : table_(table),
        options_(options_of(network)),
        every_block_(every_block),
        store_(engine, options_, network) {}

  void run() {
    store_.begin_at(table_.begin - 1);
    ASSERT_EQ(store_.create(mined(make_tx(kTableParent, {}, table_.outputs), table_.begin - 50)),
              Outcome::kDone);
    for (const Step& step : table_.steps) {
      const std::uint64_t height = step.height + step.windows * (options_.window - kLeastWindow);
      advance(height);
      ASSERT_NO_FATAL_FAILURE(run(step, height)) << "at " << step.height << ", which is " << height;
    }
  }

 private:
  static Options options_of(const chain::Network& network) {
    Options options;
    options.window = window_of(network, 0);
    options.unmined_retention = std::max(options.unmined_retention, options.window);
    return options;
  }

  void advance(std::uint64_t height) {
    if (!every_block_) return store_.jump_to(height);
    while (store_->tip().height() < height) {
      store_.prune();
      store_.jump_to(store_->tip().height() + 1);
    }
  }

  void run(const Step& step, std::uint64_t height) {
    const Hash256 parent = make_id(kTableParent), child = make_id(step.child);
    switch (step.what) {
      case Do::kSpend:
        ASSERT_EQ(store_.create(make_tx(
                      step.child, {{parent, static_cast<std::uint32_t>(step.child - kChildA)}}, 1)),
                  Outcome::kDone);
        ASSERT_EQ(store_.spend(child), Outcome::kDone);
        children_.push_back(step.child);
        return;
      case Do::kMine:
        ASSERT_EQ(store_.set_mined(child, ref_at(height)), Outcome::kDone);
        block_[step.child] = ref_at(height);
        return;
      case Do::kUnmine:
        ASSERT_EQ(store_.unset_mined(child, block_.at(step.child)), Outcome::kDone);
        return;
      case Do::kReopen: store_.reopen(); return;
      case Do::kIsKept:
        store_.prune();
        ASSERT_TRUE(store_.is_stored(parent));
        // What a child needs is there.
        for (const std::uint64_t number : children_)
          ASSERT_EQ(store_.output(parent, static_cast<std::uint32_t>(number - kChildA)).spender,
                    make_id(number));
        return;
      case Do::kIsDeleted:
        store_.prune();
        ASSERT_FALSE(store_.is_stored(parent));
        // The children have an unspent output each.
        for (const std::uint64_t number : children_) ASSERT_TRUE(store_.is_stored(make_id(number)));
        return;
    }
  }

  const Table& table_;
  const Options options_;
  const bool every_block_;
  TestStore store_;
  std::vector<std::uint64_t> children_;
  std::map<std::uint64_t, BlockRef> block_;
};

struct TableCase {
  const Table* table;
  Engine engine;
  const char* chain;
  bool every_block;
};

std::string name_of(const TableCase& value) {
  return fmt::format("{}_{}_{}{}", value.table->name, to_string(value.engine), value.chain,
                     value.every_block ? "_EveryBlock" : "");
}
void PrintTo(const TableCase& value, std::ostream* out) {
  *out << name_of(value);
}

std::vector<TableCase> all_cases() {
  std::vector<TableCase> cases;
  for (const Table& table : kTables)
    for (const Engine engine : {Engine::kRocksDb, Engine::kSqlite, Engine::kPostgres})
      for (const char* chain : {"bitcoin", "cardano"}) {
        cases.push_back({&table, engine, chain, false});
        // Cleanup after each block: what was put off must come back at the right one.
        if (engine == Engine::kRocksDb) cases.push_back({&table, engine, chain, true});
      }
  return cases;
}

class TxStoreTables : public testing::TestWithParam<TableCase> {};

TEST_P(TxStoreTables, DeletesWhenTableSays) {
  if (GetParam().engine == Engine::kPostgres) {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
  }
  const chain::Network network = chain::find_network(GetParam().chain, "mainnet").value();
  TableRun run(*GetParam().table, GetParam().engine, network, GetParam().every_block);
  run.run();
}

INSTANTIATE_TEST_SUITE_P(Every, TxStoreTables, testing::ValuesIn(all_cases()),
                         [](const auto& each) { return name_of(each.param); });

TEST(TxStoreTablesWindow, IsThatOfTheChain) {
  EXPECT_EQ(window_of(chain::find_network("cardano", "mainnet").value(), 0), 2'160u);
  EXPECT_EQ(window_of(chain::find_network("bitcoin", "mainnet").value(), 0), 288u);
  EXPECT_EQ(window_of(chain::find_network("bitcoin", "mainnet").value(), 1'000), 1'000u);
}

}  // namespace
}  // namespace coffer::txstore::test
