// The set against all its leaves and bits computed from scratch, through histories with forks.
#include "mmr/live_set.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/random.h"
#include "mmr/overlay.h"
#include "mmr/test_support.h"

namespace coffer::mmr {
namespace {

Hash256 root_of(LiveSet& set) {
  const auto root = set.root();
  EXPECT_EQ(error_of(root), "");
  return root.value_or(Hash256{});
}

TEST(LiveSet, HasTheRootsOfAnIndependentImplementation) {
  // They stand in docs/formats/mmr.md too.
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  EXPECT_EQ(root_of(set).hex(), "4927496de2b11f3fea463fba1a95e8c26e6ab0f9c2a86ebc0b0d45ecf1c003ab");
  const auto grow_to = [&](std::uint64_t leaves) {
    while (set.leaves() < leaves) {
      Bytes number;
      append_be64(number, set.leaves());
      ASSERT_TRUE(set.append(crypto::blake2b_256(number)));
    }
  };
  grow_to(1);
  EXPECT_EQ(root_of(set).hex(), "10cd0dfc3f0cc02c08a780db9e7f34fbfb7fec6e2b88390d7c4622feaf57f389");
  grow_to(7);
  ASSERT_TRUE(set.spend(2));
  ASSERT_TRUE(set.spend(6));
  EXPECT_EQ(root_of(set).hex(), "1fc467d88a6a9f34362d886d22dc86a4fc7ba3944bf07fd3b3a5002aa232c3f8");
  grow_to(5000);
  for (std::uint64_t leaf = 10; leaf < 5000; leaf += 10) ASSERT_TRUE(set.spend(leaf));
  EXPECT_EQ(root_of(set).hex(), "aa0e16cf9ac211dd778013d603434a136b1a9cf1b63d790a337a647fc1c49fb5");
}

TEST(LiveSet, EverySizeHasItsRootAndProvesEveryLeaf) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  NaiveSet naive;
  for (std::uint64_t leaves = 0; leaves <= 200; ++leaves) {
    const Hash256 root = root_of(set);
    ASSERT_EQ(root, naive.root()) << leaves;
    ASSERT_EQ(set.size(), size_of(leaves));
    LiveSet reopened(stores.refs(), leaves);
    ASSERT_EQ(root_of(reopened), root);
    for (std::uint64_t leaf = 0; leaf < leaves; ++leaf) {
      const auto proof = reopened.prove(leaf);
      ASSERT_EQ(error_of(proof), "");
      ASSERT_EQ(find_fault(Output(leaf).complete(*proof), root, kHash), nullptr);
    }
    ASSERT_EQ(set.append(Output(leaves).data()).value_or(~0ull), leaves);
    naive.data.push_back(Output(leaves).data());
    naive.live.push_back(true);
  }
}

TEST(LiveSet, GivesItsPeaks) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  EXPECT_TRUE(set.peaks().value().empty());
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(set.append(Output(static_cast<unsigned>(i)).data()));
  const std::vector<Hash256> expected = {stores.leaf_nodes.nodes[6].hash,
                                         stores.leaf_nodes.nodes[9].hash,
                                         stores.leaf_nodes.nodes[10].hash};
  EXPECT_EQ(set.peaks().value(), expected);
}

TEST(LiveSet, RefusesContradictions) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  for (unsigned i = 0; i < 4; ++i) ASSERT_TRUE(set.append(Output(i).data()));
  EXPECT_EQ(set.unspend(1).error().code, Code::kCorrupt);
  EXPECT_EQ(set.spend(4).error().code, Code::kCorrupt);
  ASSERT_TRUE(set.spend(1));
  EXPECT_EQ(set.spend(1).error().code, Code::kCorrupt);
  EXPECT_EQ(set.prove(1).error().code, Code::kNotFound);
  EXPECT_EQ(set.prove(4).error().code, Code::kNotFound);
  EXPECT_EQ(set.live(4).error().code, Code::kNotFound);
  EXPECT_FALSE(set.live(1).value());
  EXPECT_EQ(set.rewind(5).error().code, Code::kInvalidInput);

  const std::vector<std::uint64_t> live = {0}, spent = {1}, beyond = {9};
  EXPECT_EQ(set.prune({live, 0, 7}).error().code, Code::kCorrupt);
  EXPECT_EQ(set.prune({beyond, 0, 7}).error().code, Code::kInvalidInput);
  EXPECT_EQ(set.prune({spent, 0, 8}).error().code, Code::kInvalidInput);
  EXPECT_EQ(set.prune({spent, 7, 3}).error().code, Code::kInvalidInput);
  EXPECT_EQ(set.prune({spent, 0, 1}).error().code, Code::kInvalidInput);
  ASSERT_TRUE(set.prune({spent, 0, 7}));
  EXPECT_EQ(set.prune({spent, 7, 7}).error().code, Code::kCorrupt);
}

