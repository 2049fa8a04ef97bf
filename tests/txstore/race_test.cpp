// Two processes work on one store in PostgreSQL: one follows a chain with its mempool and reorgs,
// cleans up after each block and restarts now and then; the other cleans up as well, preserves,
// gives back what unmined transactions spend and takes it again, and restarts. In the end the store
// is sound, no transaction has lost a parent that it needs, and what is stored is what a process
// alone would have stored.
#include <sys/mman.h>

#include <fstream>
#include <thread>

#include "base/random.h"
#include "base/temp_dir.h"
#include "support/process.h"
#include "txstore/support/chain_feeder.h"
#include "txstore/support/store_place.h"

namespace coffer::txstore::test {
namespace {

constexpr std::uint64_t kRaceWindow = 8;

struct RaceTotals {
  std::atomic<bool> done;
  std::atomic<std::uint64_t> deleted, preserved, unspent, spent, restarts, refused;
};

class StoreRace : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    totals_ = static_cast<RaceTotals*>(::mmap(nullptr, sizeof(RaceTotals), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(totals_, MAP_FAILED);
    new (totals_) RaceTotals{};
    steps_ = devnet_steps({.seed = 21, .txs_per_block = 10, .reorg_every = 5, .max_reorg_depth = 6},
                          blocks());
  }
  void TearDown() override {
    if (totals_ != nullptr) ::munmap(totals_, sizeof(RaceTotals));
  }
  static std::size_t blocks() { return coffer::test::long_run() ? 1'500 : 260; }
  StorePlace fresh() const {
    Options options;
    options.window = options.block_height_retention = kRaceWindow;
    options.cleanup_budget = 30;
    return StorePlace::fresh(StoreKind::kPostgres, dir_.path(), options);
  }

  Result<> follow(const StorePlace& place, std::size_t restart_every) const {
    for (std::size_t next = 0; next < steps_.size();) {
      const auto store = TRY(OpenedStore::open(place));
      const auto consumer = TRY(Consumer::open(**store));
      for (std::size_t left = restart_every; left > 0 && next < steps_.size(); --left)
        TRY(steps_[next++].take(*consumer));
      totals_->deleted += (*store)->counters().deleted;
    }
    return {};
  }

  // One thing that the other process does.
  Result<> meddle(Store& store, Rng& rng) const {
    const std::uint64_t pick = rng.below(4);
    if (pick == 0) {
      const CleanupReport report = TRY(store.cleanup());
      totals_->deleted += report.deleted;
      return {};
    }
    std::vector<Hash256> ids;
    const bool unmined = pick != 1;
    if (unmined) {
      Store::ListRequest request;
      request.unmined = true;
      for (const StoredTx& tx : TRY(store.list(request)).txs)
        if (rng.one_in(3)) ids.push_back(tx.id);
    } else {
      (void)TRY(store.for_each([&](const StoredTx& tx) -> Result<bool> {
        if (tx.delete_at_height && rng.one_in(4)) ids.push_back(tx.id);
        return ids.size() < 20;
      }));
    }
    if (ids.empty()) return {};
    if (!unmined) {
      const std::uint64_t until = TRY(store.stats()).tip.height() + rng.below(4);
      for (const ItemResult& item : TRY(store.preserve(ids, until)))
        totals_->preserved += item.ok() ? 1 : 0;
      return {};
    }
    for (const SpendResult& result : TRY(store.unspend(ids)))
      ++(result.outcome == Outcome::kDone ? totals_->unspent : totals_->refused);
    std::vector<SpendRequest> again;
    again.reserve(ids.size());
    for (const Hash256& id : ids) again.push_back({id, {}});
    std::vector<Hash256> lost;  // another has taken what they gave back
    const std::vector<SpendResult> results = TRY(store.spend(again));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const Outcome outcome = results[i].outcome;
      ++(outcome == Outcome::kDone ? totals_->spent : totals_->refused);
      if (outcome != Outcome::kDone && outcome != Outcome::kUnchanged) lost.push_back(ids[i]);
    }
    (void)TRY(store.mark_conflicting(lost));
    return {};
  }
  Result<> meddle_until_done(const StorePlace& place) const {
    Rng rng(5);
    while (!totals_->done) {
      const auto store = TRY(OpenedStore::open(place));
      ++totals_->restarts;
      for (int left = 40; left > 0 && !totals_->done; --left) TRY(meddle(**store, rng));
    }
    return {};
  }

  // So that what happened on the way no longer matters: nothing is unmined or preserved, and the
  // chain is long enough that all that may go has gone.
  Result<std::string> settle(const StorePlace& place, std::set<Hash256>& mined) const {
    const auto store = TRY(OpenedStore::open(place));
    TRY(verify_store(**store));
    std::vector<Hash256> unmined, preserved;
    (void)TRY((*store)->for_each([&](const StoredTx& tx) -> Result<bool> {
      if (tx.state == State::kUnmined) unmined.push_back(tx.id);
      if (tx.preserve_until) preserved.push_back(tx.id);
      return true;
    }));
    (void)TRY((*store)->mark_conflicting(unmined));
    (void)TRY((*store)->preserve(preserved, 0));
    const auto consumer = TRY(Consumer::open(**store));
    for (std::uint64_t i = 0; i < 2 * kRaceWindow + 2; ++i) {
      const std::uint64_t height = (*store)->tip().height() + 1;
      auto empty = std::make_shared<chain::Block>();
      store_be64(empty->hash.data(), height);
      TRY(consumer->on_block({Ordinal(height), empty, false, 0}));
      TRY(consumer->flush());
    }
    TRY(verify_store(**store));
    mined = mined_ids(**store);
    return dump_store(**store);
  }
  std::set<Hash256> expected(std::uint64_t tip) const {
    std::vector<const chain::Block*> best;
    for (const ChainStep& step : steps_) {
      if (step.rollback_to) best.resize(step.rollback_to->block_count());
      if (step.block) best.push_back(step.block.get());
    }
    ExpectedSet set;
    for (std::uint64_t height = 0; height < best.size(); ++height) set.apply(*best[height], height);
    return set.ids(tip, kRaceWindow);
  }

  const TempDir dir_;
  std::vector<ChainStep> steps_;
  RaceTotals* totals_ = nullptr;
};

TEST_F(StoreRace, CleanupBesideEverythingElse) {
  const StorePlace shared = fresh(), alone = fresh();
  {
    const auto created = open_store(shared);  // both find the tables
  }
  const pid_t follower = start_process([&] { return follow(shared, 150); });
  const pid_t other = start_process([&] { return meddle_until_done(shared); });
  EXPECT_EQ(end_of_process(follower), 0);
  totals_->done = true;
  EXPECT_EQ(end_of_process(other), 0);
  EXPECT_GT(totals_->deleted, 100u);
  EXPECT_GT(totals_->preserved, 20u);
  EXPECT_GT(totals_->unspent, 20u);
  EXPECT_GT(totals_->spent, 20u);
  EXPECT_GT(totals_->restarts, 1u);

  ASSERT_EQ(end_of_process(start_process([&] { return follow(alone, steps_.size()); })), 0);
  std::set<Hash256> mined, mined_alone;
  const auto raced = settle(shared, mined);
  ASSERT_TRUE(raced) << raced.error().message;
  const auto undisturbed = settle(alone, mined_alone);
  ASSERT_TRUE(undisturbed) << undisturbed.error().message;
  EXPECT_EQ(*raced, *undisturbed);
  const auto store = open_store(shared);
  EXPECT_EQ(difference(mined, expected((*store)->tip().height())), "");
}

}  // namespace
}  // namespace coffer::txstore::test
