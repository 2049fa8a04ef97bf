// Logs against trees built from scratch: every entry and every older size is proved, and a proof
// that was changed in any way is refused.
#include <coffer/mmr/check.h>

#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"
#include "mmr/mountain_range.h"
#include "mmr/test_support.h"

namespace coffer::mmr {
namespace {

constexpr std::uint64_t kSizes = 130;

// An entry of a test is its index in 8 bytes, as in docs/formats/mmr.md.
Bytes entry(std::uint64_t index) {
  Bytes bytes;
  append_be64(bytes, index);
  return bytes;
}
Hash256 data_of(std::uint64_t index) {
  return crypto::blake2b_256(entry(index));
}
Digest leaf(std::uint64_t index) {
  return log_leaf(index, entry(index), kHash);
}

// By the shortest code that follows the format.
LogState naive_state(std::uint64_t size) {
  std::vector<Bytes> items;
  for (std::uint64_t i = 0; i < size; ++i) {
    const Hash256 data = data_of(i);
    items.emplace_back(data.begin(), data.end());
  }
  return {size, naive_range(items, 0x20).root};
}

// A log of so many entries, with all states that it went through.
struct TestLog {
  explicit TestLog(std::uint64_t size) : range(nodes, kLogTags, 0) {
    states.push_back(naive_state(0));
    for (std::uint64_t i = 0; i < size; ++i) {
      EXPECT_EQ(error_of(range.append(data_of(i).view())), "");
      states.push_back(naive_state(i + 1));
    }
  }
  MemoryNodes nodes;
  MountainRange range;
  std::vector<LogState> states;
};

TestLog& big_log() {
  static TestLog log(kSizes);
  return log;
}
// The same log when it was shorter: its nodes are the first of the longer one.
MountainRange range_at(std::uint64_t size) {
  return {big_log().nodes, kLogTags, size};
}

struct Inclusion {
  LogState log;
  std::uint64_t index = 0;
  Digest leaf_hash{};
  std::vector<Digest> path;
  const char* fault() const { return find_inclusion_fault(log, index, leaf_hash, path, kHash); }
};
Inclusion inclusion(std::uint64_t size, std::uint64_t index) {
  return {big_log().states[size], index, leaf(index), range_at(size).path(index).value()};
}

struct Consistency {
  LogState older, newer;
  std::vector<Digest> proof;
  const char* fault() const { return find_consistency_fault(older, newer, proof, kHash); }
};
Consistency consistency(std::uint64_t from, std::uint64_t to) {
  return {big_log().states[from], big_log().states[to],
          range_at(to).consistency_proof(from).value()};
}

TEST(Log, RootsAreThoseOfANaiveTree) {
  LogReplay replay;
  for (std::uint64_t size = 0; size <= kSizes; ++size) {
    const Digest expected = big_log().states[size].root;
    ASSERT_EQ(range_at(size).root().value(), expected) << size;
    ASSERT_EQ(replay.state(kHash).root, expected) << size;
    ASSERT_EQ(replay.state(kHash).size, size);
    replay.add(leaf(size), kHash);
  }
}

TEST(Log, EveryEntryOfEverySizeIsProved) {
  for (std::uint64_t size = 1; size <= kSizes; ++size)
    for (std::uint64_t index = 0; index < size; ++index)
      ASSERT_STREQ(inclusion(size, index).fault(), nullptr) << index << " of " << size;
}

TEST(Log, EverySizeIsProvedToBeginWithEveryOlderOne) {
  for (std::uint64_t to = 0; to <= kSizes; ++to)
    for (std::uint64_t from = 0; from <= to; ++from)
      ASSERT_STREQ(consistency(from, to).fault(), nullptr) << from << " to " << to;
}

// Calls `expect_refused` with each change of a list of hashes in turn: one missing, one more, two
// swapped, or a bit flipped, another one in each hash.
void change_hashes(std::vector<Digest>& hashes, const std::function<void()>& expect_refused) {
  const std::vector<Digest> good = hashes;
  for (std::size_t at = 0; at <= good.size(); ++at) {
    hashes.insert(hashes.begin() + static_cast<std::ptrdiff_t>(at), Digest{});
    expect_refused();
    hashes = good;
    if (at == good.size()) break;
    hashes.erase(hashes.begin() + static_cast<std::ptrdiff_t>(at));
    expect_refused();
    hashes = good;
    hashes[at][at * 5 % 32] ^= static_cast<std::uint8_t>(1u << at % 8);
    expect_refused();
    hashes = good;
    if (at == 0) continue;
    std::swap(hashes[at - 1], hashes[at]);
    expect_refused();
    hashes = good;
  }
}

TEST(Log, ChangedPathsOfEverySizeAreRefused) {
  for (std::uint64_t size = 1; size <= kSizes; size += size < 40 ? 1 : 9)
    for (std::uint64_t index = 0; index < size; ++index) {
      Inclusion changed = inclusion(size, index);
      const auto expect_refused = [&] { ASSERT_NE(changed.fault(), nullptr) << index << size; };
      change_hashes(changed.path, expect_refused);
      changed.leaf_hash = leaf(index + 1);
      expect_refused();
    }
}

TEST(Log, ChangedConsistencyProofsOfEveryPairAreRefused) {
  for (std::uint64_t to = 1; to <= kSizes; ++to)
    for (std::uint64_t from = 1; from <= to; ++from) {
      Consistency changed = consistency(from, to);
      const auto expect_refused = [&] { ASSERT_NE(changed.fault(), nullptr) << from << " " << to; };
      change_hashes(changed.proof, expect_refused);
      for (LogState Consistency::* state : {&Consistency::older, &Consistency::newer}) {
        (changed.*state).root[from % 32] ^= 1;
        expect_refused();
        changed = consistency(from, to);
        for (const std::uint64_t size : {std::uint64_t{1}, ~std::uint64_t{0}}) {
          (changed.*state).size += size;
          // Nothing is claimed about what follows an empty log.
          if (changed.older.size != 0 || changed.older.root != Digest{}) expect_refused();
          changed = consistency(from, to);
        }
      }
    }
}

template <typename Proof, typename Container>
void flip_all(Proof& proof, Container& bytes) {
  for (auto& byte : bytes)
    for (unsigned bit = 0; bit < 8; ++bit) {
      byte ^= static_cast<std::uint8_t>(1u << bit);
      ASSERT_NE(proof.fault(), nullptr);
      byte ^= static_cast<std::uint8_t>(1u << bit);
    }
  ASSERT_EQ(proof.fault(), nullptr);
}
template <typename Proof>
void flip_all(Proof& proof, std::uint64_t& number) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    number ^= std::uint64_t{1} << bit;
    ASSERT_NE(proof.fault(), nullptr) << bit;
    number ^= std::uint64_t{1} << bit;
  }
}

