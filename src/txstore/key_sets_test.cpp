#include "txstore/key_sets.h"

#include <gtest/gtest.h>

namespace coffer::txstore {
namespace {

Bytes key(std::uint64_t number) {
  Bytes bytes;
  append_be64(bytes, number);
  return bytes;
}

TEST(KeySets, SameKeysInAnyOrderDoNotDiffer) {
  KeySets sets;
  EXPECT_FALSE(sets.differing_part());
  for (std::uint64_t i = 0; i < 20'000; ++i) sets.add_expected(key(i));
  EXPECT_TRUE(sets.differing_part());
  for (std::uint64_t i = 20'000; i-- > 0;) sets.add_found(key(i));
  EXPECT_FALSE(sets.differing_part());
}

TEST(KeySets, DifferenceIsInThePartOfTheKey) {
  for (std::uint64_t odd = 0; odd < 200; ++odd) {
    KeySets missing, too_many;
    for (std::uint64_t i = 0; i < 200; ++i) {
      missing.add_expected(key(i));
      too_many.add_found(key(i));
      if (i == odd) continue;
      missing.add_found(key(i));
      too_many.add_expected(key(i));
    }
    EXPECT_EQ(missing.differing_part(), KeySets::part_of(key(odd)));
    EXPECT_EQ(too_many.differing_part(), KeySets::part_of(key(odd)));
  }
}

// So that what has to be held to name a difference is a small part of the whole.
TEST(KeySets, PartsAreOfEqualSize) {
  std::vector<int> sizes(KeySets::kParts);
  for (std::uint64_t i = 0; i < 100 * std::uint64_t{KeySets::kParts}; ++i)
    ++sizes.at(KeySets::part_of(key(i)));
  for (const int size : sizes) {
    EXPECT_GT(size, 40);
    EXPECT_LT(size, 180);
  }
}

}  // namespace
}  // namespace coffer::txstore