TEST(LiveSet, PrunesAllButTheRootsOfWhatIsSpent) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  std::vector<std::uint64_t> all;
  all.reserve(4096);
  for (std::uint64_t i = 0; i < 4096; ++i) all.push_back(set.append(Output(i).data()).value());
  for (const std::uint64_t leaf : all) ASSERT_TRUE(set.spend(leaf));
  const Hash256 root = root_of(set);
  // As long as the very last node can be cut off, its children must stay.
  ASSERT_TRUE(set.prune({all, 0, set.size() - 1}));
  EXPECT_EQ(stores.leaf_nodes.nodes.size(), 3u);
  ASSERT_TRUE(set.prune({{}, set.size() - 1, set.size()}));
  EXPECT_EQ(stores.leaf_nodes.nodes.size(), 1u);
  EXPECT_TRUE(stores.chunks.chunks.empty());
  LiveSet reopened(stores.refs(), 4096);
  EXPECT_EQ(root_of(reopened), root);
  EXPECT_FALSE(reopened.live(5).value());
  ASSERT_TRUE(reopened.append(Output(4096).data()));
  EXPECT_TRUE(reopened.prove(4096));
}

TEST(LiveSet, AppendingReadsNothingFinalizingReadsSiblingsOnce) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  constexpr std::uint64_t kChunks = 64;
  for (std::uint64_t i = 0; i < kChunks * kLeavesPerChunk; ++i)
    ASSERT_TRUE(set.append(Output(i).data()));
  ASSERT_TRUE(set.flush_chunks());
  EXPECT_EQ(stores.leaf_nodes.reads + stores.bitmap_nodes.reads + stores.chunks.reads, 0u);
  EXPECT_EQ(stores.bitmap_nodes.writes, size_of(kChunks));

  for (std::uint64_t leaf = 0; leaf < 100; ++leaf) ASSERT_TRUE(set.spend(leaf));
  ASSERT_TRUE(set.flush_chunks());
  EXPECT_EQ(stores.bitmap_nodes.reads, 6u);  // one sibling on each of the levels below the top
  EXPECT_EQ(stores.bitmap_nodes.writes, size_of(kChunks) + 7);

  for (std::uint64_t chunk = 0; chunk < kChunks; ++chunk)
    ASSERT_TRUE(set.spend(chunk * kLeavesPerChunk + 500));
  ASSERT_TRUE(set.flush_chunks());
  EXPECT_EQ(stores.bitmap_nodes.reads, 6u);
  EXPECT_EQ(stores.bitmap_nodes.writes, 2 * size_of(kChunks) + 7);
}

TEST(LiveSet, KeepsNoMoreChunksInMemoryThanAllowed) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0, 2);
  NaiveSet naive;
  for (std::uint64_t i = 0; i < 5 * kLeavesPerChunk; ++i) {
    ASSERT_TRUE(set.append(Output(i).data()));
    naive.data.push_back(Output(i).data());
    naive.live.push_back(true);
  }
  EXPECT_EQ(stores.bitmap_nodes.nodes.size(), size_of(4));  // settled to make room for the last
  const std::uint64_t reads_before = stores.chunks.reads;
  for (int round = 0; round < 3; ++round)
    for (std::uint64_t chunk = 0; chunk < 4; ++chunk) {
      const std::uint64_t leaf = chunk * kLeavesPerChunk + static_cast<std::uint64_t>(round);
      ASSERT_TRUE(set.spend(leaf));
      naive.live[leaf] = false;
    }
  EXPECT_EQ(stores.chunks.reads - reads_before, 12u);
  EXPECT_EQ(root_of(set), naive.root());
}

