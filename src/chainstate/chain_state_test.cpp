#include <coffer/chainstate/chain_state.h>

#include <gtest/gtest.h>

#include "base/result.h"
#include "base/temp_dir.h"
#include "chainstate/event_log.h"
#include "chainstate/grouped_writer.h"
#include "chainstate/totals.h"

namespace coffer::chainstate {
namespace {

using bus::Position;

constexpr std::uint64_t kWindow = 10;

// Cardano-like headers without bodies: number and slot come from the test.
chain::Block header(std::uint8_t branch, std::uint64_t number, const Hash256& prev,
                    bool boundary = false) {
  chain::Block block;
  block.family = chain::Family::kCardano;
  block.era = boundary ? 0 : 6;
  block.hash[0] = branch, block.hash[1] = boundary ? 1 : 0, block.hash[31] = 7;
  store_le(block.hash.data() + 8, number);
  block.prev = prev;
  block.number = BlockNumber(number);
  block.slot = Slot(number * 20);
  block.epoch_boundary = boundary;
  return block;
}

class ChainStateTest : public testing::Test {
 protected:
  void SetUp() override { reopen(); }
  void reopen() {
    events_.reset(), totals_.reset(), state_.reset(), db_.reset();
    auto columns = ChainState::columns();
    for (const auto& more : {Totals::columns(), EventLog::columns()})
      columns.insert(columns.end(), more.begin(), more.end());
    db_ = kv::Database::open({.path = dir_.path() / "db", .columns = columns}).value();
    state_ = ChainState::open(*db_, network_, Identity::of(network_), kWindow).value();
    totals_ = Totals::open(*db_, kWindow).value();
    events_ = EventLog::open(*db_, chain::Family::kCardano, 5).value();
  }
  // Connects and feeds both consumers, as the follower does.
  Connected add(chain::Block block, bool below = false) {
    auto shared = std::make_shared<chain::Block>(std::move(block));
    const Placed placed = state_->place(*shared).value();
    const Connected connected = state_->connect(*shared, placed).value();
    for (bus::Consumer* consumer :
         {static_cast<bus::Consumer*>(totals_.get()), static_cast<bus::Consumer*>(events_.get())}) {
      if (connected.rolled_back) {
        EXPECT_TRUE(consumer->on_rollback(*connected.rolled_back));
      }
      EXPECT_TRUE(consumer->on_block({connected.ordinal, shared, below}));
    }
    return connected;
  }
  void add_line(std::uint8_t branch, std::uint64_t from, std::uint64_t to, bool below = false) {
    for (std::uint64_t n = from; n <= to; ++n) {
      add(header(branch, n, last_), below);
      last_ = header(branch, n, {}).hash;
    }
  }
  Hash256 hash(std::uint8_t branch, std::uint64_t number) {
    return header(branch, number, {}).hash;
  }

