// A proof holds as it is, and in no other way.
#include <coffer/mmr/check.h>

#include <gtest/gtest.h>

#include "base/random.h"
#include "mmr/test_support.h"

namespace coffer::mmr {
namespace {

struct Given {
  UnspentProof proof;
  Digest root;
};

// So many leaves, two of three spent; a proof of one.
Given make(std::uint64_t leaves, std::uint64_t leaf) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  for (std::uint64_t i = 0; i < leaves; ++i) EXPECT_TRUE(set.append(Output(i).data()));
  for (std::uint64_t i = 0; i < leaves; ++i)
    EXPECT_TRUE(i % 3 == 0 || i == leaf || set.spend(i).has_value());
  const auto proof = set.prove(leaf);
  EXPECT_EQ(error_of(proof), "");
  return {Output(leaf).complete(proof.value()), set.root().value()};
}

const Given& a_small_one() {
  static const Given given = make(11, 5);
  return given;
}
// Several peaks on either side, in both MMRs: 7 chunks are peaks over 4, 2 and 1.
const Given& a_large_one() {
  static const Given given = make(6 * 1024 + 7, 4 * 1024 + 3);
  return given;
}

bool holds(const Given& given) {
  return check(given.proof, given.root, kHash);
}

TEST(Check, AcceptsGoodProofs) {
  EXPECT_TRUE(holds(a_small_one()));
  EXPECT_TRUE(holds(a_large_one()));
  EXPECT_GT(a_large_one().proof.chunk_path.size(), 2u);
  EXPECT_TRUE(holds(make(1, 0)));
  const auto [proof, root] = make(1, 0);
  EXPECT_TRUE(proof.leaf_path.empty());
  EXPECT_TRUE(proof.chunk_path.empty());
}

// Flips every bit of some bytes of a proof, one at a time; none may hold.
template <typename Container>
void flip_all(Given& given, Container& bytes) {
  for (auto& byte : bytes)
    for (unsigned bit = 0; bit < 8; ++bit) {
      byte ^= static_cast<std::uint8_t>(1u << bit);
      ASSERT_FALSE(holds(given));
      byte ^= static_cast<std::uint8_t>(1u << bit);
    }
  ASSERT_TRUE(holds(given));
}
void flip_all(Given& given, std::uint64_t& number) {
  for (unsigned bit = 0; bit < 64; ++bit) {
    number ^= std::uint64_t{1} << bit;
    ASSERT_FALSE(holds(given)) << bit;
    number ^= std::uint64_t{1} << bit;
  }
}

TEST(Check, EveryFlippedBitIsRefused) {
  for (Given given : {a_small_one(), a_large_one()}) {
    flip_all(given, given.root);
    flip_all(given, given.proof.size);
    flip_all(given, given.proof.position);
    flip_all(given, given.proof.outpoint);
    flip_all(given, given.proof.record);
    flip_all(given, given.proof.chunk);
    for (Digest& hash : given.proof.leaf_path) flip_all(given, hash);
    for (Digest& hash : given.proof.chunk_path) flip_all(given, hash);
  }
}

TEST(Check, OtherSizeOrPositionIsRefused) {
  Given given = a_small_one();
  const UnspentProof good = given.proof;
  for (std::uint64_t size = 0; size < 300; ++size)
    for (std::uint64_t position = 0; position < 300; ++position) {
      given.proof.size = size;
      given.proof.position = position;
      ASSERT_EQ(holds(given), size == good.size && position == good.position);
    }
}

TEST(Check, MissingSurplusOrMovedHashIsRefused) {
  for (const Given& good : {a_small_one(), a_large_one()})
    for (auto path : {&UnspentProof::leaf_path, &UnspentProof::chunk_path}) {
      const std::size_t length = (good.proof.*path).size();
      for (std::size_t at = 0; at <= length; ++at) {
        Given given = good;
        auto& hashes = given.proof.*path;
        hashes.insert(hashes.begin() + static_cast<std::ptrdiff_t>(at), Digest{});
        EXPECT_FALSE(holds(given));
        if (at == length) continue;
        hashes = good.proof.*path;
        hashes.erase(hashes.begin() + static_cast<std::ptrdiff_t>(at));
        EXPECT_FALSE(holds(given));
        hashes = good.proof.*path;
        std::swap(hashes[at], hashes[(at + 1) % length]);
        EXPECT_EQ(holds(given), length == 1);
      }
    }
}

TEST(Check, BytesOfTheOutpointCannotMoveIntoTheRecord) {
  Given given = a_small_one();
  given.proof.record.insert(given.proof.record.begin(), given.proof.outpoint.back());
  given.proof.outpoint.pop_back();
  EXPECT_STREQ(find_fault(given.proof, given.root, kHash), "the outpoint has a wrong length");
}

TEST(Check, ErrorsNameTheFault) {
  const auto fault = [](auto change) {
    Given given = a_large_one();
    change(given.proof);
    return std::string(find_fault(given.proof, given.root, kHash));
  };
  EXPECT_EQ(fault([](auto& p) { p.outpoint.clear(); }), "the outpoint has a wrong length");
  EXPECT_EQ(fault([](auto& p) { p.record.resize(kMaxRecordBytes + 1); }),
            "the record is too large");
  EXPECT_EQ(fault([](auto& p) { p.size = ~0ull; }), "no MMR has this size");
  EXPECT_EQ(fault([](auto& p) { p.size = 0; }), "the position is not that of a leaf");
  EXPECT_EQ(fault([](auto& p) { p.position = p.size; }), "the position is not that of a leaf");
  EXPECT_EQ(fault([](auto& p) { p.position = 2; }), "the position is not that of a leaf");
  EXPECT_EQ(fault([](auto& p) { p.chunk = {}; }), "the output is spent: its bit is not set");
  EXPECT_EQ(fault([](auto& p) { p.leaf_path.clear(); }), "the leaf's path has a wrong length");
  EXPECT_EQ(fault([](auto& p) { p.chunk_path.clear(); }), "the chunk's path has a wrong length");
  EXPECT_EQ(fault([](auto& p) { p.record.push_back(0); }), "the proof leads to another root");
}

TEST(Check, OldProofOfSpentOutputFailsAtNewRoot) {
  MemoryStores stores;
  LiveSet set(stores.refs(), 0);
  for (std::uint64_t i = 0; i < 2000; ++i) ASSERT_TRUE(set.append(Output(i).data()));
  const UnspentProof old = Output(1500).complete(set.prove(1500).value());
  const Hash256 old_root = set.root().value();
  ASSERT_TRUE(set.spend(1500));
  const Hash256 root = set.root().value();
  EXPECT_EQ(set.prove(1500).error().code, Code::kNotFound);
  EXPECT_TRUE(check(old, old_root, kHash));
  EXPECT_FALSE(check(old, root, kHash));

  // Nor does it with the path and chunk of its living neighbour.
  UnspentProof forged = old;
  const UnspentProof neighbour = set.prove(1501).value();
  forged.chunk = neighbour.chunk;
  forged.chunk_path = neighbour.chunk_path;
  EXPECT_STREQ(find_fault(forged, root, kHash), "the output is spent: its bit is not set");
  forged.chunk[1500 / 8 % 128] |= 1u << 1500 % 8;
  EXPECT_STREQ(find_fault(forged, root, kHash), "the proof leads to another root");
}

TEST(Check, HostileNumbersEndQuickly) {
  Rng rng(1);
  for (int i = 0; i < 20'000; ++i) {
    UnspentProof proof;
    proof.outpoint.resize(34);
    const std::uint64_t leaves = rng() >> (2 + rng.below(62));
    proof.size = size_of(leaves);
    proof.position = leaf_position(leaves == 0 ? 0 : rng.below(leaves));
    proof.chunk.fill(0xff);
    proof.leaf_path.resize(rng.below(130));
    proof.chunk_path.resize(rng.below(130));
    std::size_t hashes = 0;
    const auto counting = [&](const std::uint8_t*, std::size_t) {
      ++hashes;
      return Digest{};
    };
    EXPECT_FALSE(check(proof, Digest{{1}}, counting));
    ASSERT_LE(hashes, 160u);
  }
}

}  // namespace
}  // namespace coffer::mmr