TEST(LiveSet, OverlayIsAViewOfAnEarlierMoment) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  for (std::uint64_t i = 0; i < 3000; ++i) ASSERT_TRUE(set.append(Output(i).data()));
  ASSERT_TRUE(set.spend(17));
  const Hash256 before = root_of(set);
  for (std::uint64_t i = 3000; i < 3100; ++i) ASSERT_TRUE(set.append(Output(i).data()));
  ASSERT_TRUE(set.spend(2500));
  const Hash256 after = root_of(set);
  {
    NodeOverlay leaves(stores.leaf_nodes), bitmap(stores.bitmap_nodes);
    ChunkOverlay chunks(stores.chunks);
    LiveSet view({leaves, bitmap, chunks}, set.leaves());
    ASSERT_TRUE(view.rewind(3000));
    ASSERT_TRUE(view.unspend(2500));
    EXPECT_EQ(root_of(view), before);
    const auto proof = view.prove(2500);
    ASSERT_EQ(error_of(proof), "");
    EXPECT_EQ(find_fault(Output(2500).complete(*proof), before, kHash), nullptr);
    EXPECT_FALSE(leaves.get(size_of(3100) - 1));
    EXPECT_FALSE(leaves.changes().empty());
  }
  LiveSet again(stores.refs(), set.leaves());
  EXPECT_EQ(root_of(again), after);
}

// A chain of blocks with a window, as the owner of a set sees it.
class History {
 public:
  History(std::uint64_t seed, std::size_t cached_chunks)
      : rng_(seed), cached_chunks_(cached_chunks), set_(stores_.refs(), 0, cached_chunks) {}

  void apply_block() {
    Block block{{}, set_.size(), set_.leaves(), 0};
    for (std::uint64_t i = rng_.below(40); i > 0 && !naive_.data.empty(); --i) {
      // Now old, now young, and now and then a whole row, so that subtrees die.
      const std::uint64_t first = rng_.below(naive_.data.size());
      const std::uint64_t count = rng_.one_in(5) ? rng_.below(300) : 1;
      for (std::uint64_t leaf = first; leaf < first + count && leaf < naive_.live.size(); ++leaf) {
        if (!naive_.live[leaf]) continue;
        naive_.live[leaf] = false;
        block.spent.push_back(leaf);
        ASSERT_EQ(error_of(set_.spend(leaf)), "");
      }
    }
    const std::uint64_t added = rng_.one_in(10) ? rng_.below(1500) : rng_.below(60);
    for (std::uint64_t i = 0; i < added; ++i) {
      outputs_.emplace_back(naive_.data.size(), ++branch_ % 200);
      naive_.data.push_back(outputs_.back().data());
      naive_.live.push_back(true);
      ASSERT_EQ(set_.append(naive_.data.back()).value_or(~0ull), naive_.data.size() - 1);
    }
    block.size_after = set_.size();
    window_.push_back(block);
  }

  void roll_back_one() {
    if (window_.empty()) return;
    const Block& block = window_.back();
    const bool unspend_first = rng_.one_in(2);
    if (!unspend_first) {
      ASSERT_EQ(error_of(set_.rewind(block.leaves_before)), "");
    }
    for (const std::uint64_t leaf : block.spent) {
      naive_.live[leaf] = true;
      ASSERT_EQ(error_of(set_.unspend(leaf)), "");
    }
    // The second time there is nothing left to cut off.
    ASSERT_EQ(error_of(set_.rewind(block.leaves_before)), "");
    naive_.data.resize(block.leaves_before);
    naive_.live.resize(block.leaves_before);
    outputs_.resize(block.leaves_before, Output(0));
    window_.pop_back();
  }

  // Makes the oldest blocks final, one by one or several in one go.
  void leave_window(std::size_t blocks) {
    std::vector<std::uint64_t> spent;
    std::uint64_t before = 0;
    for (std::size_t i = 0; i < blocks; ++i, window_.pop_front()) {
      if (i == 0) before = window_.front().size_before;
      spent.insert(spent.end(), window_.front().spent.begin(), window_.front().spent.end());
      final_size_ = window_.front().size_after;
    }
    ASSERT_EQ(error_of(set_.prune({spent, before, final_size_})), "");
    for (const std::uint64_t leaf : spent) finally_spent_.push_back(leaf);
  }

  void reopen() {
    ASSERT_EQ(error_of(set_.flush_chunks()), "");
    const std::uint64_t leaves = set_.leaves();
    std::destroy_at(&set_);
    std::construct_at(&set_, stores_.refs(), leaves, cached_chunks_);
  }

