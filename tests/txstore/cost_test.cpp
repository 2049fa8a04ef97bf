// What operations cost, counted by the stores themselves: keys on RocksDB, statements on
// PostgreSQL. The numbers are exact, so that any regression shows.
#include "base/temp_dir.h"
#include "txstore/support/store_place.h"

namespace coffer::txstore::test {
namespace {

constexpr std::uint64_t kCostWindow = 5;

Options cost_options() {
  Options options;
  options.window = options.block_height_retention = kCostWindow;
  return options;
}

Hash256 cost_id(std::uint64_t number) {
  Hash256 id{};
  store_be64(id.data(), number * 0x9e3779b97f4a7c15ull);
  store_be64(id.data() + 8, number);
  return id;
}

NewTx cost_tx(std::uint64_t number, std::vector<chain::Outpoint> inputs, std::uint32_t outputs,
              std::uint64_t height) {
  NewTx tx;
  tx.id = cost_id(number);
  tx.raw.assign(200, static_cast<std::uint8_t>(number));
  tx.inputs = std::move(inputs);
  tx.outputs.resize(outputs, NewOutput{cost_id(7), Amount(1'000), true});
  tx.mined_in = BlockRef{height, height};
  return tx;
}

IoCounts operator-(const IoCounts& a, const IoCounts& b) {
  return {a.reads - b.reads,     a.seeks - b.seeks,           a.puts - b.puts,
          a.deletes - b.deletes, a.bytes_read - b.bytes_read, a.bytes_written - b.bytes_written,
          a.calls - b.calls};
}

class StoreCost : public testing::Test {
 protected:
  StoreCost() { empty(); }
  // A new store, at height 1.
  void empty() {
    store_.reset();
    StorePlace place = StorePlace::fresh(StoreKind::kRocksDb, dir_.path(), cost_options());
    place.cache_bytes = 0;  // every record that is needed is read
    store_ = open_store(place);
    advance_to(1);
  }
  void advance_to(std::uint64_t height) {
    get_value((*store_)->advance(
        bus::Position::after(Ordinal(height), {Slot(height), cost_id(1'000'000 + height)})));
  }
  void create(const std::vector<NewTx>& txs) {
    for (const ItemResult& item : get_value((*store_)->create(txs)))
      ASSERT_EQ(item.outcome, Outcome::kDone);
  }
  // What it reads and writes.
  template <typename Do>
  IoCounts cost_of(Do what) {
    const IoCounts before = store_->io();
    what();
    return store_->io() - before;
  }
  void spend(const std::vector<Hash256>& spenders) {
    std::vector<SpendRequest> requests;
    requests.reserve(spenders.size());
    for (const Hash256& id : spenders) requests.push_back({id, {}});
    for (const SpendResult& result : get_value((*store_)->spend(requests)))
      ASSERT_EQ(result.outcome, Outcome::kDone);
  }

  // Parents number 100, 200, … with M inputs each, of transactions that stay, and N outputs; each
  // output has a child that is mined and spends it, but has not done so yet.
  struct Family {
    std::vector<Hash256> parents, children;
  };
  Family make_families(std::uint64_t count, std::uint32_t inputs, std::uint32_t outputs) {
    Family family;
    std::vector<NewTx> txs;
    std::vector<Hash256> held;
    for (std::uint64_t f = 1; f <= count; ++f) {
      const std::uint64_t base = 1'000 * f;
      std::vector<chain::Outpoint> spent;
      for (std::uint32_t m = 0; m < inputs; ++m) {
        txs.push_back(cost_tx(base + 500 + m, {}, 2, 1));
        spent.push_back({txs.back().id, 0});
      }
      txs.push_back(cost_tx(base, spent, outputs, 1));
      family.parents.push_back(txs.back().id);
      for (std::uint32_t n = 0; n < outputs; ++n) {
        txs.push_back(cost_tx(base + 1 + n, {{cost_id(base), n}}, 1, 1));
        family.children.push_back(txs.back().id);
      }
    }
    create(txs);
    spend(family.parents);
    return family;
  }

  const TempDir dir_;
  std::unique_ptr<OpenedStore> store_;
};

constexpr std::uint64_t kCostInputs = 2;  // M

// 004 §5: spend plus cleanup costs 2 + N reads and 1 + M writes of records, deletions apart.
// Counted as decision 0008 says: index keys and pages are apart, as is reading the grandparents in
// order to mark them, and the spenders that a call names.
TEST_F(StoreCost, SpendAndCleanupOfParent) {
  for (const std::uint64_t children : {1u, 3u, 100u}) {
    SCOPED_TRACE(children);
    empty();
    const std::uint64_t pages = children > kPageEntries ? (children + 15) / 16 : 0;
    const Family family = make_families(1, kCostInputs, static_cast<std::uint32_t>(children));
    const IoCounts spent = cost_of([&] { spend(family.children); });
    const std::uint64_t spenders = children, parent_when_spent = 1;
    EXPECT_EQ(spent.reads, spenders + parent_when_spent + pages);
    EXPECT_EQ(spent.seeks, 0u);
    const std::uint64_t stamp = 1, due_key = 1;
    EXPECT_EQ(spent.puts, stamp + due_key + pages);
    EXPECT_EQ(spent.deletes, 0u);

    advance_to(1 + kCostWindow);
    CleanupReport report;
    const IoCounts cleaned = cost_of([&] { report = get_value((*store_)->cleanup()); });
    EXPECT_EQ(report.deleted, 1u);
    EXPECT_EQ(report.children_read, children);
    const std::uint64_t parent_when_cleaned = 1, grandparents = kCostInputs;
    EXPECT_EQ(cleaned.reads, parent_when_cleaned + pages + children + grandparents);
    const std::uint64_t pruned_keys = kCostInputs, tip_and_counts = 1;
    EXPECT_EQ(cleaned.puts, grandparents + pruned_keys + tip_and_counts);
    const std::uint64_t state = 1, body = 1;
    EXPECT_EQ(cleaned.deletes, state + body + due_key + pages);
    // The records that are due, their pages, all children, all grandparents.
    EXPECT_EQ(cleaned.calls, 3 + (pages > 0 ? 1 : 0));

    const std::uint64_t record_reads =
        (spent.reads - spenders - pages) + (cleaned.reads - grandparents - pages);
    const std::uint64_t record_writes =
        (spent.puts - due_key - pages) + (cleaned.puts - pruned_keys - tip_and_counts);
    EXPECT_LE(record_reads, 2 + children);
    EXPECT_LE(record_writes, 1 + kCostInputs);
  }
}

TEST_F(StoreCost, SpendingOneOutputTouchesTwoKeysOfParent) {
  for (const std::uint32_t outputs : {2u, 100'000u}) {
    SCOPED_TRACE(outputs);
    const std::uint64_t parent = outputs, spender = outputs + 1;
    create({cost_tx(parent, {}, outputs, 1)});
    create({cost_tx(spender, {{cost_id(parent), outputs - 1}}, 1, 1)});
    const IoCounts cost = cost_of([&] { spend({cost_id(spender)}); });
    const std::uint64_t keys = outputs > kPageEntries ? 2 : 1;  // the head, and one page
    EXPECT_EQ(cost.reads, 1 + keys);  // the spender, which the call names by its id
    EXPECT_EQ(cost.puts, keys);
    EXPECT_EQ(cost.seeks + cost.deletes, 0u);
    EXPECT_LE(cost.bytes_read, 2'048u);
    EXPECT_LE(cost.bytes_written, 2'048u);
  }
}

TEST_F(StoreCost, ChildrenOfBatchAreOneCall) {
  constexpr std::uint64_t kParents = 50, kChildren = 3;
  const Family family = make_families(kParents, kCostInputs, kChildren);
  const IoCounts spent = cost_of([&] { spend(family.children); });
  EXPECT_EQ(spent.calls, 2u);  // the spenders, their parents
  EXPECT_EQ(spent.reads, kParents * (kChildren + 1));
  advance_to(1 + kCostWindow);
  CleanupReport report;
  const IoCounts cleaned = cost_of([&] { report = get_value((*store_)->cleanup()); });
  EXPECT_EQ(report.deleted, kParents);
  EXPECT_EQ(cleaned.calls, 3u);  // those that are due, their children, their parents
  EXPECT_EQ(cleaned.reads, kParents * (1 + kChildren + kCostInputs));
}

TEST_F(StoreCost, IdlePassReadsNothing) {
  const Family family = make_families(3, kCostInputs, 2);
  spend(family.children);
  (void)get_value((*store_)->cleanup());  // it learns how far away the next due entry is
  for (std::uint64_t height = 2; height <= kCostWindow; ++height) {
    advance_to(height);
    const IoCounts idle = cost_of([&] { (void)get_value((*store_)->cleanup()); });
    EXPECT_EQ(idle.reads + idle.seeks + idle.puts + idle.deletes, 0u) << "height " << height;
  }
  advance_to(1 + kCostWindow);
  EXPECT_EQ(get_value((*store_)->cleanup()).deleted, 3u);
  advance_to(2 + kCostWindow);
  // One look at an index that is empty now; then that is known.
  EXPECT_EQ(cost_of([&] { (void)get_value((*store_)->cleanup()); }).reads, 0u);
  const IoCounts idle = cost_of([&] { (void)get_value((*store_)->cleanup()); });
  EXPECT_EQ(idle.reads + idle.seeks + idle.puts + idle.deletes, 0u);
}

// ---- statements of PostgreSQL ----

struct CostTx {
  std::uint64_t id = 0;
  std::vector<std::uint64_t> parents;  // spends the first output of each
};

// A block of these; its rows are filled by hand, so that ids can be told.
std::shared_ptr<const chain::Block> cost_block(std::uint64_t height,
                                               const std::vector<CostTx>& txs) {
  auto block = std::make_shared<chain::Block>();
  for (const CostTx& tx : txs)
    for (const std::uint64_t parent : tx.parents) append(block->storage, cost_id(parent).view());
  const std::size_t rest = block->storage.size();
  block->storage.resize(rest + 64, 0x51);
  block->raw = block->storage;
  block->hash = cost_id(2'000'000 + height);
  block->number = BlockNumber(height);
  block->slot = Slot(height);
  for (const CostTx& made : txs) {
    chain::Tx& tx = block->txs.emplace_back();
    tx.id = cost_id(made.id);
    tx.raw = ByteView(block->storage).subspan(rest, 60);
    tx.inputs = {static_cast<std::uint32_t>(block->inputs.size()),
                 static_cast<std::uint32_t>(made.parents.size())};
    for (std::size_t i = 0; i < made.parents.size(); ++i)
      block->inputs.push_back({block->storage.data() + 32 * block->inputs.size(), 0});
    tx.outputs = {static_cast<std::uint32_t>(block->outputs.size()), 2};
    for (int i = 0; i < 2; ++i) {
      chain::Output& output = block->outputs.emplace_back();
      output.address = ByteView(block->storage).subspan(rest, 1);
      output.amount = Amount(1'000);
    }
  }
  return block;
}

class StatementCost : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    empty();
  }
  // A new store.
  void empty() {
    consumer_.reset();
    store_.reset();
    Options options = cost_options();
    options.window = options.block_height_retention = 1'000;  // nothing is cleaned here
    StorePlace place = StorePlace::fresh(StoreKind::kPostgres, dir_.path(), options);
    place.on_statement = [this](std::string_view) { ++statements_; };
    store_ = open_store(place);
    consumer_ = get_value(Consumer::open(**store_));
    height_ = 0;
    (void)statements_of({});  // later ones have a block before them
  }
  // How many statements the next block takes.
  std::uint64_t statements_of(const std::vector<CostTx>& txs) {
    const std::uint64_t before = statements_;
    const std::uint64_t height = height_++;
    get_value(consumer_->on_block({Ordinal(height), cost_block(height, txs), false, 0}));
    return statements_ - before;
  }

  const TempDir dir_;
  std::uint64_t statements_ = 0, height_ = 0;
  std::unique_ptr<OpenedStore> store_;
  std::unique_ptr<Consumer> consumer_;
};

TEST_F(StatementCost, BlockTakesSameNumberForFewAndManyTransactions) {
  std::vector<std::uint64_t> counts;
  for (const std::uint64_t size : {5u, 500u}) {
    empty();
    std::vector<CostTx> parents, children;
    for (std::uint64_t i = 0; i < size; ++i) {
      parents.push_back({1'000 + i, {}});
      children.push_back({10'000 + i, {1'000 + i}});
    }
    // New ones; and then those that spend them, which change records that are there.
    counts.push_back(statements_of(parents));
    counts.push_back(statements_of(children));
  }
  EXPECT_EQ(counts[2], counts[0]);
  EXPECT_EQ(counts[3], counts[1]);
  EXPECT_LE(counts[3], 30u);
}

// A block that takes an output from a transaction in the mempool with so many generations of
// descendants.
TEST_F(StatementCost, GenerationOfConflictingDescendantsCostsConstant) {
  const auto cost_with = [&](std::uint64_t generations, std::uint64_t width) {
    empty();
    (void)statements_of({{100, {}}});
    std::vector<NewTx> txs;
    std::vector<SpendRequest> spends;
    const auto add = [&](std::uint64_t number, chain::Outpoint input) {
      NewTx tx = cost_tx(number, {input}, static_cast<std::uint32_t>(width), 0);
      tx.mined_in.reset();
      txs.push_back(tx);
      spends.push_back({tx.id, {}});
    };
    add(1'000, {cost_id(100), 0});
    for (std::uint64_t g = 1; g < generations; ++g)
      for (std::uint64_t w = 0; w < width; ++w)
        add(1'000 + 100 * g + w, {cost_id(1'000 + 100 * (g - 1)), static_cast<std::uint32_t>(w)});
    for (const ItemResult& item : get_value((*store_)->create(txs)))
      EXPECT_EQ(item.outcome, Outcome::kDone);
    for (const SpendResult& result : get_value((*store_)->spend(spends)))
      EXPECT_EQ(result.outcome, Outcome::kDone);
    const std::uint64_t statements = statements_of({{200, {100}}});
    EXPECT_EQ(get_value((*store_)->stats()).counts.conflicting,
              static_cast<std::int64_t>(txs.size()));
    return statements;
  };
  const std::uint64_t one = cost_with(1, 1), two = cost_with(2, 1), five = cost_with(5, 1);
  const std::uint64_t each = two - one;
  EXPECT_EQ(five, one + 4 * each);
  EXPECT_LE(each, 5u);
  EXPECT_EQ(cost_with(5, 10), five) << "how many there are in a generation does not matter";
}

}  // namespace
}  // namespace coffer::txstore::test
