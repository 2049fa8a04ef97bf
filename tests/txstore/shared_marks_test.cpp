// Two processes have one store: what people did through the one is there for the other, and goes
// with what it was about. Each process opens the database on its own.
#include "base/temp_dir.h"
#include "txstore/support/store_place.h"
#include "txstore/support/stores.h"

namespace coffer::txstore::test {
namespace {

class SharedMarks : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (GetParam() == StoreKind::kPostgres) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
    }
    Options options;
    options.window = options.block_height_retention = 3;
    place_ = StorePlace::fresh(GetParam(), dir_.path(), options);
    one_ = open_store(place_);
    two_ = open_store(place_);
  }
  Store& one() { return **one_; }
  Store& two() { return **two_; }
  void create(const NewTx& tx) {
    ASSERT_EQ(get_value(one().create({&tx, 1})).front().outcome, Outcome::kDone);
  }
  // As the database has it.
  std::optional<Mark> mark(const Hash256& id) {
    Marks found;
    EXPECT_TRUE(one().backend().run(
        Hold::kRecords, [&](Unit& unit) { return unit.load_marks(std::array{id}, found); }));
    return found.contains(id) ? std::optional(found[id]) : std::nullopt;
  }
  // The output is frozen and becomes another, all by the second process.
  void reassign(const NewTx& tx) {
    const chain::Outpoint output{tx.id, 0};
    ASSERT_TRUE(get_value(two().freeze(std::array{output})).front().ok());
    const Reassignment item{output, tx.outputs[0].hash, make_id(99)};
    ASSERT_TRUE(get_value(two().reassign({&item, 1})).front().ok());
  }

  const TempDir dir_;
  StorePlace place_;
  std::unique_ptr<OpenedStore> one_, two_;
};
INSTANTIATE_TEST_SUITE_P(Every, SharedMarks,
                         testing::Values(StoreKind::kSqlite, StoreKind::kPostgres),
                         testing::PrintToStringParamName());

TEST_P(SharedMarks, ReassignmentGoesWithTheDeletedTransaction) {
  const NewTx parent = mined(make_tx(1, {}, 1), 1);
  ASSERT_NO_FATAL_FAILURE(create(parent));
  ASSERT_TRUE(one().advance(block_at(1)));
  ASSERT_NO_FATAL_FAILURE(reassign(parent));
  ASSERT_TRUE(mark(parent.id));
  const std::uint64_t free_at = 1 + kReassignDelay;
  const NewTx child = mined(make_tx(2, {{parent.id, 0}}, 1), free_at);
  ASSERT_TRUE(one().advance(block_at(free_at)));
  ASSERT_NO_FATAL_FAILURE(create(child));
  const SpendRequest spend{child.id, {}};
  ASSERT_EQ(get_value(one().spend({&spend, 1})).front().outcome, Outcome::kDone);
  ASSERT_TRUE(one().advance(block_at(free_at + 3)));
  ASSERT_EQ(get_value(one().prune()).deleted, 1u);
  EXPECT_FALSE(mark(parent.id));
}

TEST_P(SharedMarks, LockEndsWithTheBlock) {
  const NewTx tx = make_tx(1, {}, 1);
  ASSERT_TRUE(one().advance(block_at(1)));
  ASSERT_NO_FATAL_FAILURE(create(tx));
  ASSERT_EQ(get_value(two().lock(std::array{tx.id})).front().outcome, Outcome::kDone);
  ASSERT_TRUE(mark(tx.id)->locked);
  ASSERT_TRUE(get_value(one().set_mined(std::array{tx.id}, ref_at(2))).front().ok());
  EXPECT_FALSE(mark(tx.id));
}

TEST_P(SharedMarks, PreservationEndsInEitherProcess) {
  const NewTx tx = mined(make_tx(1, {}, 1), 1);
  ASSERT_NO_FATAL_FAILURE(create(tx));
  ASSERT_TRUE(one().advance(block_at(1)));
  ASSERT_TRUE(get_value(two().preserve(std::array{tx.id}, 5)).front().ok());
  ASSERT_TRUE(mark(tx.id));
  ASSERT_TRUE(one().advance(block_at(5)));
  ASSERT_EQ(get_value(one().prune()).expired, 1u);
  EXPECT_FALSE(mark(tx.id));
}

// A store that the one process has emptied is filled again by the other.
TEST_P(SharedMarks, MarkIsPutOnTheTransactionThatComesAgain) {
  const NewTx tx = mined(make_tx(1, {}, 2), 1);
  ASSERT_NO_FATAL_FAILURE(create(tx));
  ASSERT_TRUE(get_value(two().freeze(std::array{chain::Outpoint{tx.id, 1}})).front().ok());
  {
    sql::DatabaseOptions options;
    options.location = place_.location;
    const auto database = get_value(sql::Database::open(std::move(options)));
    ASSERT_TRUE(erase(*database));
  }
  ASSERT_FALSE(get_value(one().get(std::array{tx.id})).front());
  ASSERT_NO_FATAL_FAILURE(create(tx));
  const auto outputs = get_value(one().outputs(tx.id, 0, 2));
  EXPECT_FALSE(outputs[0].frozen);
  EXPECT_TRUE(outputs[1].frozen);
}

}  // namespace
}  // namespace coffer::txstore::test