  void compare() {
    const Hash256 root = root_of(set_);
    ASSERT_EQ(root, naive_.root());
    for (int i = 0; i < 20 && !naive_.data.empty(); ++i) {
      const std::uint64_t leaf = rng_.below(naive_.data.size());
      ASSERT_EQ(set_.live(leaf).value(), naive_.live[leaf]);
      const auto proof = set_.prove(leaf);
      ASSERT_EQ(proof.has_value(), naive_.live[leaf]) << error_of(proof);
      if (!proof) {
        ASSERT_EQ(proof.error().code, Code::kNotFound);
        continue;
      }
      ASSERT_EQ(find_fault(outputs_[leaf].complete(*proof), root, kHash), nullptr);
    }
  }

  // Exactly what must be kept is kept: a node goes when its parent is final and all leaves below
  // that are finally spent.
  void compare_nodes() {
    const std::vector<Bytes> items(naive_.data.size(), Bytes(1));
    const NaiveRange range = naive_range(items, 0);
    std::vector<bool> gone(range.nodes.size());
    for (const std::uint64_t leaf : finally_spent_) gone[leaf_position(leaf)] = true;
    for (const NaiveNode& node : range.nodes)
      if (node.height > 0)
        gone[node.position] = node.position < final_size_ && gone[node.left] && gone[node.right];
    for (const NaiveNode& node : range.nodes) {
      const bool kept = node.parent >= range.nodes.size() || !gone[node.parent];
      const auto found = stores_.leaf_nodes.nodes.find(node.position);
      ASSERT_EQ(found != stores_.leaf_nodes.nodes.end(), kept) << node.position;
      ASSERT_TRUE(!kept || found->second.gone == gone[node.position]) << node.position;
    }
    ASSERT_LE(stores_.leaf_nodes.nodes.size(), range.nodes.size());
    const std::uint64_t chunks = (naive_.data.size() + 1023) / 1024;
    ASSERT_EQ(stores_.bitmap_nodes.nodes.size(), size_of(chunks));
    for (const auto& [index, chunk] : stores_.chunks.chunks)
      ASSERT_TRUE(index < chunks && !chunk.is_zero()) << index;
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      apply_block();
      if (rng_.one_in(4))
        for (std::uint64_t depth = rng_.below(window_.size() + 1); depth > 0; --depth)
          roll_back_one();
      if (window_.size() > 6) leave_window(rng_.between(1, window_.size() - 2));
      if (rng_.one_in(5)) reopen();
      if (rng_.one_in(3)) compare();
    }
    compare();
    compare_nodes();
    // Cut off everything that may still be cut off.
    while (!window_.empty() && !testing::Test::HasFatalFailure()) roll_back_one();
    reopen();
    compare();
    compare_nodes();
  }

  std::size_t nodes() const { return stores_.leaf_nodes.nodes.size(); }
  std::uint64_t size() const { return set_.size(); }

 private:
  struct Block {
    std::vector<std::uint64_t> spent;
    std::uint64_t size_before = 0, leaves_before = 0, size_after = 0;
  };
  Rng rng_;
  std::size_t cached_chunks_;
  MemoryStores stores_;
  LiveSet set_;
  NaiveSet naive_;
  std::vector<Output> outputs_;
  std::deque<Block> window_;
  std::vector<std::uint64_t> finally_spent_;
  std::uint64_t final_size_ = 0;
  std::uint64_t branch_ = 0;
};

TEST(LiveSet, AnyHistoryEndsAsIfComputedFromScratch) {
  const std::uint64_t seed = random_seed();
  std::size_t kept = 0, made = 0;
  for (std::uint64_t run = 0; run < 40; ++run) {
    SCOPED_TRACE("seed " + std::to_string(seed + run));
    // With one chunk in memory, flush_chunks() runs by itself all the time.
    History history(seed + run, run % 3 == 0 ? 1 + run % 2 : LiveSet::kMaxCachedChunks);
    history.run(40);
    if (HasFatalFailure()) return;
    kept += history.nodes();
    made += history.size();
  }
  EXPECT_LT(kept, made) << "nothing was pruned in 40 histories; seed " << seed;
}

}  // namespace
}  // namespace coffer::mmr
