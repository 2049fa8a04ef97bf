// Logs too large to be built, and proofs that somebody made up.
#include <gtest/gtest.h>

#include "base/random.h"
#include "mmr/mountain_range.h"
#include "mmr/test_support.h"

namespace coffer::mmr {
namespace {

// A tree of any size of which only what stands above two leaves is really hashed. The hash of a
// node with neither of them below it is made up, because no proof shows what is below.
class SparseNodes final : public NodeStore {
 public:
  SparseNodes(std::uint64_t first, std::uint64_t second) : leaves_{first, second} {}

  Result<Node> get(std::uint64_t position) override { return Node{hash_of(place_of(position))}; }
  void put(std::uint64_t, const Node&) override { ADD_FAILURE(); }
  void drop(std::uint64_t) override { ADD_FAILURE(); }

  Hash256 hash_of(Place place) const {
    const std::uint64_t position = position_of(place);
    const bool made_up =
        leaves_[0] >> place.height != place.index && leaves_[1] >> place.height != place.index;
    if (place.height == 0 || made_up) return naive_hash(0x77, position, {});
    return naive_hash(0x21, position, hash_of({place.height - 1, 2 * place.index}).view(),
                      hash_of({place.height - 1, 2 * place.index + 1}).view());
  }
  LogState state(std::uint64_t size) const {
    Hash256 root{};
    for (unsigned height = 0; height < 63; ++height) {
      if ((size >> height & 1) == 0) continue;
      const Hash256 peak = hash_of({height, (size >> height) - 1});
      root = root.is_zero() ? peak : naive_hash(0x22, size_of(size), peak.view(), root.view());
    }
    return {size, root};
  }

 private:
  std::array<std::uint64_t, 2> leaves_;
};

TEST(LargeLog, ProofsHoldUpToTheLargestSize) {
  Rng rng(7);
  const auto below = [&](std::uint64_t bound) { return rng.below(bound); };
  for (int round = 0; round < 3'000; ++round) {
    const std::uint64_t most = std::uint64_t{1} << (round % 3 == 0 ? 62 : 40);
    const std::uint64_t size = round % 7 == 0 ? most : 2 + below(most - 2);
    const std::uint64_t older = round % 5 == 0 ? std::bit_floor(size - 1) : 1 + below(size - 1);
    const std::uint64_t index = round % 11 == 0 ? size - 1 : below(size);
    SparseNodes nodes(older - 1, index);
    MountainRange range(nodes, kLogTags, size);
    const LogState newer = nodes.state(size);
    ASSERT_EQ(range.root().value(), newer.root);
    const Digest leaf = nodes.hash_of({0, index});
    ASSERT_STREQ(find_inclusion_fault(newer, index, leaf, range.path(index).value(), kHash),
                 nullptr);
    auto proof = range.consistency_proof(older).value();
    ASSERT_STREQ(find_consistency_fault(nodes.state(older), newer, proof, kHash), nullptr)
        << older << " " << size;
    ASSERT_LE(proof.size(), 125u);
    proof[below(proof.size())][below(32)] ^= 4;
    ASSERT_FALSE(check_consistency(nodes.state(older), newer, proof, kHash));
  }
}

TEST(LargeLog, HostileProofsEndQuickly) {
  Rng rng(1);
  std::size_t hashes = 0;
  const auto counting = [&](const std::uint8_t*, std::size_t) {
    ++hashes;
    return Digest{};
  };
  for (int i = 0; i < 50'000; ++i) {
    // All hashes are zeros, so that the checks do not stop before the end.
    const LogState older{rng() >> rng.below(64), Digest{}}, newer{rng() >> rng.below(64), Digest{}};
    const std::vector<Digest> proof(rng.below(130));
    hashes = 0;
    (void)check_consistency(older, newer, proof, counting);
    ASSERT_LE(hashes, 190u);
    hashes = 0;
    (void)check_inclusion(newer, rng() >> rng.below(64), Digest{}, proof, counting);
    ASSERT_LE(hashes, 130u);
  }
}

}  // namespace
}  // namespace coffer::mmr