  TempDir dir_;
  const chain::Network network_ = chain::find_network("cardano", "devnet").value();
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<ChainState> state_;
  std::unique_ptr<Totals> totals_;
  std::unique_ptr<EventLog> events_;
  Hash256 last_{};
};

TEST_F(ChainStateTest, GrowsAndResolves) {
  EXPECT_TRUE(state_->position().at_origin);
  EXPECT_TRUE(state_->resolve(chain::Point::origin()).value()->at_origin);
  add_line(0, 0, 5);
  EXPECT_EQ(state_->tip()->number.value, 5u);
  EXPECT_EQ(state_->resolve({Slot(), hash(0, 3)}).value()->ordinal.value, 3u);
  EXPECT_FALSE(state_->resolve({Slot(), hash(1, 3)}).value());
  EXPECT_EQ(state_->last_with_number(BlockNumber(4)).value()->hash, hash(0, 4));
  EXPECT_EQ(state_->last_with_number(BlockNumber(400)).value()->hash, hash(0, 5));
  EXPECT_EQ(state_->place(header(0, 2, hash(0, 1))).value().placement, Placement::kKnown);
  EXPECT_EQ(state_->place(header(0, 9, hash(0, 8))).value().placement, Placement::kDetached);
  EXPECT_TRUE(state_->verify());
}

TEST_F(ChainStateTest, ForkIsOneRollbackThenTheNewBlocks) {
  add_line(0, 0, 5);
  last_ = hash(0, 2);
  const Connected fork = add(header(1, 3, hash(0, 2)));
  ASSERT_TRUE(fork.rolled_back);
  EXPECT_EQ(fork.rolled_back->to.ordinal.value, 2u);
  last_ = hash(1, 3);
  add_line(1, 4, 7);
  EXPECT_EQ(state_->tip()->hash, hash(1, 7));
  EXPECT_TRUE(state_->verify());
  // A consumer left on the stale branch finds its way back.
  EXPECT_EQ(
      state_->rejoin(Position::after(Ordinal(5), {Slot(100), hash(0, 5)})).value().ordinal.value,
      2u);
  EXPECT_EQ(state_->rejoin(state_->position()).value(), state_->position());
}

TEST_F(ChainStateTest, StaleHeadersAreKeptForTheWindowOnly) {
  add_line(0, 0, 5);
  last_ = hash(0, 2);
  add_line(1, 3, 5 + kWindow);
  EXPECT_TRUE(state_->header(hash(0, 5)).value());
  add_line(1, 6 + kWindow, 8 + kWindow);
  EXPECT_FALSE(state_->header(hash(0, 5)).value());
  EXPECT_EQ(state_->rejoin(Position::after(Ordinal(5), {Slot(100), hash(0, 5)})).error().code,
            Code::kNotFound);
  EXPECT_TRUE(state_->header(hash(1, 3)).value());  // the chain's own stay
}

TEST_F(ChainStateTest, ReconnectedStaleBlockIsKept) {
  add_line(0, 0, 5);
  last_ = hash(0, 4);
  add_line(1, 5, 5);
  last_ = hash(0, 4);
  add_line(0, 5, 5);  // the old branch again
  last_ = hash(0, 5);
  add_line(0, 6, 9 + kWindow);
  EXPECT_TRUE(state_->header(hash(0, 5)).value());
  EXPECT_TRUE(state_->verify());
}

TEST_F(ChainStateTest, BoundaryBlocksShareTheirNumberButNotTheirOrdinal) {  // E9
  add_line(0, 0, 2);
  chain::Block boundary = header(0, 2, hash(0, 2), true);
  boundary.slot = Slot(60);
  const Hash256 boundary_hash = boundary.hash;
  EXPECT_EQ(add(std::move(boundary)).ordinal.value, 3u);
  EXPECT_EQ(state_->tip()->number.value, 2u);
  EXPECT_EQ(add(header(0, 3, boundary_hash)).ordinal.value, 4u);  // its slot is the boundary's own
  EXPECT_EQ(state_->last_with_number(BlockNumber(2)).value()->ordinal.value, 3u);
  EXPECT_TRUE(state_->verify());
}

TEST_F(ChainStateTest, RefusesNumbersAndSlotsThatDoNotFollow) {
  add_line(0, 0, 2);
  chain::Block wrong_number = header(0, 7, hash(0, 2));
  const Placed placed = state_->place(wrong_number).value();
  EXPECT_EQ(state_->connect(wrong_number, placed).error().code, Code::kInvalidInput);
  chain::Block old_slot = header(0, 3, hash(0, 2));
  old_slot.slot = Slot(40);
  EXPECT_EQ(state_->connect(old_slot, placed).error().code, Code::kInvalidInput);
  EXPECT_EQ(state_->tip()->hash, hash(0, 2));
}

TEST_F(ChainStateTest, DatabaseBelongsToOneNetwork) {  // E5
  add_line(0, 0, 2);
  const auto other = chain::find_network("cardano", "preview").value();
  const auto refused = ChainState::open(*db_, other, Identity::of(other), kWindow);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_NE(refused.error().message.find("belongs to cardano devnet, not to cardano preview"),
            std::string::npos);
  Identity newer = Identity::of(network_);
  newer.format_version = 0;
  EXPECT_NE(
      ChainState::open(*db_, network_, newer, kWindow).error().message.find("use a newer coffer"),
      std::string::npos);
  EXPECT_EQ(state_->tip()->number.value, 2u);
}

TEST_F(ChainStateTest, EmptyDatabaseHasNoNetwork) {  // E15
  const auto other = chain::find_network("cardano", "preview").value();
  EXPECT_TRUE(ChainState::open(*db_, other, Identity::of(other), kWindow));
  const kv::Column meta = db_->column(kMetaColumn).value();
  EXPECT_FALSE(read_identity(*db_, meta).value());
  add_line(0, 0, 0);
  EXPECT_EQ(read_identity(*db_, meta).value(), Identity::of(network_));
  EXPECT_FALSE(ChainState::open(*db_, other, Identity::of(other), kWindow));
}

TEST_F(ChainStateTest, PrivateNetworkIsKeptWithItsParameters) {
  chain::CardanoParams params{42, 1, {{0, 0, 1'700'000'000, 100, 500}}};
  Hash256 genesis{};
  genesis.fill(5);
  const Identity mine = Identity::of(chain::private_network_of("mine", genesis, params));
  kv::Batch batch;
  const kv::Column meta = db_->column(kMetaColumn).value();
  put_identity(batch, meta, mine);
  ASSERT_TRUE(db_->commit(batch));
  const Identity found = read_identity(*db_, meta).value().value();
  EXPECT_EQ(found, mine);
  const chain::Network network = found.to_network().value();
  EXPECT_EQ(network.name, "mine");
  EXPECT_EQ(network.cardano, params);
  EXPECT_EQ(network.time_of(Slot(25)), 1'700'000'002);
}

TEST_F(ChainStateTest, ConsumersReopenWhereTheyWereAndUndoExactly) {
  add_line(0, 0, 6);
  const TotalsRecord at_six = totals_->current();
  const Hash256 chain_at_six = state_->digest().value();
  add_line(0, 7, 9);
  reopen();
  EXPECT_EQ(totals_->position(), state_->position());
  EXPECT_EQ(totals_->current().blocks, 10u);
  const Position six = state_->resolve({Slot(), hash(0, 6)}).value().value();
  ASSERT_TRUE(totals_->on_rollback({six}));
  EXPECT_EQ(totals_->current(), at_six);
  reopen();
  EXPECT_EQ(totals_->current(), at_six);
  EXPECT_NE(state_->digest().value(), chain_at_six);
}

TEST_F(ChainStateTest, RollbackBeyondTheWindowIsRefusedWhole) {  // U2
  add_line(0, 0, 30);
  const TotalsRecord before = totals_->current();
  const Position early = state_->resolve({Slot(), hash(0, 5)}).value().value();
  EXPECT_EQ(totals_->on_rollback({early}).error().code, Code::kBeyondWindow);
  EXPECT_EQ(totals_->current(), before);
  EXPECT_EQ(totals_->position(), state_->position());
  const Position edge = state_->resolve({Slot(), hash(0, 30 - kWindow)}).value().value();
  EXPECT_TRUE(totals_->on_rollback({edge}));
}

TEST_F(ChainStateTest, BelowTheWindowManyBlocksShareACommitNeverAcrossTheLine) {  // E2
  add_line(0, 0, 3, true);
  EXPECT_EQ(totals_->position().block_count(), 4u);
  EXPECT_TRUE(Totals::open(*db_, kWindow).value()->position().at_origin);  // nothing stored yet
  add_line(0, 4, 4, false);
  EXPECT_EQ(Totals::open(*db_, kWindow).value()->position().block_count(), 5u);
  add_line(0, 5, 6, true);
  EXPECT_EQ(Totals::open(*db_, kWindow).value()->position().block_count(), 5u);
  ASSERT_TRUE(totals_->flush());
  EXPECT_EQ(Totals::open(*db_, kWindow).value()->position().block_count(), 7u);
}

// What the first block of the window adds comes into a batch of its own.
TEST_F(ChainStateTest, HeldBlocksAreCommittedBeforeTheFirstOfTheWindow) {  // E2
  const auto writer = GroupedWriter::open(*db_, "test").value();
  const auto apply = [&](std::uint64_t number, bool below) {
    const auto block = std::make_shared<chain::Block>(header(0, number, {}));
    std::uint64_t committed = 0, changes = 0;
    EXPECT_TRUE(writer->apply({Ordinal(number), block, below}, [&](kv::Batch& batch) {
      committed = writer->committed().block_count();
      changes = batch.count();
      batch.put(db_->column(kMetaColumn).value(), as_bytes("changed"), as_bytes("it"));
    }));
    return std::pair(committed, changes);
  };
  EXPECT_EQ(apply(0, true), std::pair(0ul, 0ul));
  EXPECT_EQ(apply(1, true), std::pair(0ul, 1ul)) << "both are in one batch";
  EXPECT_EQ(apply(2, false), std::pair(2ul, 0ul)) << "the third is not";
  EXPECT_EQ(writer->committed().block_count(), 3u);
}

TEST_F(ChainStateTest, BlocksOfTheWindowAreGroupedOnlyWhileBehind) {  // E2
  const auto writer = GroupedWriter::open(*db_, "test").value();
  const auto stored_after = [&](std::uint64_t number, std::uint64_t behind) {
    const auto block = std::make_shared<chain::Block>(header(0, number, {}));
    EXPECT_TRUE(writer->apply({Ordinal(number), block, false, behind}, [](kv::Batch&) {}));
    return GroupedWriter::open(*db_, "test").value()->position().block_count();
  };
  EXPECT_EQ(stored_after(0, 2), 0u);
  EXPECT_EQ(stored_after(1, 1), 0u);
  EXPECT_EQ(stored_after(2, 0), 3u);
  EXPECT_EQ(stored_after(3, 0), 4u);
  EXPECT_EQ(stored_after(4, 0), 5u);
}

TEST_F(ChainStateTest, EventLogNumbersAndForgetsEvents) {
  int woken = 0;
  events_->on_append([&] { ++woken; });
  add_line(0, 0, 2);
  last_ = hash(0, 1);
  add_line(1, 2, 4);  // a rollback and three blocks: seven events in all, five are kept
  EXPECT_GE(woken, 7);
  EXPECT_EQ(events_->range().last, 7u);
  EXPECT_EQ(events_->range().first, 3u);
  const auto all = events_->read(0, 100).value();
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].id, 3u);
  EXPECT_EQ(all[1].type, "rollback");
  EXPECT_EQ(all[1].data,
            fmt::format(R"({{"depth":1,"to":{{"ordinal":1,"number":1,"slot":20,"hash":"{}"}}}})",
                        hash(0, 1).hex()));
  EXPECT_EQ(all[2].type, "block");
  EXPECT_NE(all[2].data.find(R"("number":2)"), std::string::npos);
  EXPECT_EQ(events_->read(6, 100).value().size(), 1u);
  EXPECT_EQ(events_->read(0, 2).value().size(), 2u);
  reopen();
  EXPECT_EQ(events_->range().last, 7u);
  add_line(1, 5, 5);
  EXPECT_EQ(events_->range().last, 8u);
}

TEST_F(ChainStateTest, DamagedTipIsCorruptNotWrong) {
  add_line(0, 0, 2);
  kv::Batch batch;
  batch.put(db_->column("chain_meta").value(), as_bytes("tip"), hash(0, 1).view());
  ASSERT_TRUE(db_->commit(batch));
  EXPECT_EQ(ChainState::open(*db_, network_, Identity::of(network_), kWindow).error().code,
            Code::kCorrupt);
}

}  // namespace
}  // namespace coffer::chainstate
