// What the tests of sources that read block files share: writing such files, and a reader.
#pragma once

#include <gtest/gtest.h>

#include <fstream>

#include <coffer/chain/decode.h>
#include <coffer/feed/source.h>
#include "feed/block_file.h"
#include "feed/devnet_chain.h"

namespace coffer::feed {

inline void write(const std::filesystem::path& path, ByteView data,
                  std::ios::openmode mode = std::ios::trunc) {
  std::ofstream out(path, std::ios::binary | std::ios::out | mode);
  out.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(data.size()));
  ASSERT_TRUE(out.good());
}

inline Bytes blk(const chain::Network& network, const std::vector<Bytes>& blocks) {
  Bytes out;
  for (const Bytes& block : blocks) append_block(out, network, BlockFileFormat::kBlk, block);
  return out;
}

inline void apply_key(Bytes& data, ByteView key, std::size_t offset = 0) {
  for (std::size_t i = 0; i < data.size(); ++i) data[i] ^= key[(offset + i) % key.size()];
}

// Everything up to End or Idle, as hashes of the chain that the reader ends with.
inline std::vector<Hash256> follow(Source& source, const chain::Network& network,
                                   std::vector<Hash256> chain = {}, int* backwards = nullptr) {
  for (;;) {
    auto step = source.next(0);
    EXPECT_TRUE(step) << step.error().message;
    if (!step || std::holds_alternative<End>(*step) || std::holds_alternative<Idle>(*step)) break;
    if (auto* back = std::get_if<RolledBack>(&*step)) {
      while (!chain.empty() && chain.back() != back->to.hash) chain.pop_back();
      if (backwards != nullptr) ++*backwards;
      continue;
    }
    auto block = chain::decode(network, std::get<NextBlock>(*step).raw);
    EXPECT_TRUE(block) << block.error().message;
    if (!block) break;
    if (!chain.empty()) {
      EXPECT_EQ(block->prev, chain.back());
    }
    chain.push_back(block->hash);
  }
  return chain;
}

struct Made {
  std::vector<Bytes> blocks;  // stale ones too
  std::vector<Hash256> best;
};

inline Made make(chain::Family family, std::size_t count, std::uint64_t seed = 5) {
  DevnetChain devnet({.family = family, .seed = seed, .txs_per_block = 3, .reorg_every = 8});
  Made made;
  std::size_t longest = 0;
  // Ends when a branch has just become the longest, so that the best chain is not a tie.
  while (made.blocks.size() < count || devnet.best().size() <= longest) {
    longest = std::max(longest, devnet.best().size());
    made.blocks.push_back(devnet.next().block);
  }
  made.best = devnet.best();
  return made;
}

}  // namespace coffer::feed
