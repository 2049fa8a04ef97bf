#include "txstore/undo.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace coffer::txstore {
namespace {

Hash256 undo_hash(Rng& rng) {
  Hash256 hash;
  for (std::uint8_t& byte : hash) byte = static_cast<std::uint8_t>(rng.below(256));
  return hash;
}

Entry undo_entry(Rng& rng) {
  Entry entry;
  entry.hash = undo_hash(rng);
  entry.amount = Amount(rng.below(~std::uint64_t{0}));
  entry.unspendable = rng.one_in(2);
  entry.removed = rng.one_in(2);
  entry.spent = rng.one_in(2);
  entry.final = rng.one_in(2);
  entry.frozen = rng.one_in(2);
  if (rng.one_in(2)) entry.spendable_at = rng.below(1'000);  // 0 is a height too
  entry.spender = undo_hash(rng);
  entry.spender_input = static_cast<std::uint32_t>(rng.below(1u << 20));
  return entry;
}

UndoData random_undo(Rng& rng) {
  UndoData undo;
  for (std::uint64_t txs = rng.below(4); txs > 0; --txs) {
    UndoData::Tx& tx = undo.txs.emplace_back();
    tx.id = undo_hash(rng);
    if (rng.one_in(2))
      for (std::uint64_t entries = rng.below(20); entries > 0; --entries)
        tx.replaced.push_back(undo_entry(rng));
  }
  for (std::uint64_t removed = rng.below(4); removed > 0; --removed)
    undo.removed.push_back({undo_hash(rng), static_cast<std::uint32_t>(rng.below(1'000))});
  return undo;
}

void expect_same_undo(const UndoData& a, const UndoData& b) {
  EXPECT_EQ(a.removed, b.removed);
  ASSERT_EQ(a.txs.size(), b.txs.size());
  for (std::size_t i = 0; i < a.txs.size(); ++i) {
    EXPECT_EQ(a.txs[i].id, b.txs[i].id);
    ASSERT_EQ(a.txs[i].replaced.size(), b.txs[i].replaced.size());
    const auto tied = [](const Entry& e) {
      return std::tie(e.hash, e.amount, e.unspendable, e.removed, e.spent, e.final, e.frozen,
                      e.spendable_at, e.spender, e.spender_input);
    };
    for (std::size_t k = 0; k < a.txs[i].replaced.size(); ++k)
      EXPECT_TRUE(tied(a.txs[i].replaced[k]) == tied(b.txs[i].replaced[k])) << "entry " << k;
  }
}

TEST(UndoData, RoundTrips) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    const UndoData undo = random_undo(rng);
    const auto read = decode_undo(encode_undo(undo));
    ASSERT_TRUE(read) << read.error().message;
    ASSERT_NO_FATAL_FAILURE(expect_same_undo(undo, *read));
  }
}

TEST(UndoData, EveryTruncationAndExtensionIsCorrupt) {
  Rng rng(2);
  for (int i = 0; i < 50; ++i) {
    Bytes bytes = encode_undo(random_undo(rng));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto read = decode_undo(ByteView(bytes).first(size));
      ASSERT_FALSE(read) << "first " << size << " of " << bytes.size();
      EXPECT_EQ(read.error().code, Code::kCorrupt);
    }
    bytes.push_back(0);
    EXPECT_EQ(decode_undo(bytes).error().code, Code::kCorrupt);
  }
}

// A count that the bytes cannot hold ends with them, and takes no memory for what is not there.
TEST(UndoData, HugeCountsAreCorrupt) {
  for (const std::size_t at : {0u, 36u}) {
    UndoData undo;
    undo.txs.push_back({Hash256{}, {}});
    Bytes bytes = encode_undo(undo);
    for (std::size_t i = 0; i < 4; ++i) bytes[at + i] = 0xff;
    EXPECT_EQ(decode_undo(bytes).error().code, Code::kCorrupt);
  }
}

}  // namespace
}  // namespace coffer::txstore