TEST(Log, EveryFlippedBitIsRefused) {
  for (const auto& [size, index] : {std::pair{107u, 70u}, {64u, 63u}, {1u, 0u}, {77u, 76u}}) {
    Inclusion proof = inclusion(size, index);
    flip_all(proof, proof.log.size);
    flip_all(proof, proof.log.root);
    flip_all(proof, proof.index);
    flip_all(proof, proof.leaf_hash);
    for (Digest& hash : proof.path) flip_all(proof, hash);
  }
  for (const auto& [from, to] : {std::pair{43u, 107u}, {106u, 107u}, {64u, 65u}, {1u, 127u}}) {
    Consistency proof = consistency(from, to);
    flip_all(proof, proof.older.size);
    flip_all(proof, proof.older.root);
    flip_all(proof, proof.newer.size);
    flip_all(proof, proof.newer.root);
    for (Digest& hash : proof.proof) flip_all(proof, hash);
  }
}

TEST(Log, ProofHoldsForItsOwnSizesOnly) {
  for (const auto& [from, to] : {std::pair{11u, 23u}, {8u, 9u}, {1u, 2u}, {22u, 24u}}) {
    Consistency proof = consistency(from, to);
    for (std::uint64_t older = 1; older <= 2 * kSizes; ++older)
      for (std::uint64_t newer = 0; newer <= 2 * kSizes; ++newer) {
        proof.older.size = older;
        proof.newer.size = newer;
        ASSERT_EQ(proof.fault() == nullptr, older == from && newer == to) << older << " " << newer;
      }
  }
  Inclusion proof = inclusion(23, 17);
  for (proof.log.size = 0; proof.log.size <= 2 * kSizes; ++proof.log.size)
    for (proof.index = 0; proof.index <= 2 * kSizes; ++proof.index)
      ASSERT_EQ(proof.fault() == nullptr, proof.log.size == 23 && proof.index == 17);
}

