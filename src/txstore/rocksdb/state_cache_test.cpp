#include "txstore/rocksdb/state_cache.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace coffer::txstore {
namespace {

Hash256 id_of(std::uint64_t number) {
  Hash256 id{};
  Rng rng(number + 1);
  for (std::size_t i = 0; i < Hash256::kSize; i += 8) store_le(id.data() + i, rng());
  return id;
}

Bytes copy(ByteView view) {
  return Bytes(view.begin(), view.end());
}

TEST(StateCache, KnowsWhatWasPutLast) {
  StateCache cache(1u << 20);
  EXPECT_FALSE(cache.find(id_of(1)));
  cache.put(id_of(1), Bytes{1, 2, 3});
  cache.put(id_of(2), Bytes{4});
  cache.put(id_of(1), Bytes{5, 6});
  EXPECT_EQ(copy(cache.find(id_of(1)).value()), (Bytes{5, 6}));
  EXPECT_EQ(copy(cache.find(id_of(2)).value()), Bytes{4});
  EXPECT_FALSE(cache.find(id_of(3)));
}

TEST(StateCache, DeletedKeyIsKnownToBeAbsent) {
  StateCache cache(1u << 20);
  cache.put(id_of(1), Bytes{1});
  cache.put(id_of(1), {});
  ASSERT_TRUE(cache.find(id_of(1)));
  EXPECT_TRUE(cache.find(id_of(1))->empty());
}

TEST(StateCache, ClearForgetsAll) {
  StateCache cache(1u << 20);
  cache.put(id_of(1), Bytes{1});
  cache.clear();
  EXPECT_FALSE(cache.find(id_of(1)));
}

TEST(StateCache, WithoutMemoryItKnowsNothing) {
  StateCache cache(0);
  cache.put(id_of(1), Bytes{1});
  EXPECT_FALSE(cache.find(id_of(1)));
}

TEST(StateCache, UsedEntriesOutliveUnusedOnes) {
  StateCache cache(64u << 10);
  cache.put(id_of(0), Bytes(50, 7));
  for (std::uint64_t i = 1; i < 5'000; ++i) {
    cache.put(id_of(i), Bytes(50, 1));
    if (i % 100 == 0) {
      EXPECT_TRUE(cache.find(id_of(0))) << i;
    }
  }
  EXPECT_EQ(copy(cache.find(id_of(0)).value()), Bytes(50, 7));
  EXPECT_FALSE(cache.find(id_of(1)));
}

// Whatever it forgets, it never says anything that was not put last.
TEST(StateCache, AgreesWithAMap) {
  Rng rng(20'261'118);
  StateCache cache(16u << 10);
  std::map<std::uint64_t, Bytes> model;
  std::uint64_t found = 0;
  for (int step = 0; step < 200'000; ++step) {
    const std::uint64_t number = rng.below(400);
    if (rng.below(3) == 0) {
      Bytes value(rng.below(120), static_cast<std::uint8_t>(rng.below(256)));
      cache.put(id_of(number), value);
      model[number] = std::move(value);
    } else if (const auto value = cache.find(id_of(number))) {
      ASSERT_EQ(copy(*value), model.at(number)) << "step " << step;
      ++found;
    }
  }
  EXPECT_GT(found, 10'000u);
}

}  // namespace
}  // namespace coffer::txstore