// The hash that would make a log with another history pass must stand for the old history.
TEST(Log, RewrittenHistoryIsRefused) {
  MemoryNodes nodes;
  MountainRange forged(nodes, kLogTags, 0);
  for (std::uint64_t i = 0; i < 100; ++i)
    ASSERT_TRUE(forged.append(data_of(i == 20 ? 1'000 : i).view()));
  Consistency proof = consistency(50, 100);
  proof.newer.root = forged.root().value();
  EXPECT_NE(proof.fault(), nullptr);
  proof.proof = forged.consistency_proof(50).value();
  EXPECT_STREQ(proof.fault(), "the proof starts from another root");
}

TEST(Log, ErrorsNameTheFault) {
  const auto inclusion_fault = [](auto change) {
    Inclusion proof = inclusion(11, 5);
    change(proof);
    return std::string(proof.fault());
  };
  EXPECT_EQ(inclusion_fault([](auto& p) { p.log.size = kMaxLogSize + 1; }), "no log has this size");
  EXPECT_EQ(inclusion_fault([](auto& p) { p.index = 11; }), "the log has no such entry");
  EXPECT_EQ(inclusion_fault([](auto& p) { p.log.size = 0; }), "the log has no such entry");
  EXPECT_EQ(inclusion_fault([](auto& p) { p.path.pop_back(); }), "the path has a wrong length");
  EXPECT_EQ(inclusion_fault([](auto& p) { p.leaf_hash[0] ^= 1; }),
            "the proof leads to another root");

  const auto consistency_fault = [](auto change) {
    Consistency proof = consistency(6, 11);
    change(proof);
    return std::string(proof.fault());
  };
  EXPECT_EQ(consistency_fault([](auto& p) { p.newer.size = kMaxLogSize + 1; }),
            "no log grows from one of these sizes to the other");
  EXPECT_EQ(consistency_fault([](auto& p) { p.older.size = 12; }),
            "no log grows from one of these sizes to the other");
  EXPECT_EQ(consistency_fault([](auto& p) { p.older.size = 0; }), "the empty log has another root");
  EXPECT_EQ(consistency_fault([](auto& p) { p.older = {}; }), "the proof has a wrong length");
  EXPECT_EQ(consistency_fault([](auto& p) { p.older.size = 11; }),
            "there are two roots for one size");
  EXPECT_EQ(consistency_fault([](auto& p) { p.proof[0][0] ^= 1; }),
            "the proof starts from another root");
  EXPECT_EQ(consistency_fault([](auto& p) { p.proof.pop_back(); }), "the proof has a wrong length");
  EXPECT_EQ(consistency_fault([](auto& p) { p.proof[2][0] ^= 1; }),
            "the proof leads to another root");
}

TEST(Log, HasTheHashesOfAnIndependentImplementation) {
  // They stand in docs/formats/mmr.md too.
  const auto hex = [](const Digest& hash) { return to_hex(hash); };
  const std::pair<std::uint64_t, const char*> roots[] = {
      {1, "90e95b43ad7c08baed8b50f65baf63da8d0c450dfe9c3f9e7b568b1e2b159215"},
      {2, "16fdded7e44cc8b722908224b821aa181f51e85c99c0ca6afb3805b7cc5e7e04"},
      {6, "bcdc480a34490f2bcc51a3e46c4627ae81f38c635425a53ab4657a3a150bee65"},
      {11, "2d57e3c0a7fbd307d76037527ed970fe59290c9c9b749ab679f2f3649b251d9f"},
      {5000, "acf3b22f1d4f575666daa56e5fc1713c94dec281579799b80d6f127b8fefa9a3"}};
  MemoryNodes nodes;
  MountainRange range(nodes, kLogTags, 0);
  for (const auto& [size, root] : roots) {
    while (range.leaves() < size) ASSERT_TRUE(range.append(data_of(range.leaves()).view()));
    EXPECT_EQ(range.root().value().hex(), root);
  }
  const std::string four = "06973f8d6d5d43cd4804c317d8629c5a3ce4ebceee68c788480d16a42847e0ec",
                    six_seven = "112fb167fc7ad5838281d1961c46e157013fbccc3de276e9d4f087b93b13762d",
                    behind = "e5697a687d0b8fc943c8fad932669f2255c95b961e88d67ed2c03f58705f3be7";
  const Inclusion fifth = inclusion(11, 5);
  EXPECT_EQ(hex(fifth.leaf_hash),
            "ea62c4a8b9c1d6377ad261a685773baf3d6b9f3d5aa33585beed9193e6197b52");
  ASSERT_EQ(fifth.path.size(), 4u);
  EXPECT_EQ(hex(fifth.path[0]), "e9a3f3786ec0283f479327fd08c13734bdf21cd92e45b1d8d2b440e01e37cb8f");
  EXPECT_EQ(hex(fifth.path[1]), six_seven);
  EXPECT_EQ(hex(fifth.path[2]), four);
  EXPECT_EQ(hex(fifth.path[3]), behind);
  const Consistency grown = consistency(6, 11);
  ASSERT_EQ(grown.proof.size(), 4u);
  EXPECT_EQ(hex(grown.proof[0]), four);
  EXPECT_EQ(hex(grown.proof[1]),
            "e88328387db3d263a4839629a9fd7e7b3b85b144103d500e49415e0b0cce10c3");
  EXPECT_EQ(hex(grown.proof[2]), six_seven);
  EXPECT_EQ(hex(grown.proof[3]), behind);
}

}  // namespace
}  // namespace coffer::mmr
