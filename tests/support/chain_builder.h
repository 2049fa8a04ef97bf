// For tests: chains of real blocks of either family, block by block, with branches wherever the
// test wants them. For random traffic and reorgs use feed::DevnetChain instead.
#pragma once

#include <coffer/chain/network.h>
#include "feed/devnet_chain.h"

namespace coffer::test {

class ChainBuilder {
 public:
  // Starts with the first block: regtest's genesis block, or the devnet's block 0 on Cardano.
  explicit ChainBuilder(chain::Family family)
      : bitcoin_(family == chain::Family::kBitcoin),
        flavour_(bitcoin_ ? feed::make_bitcoin_flavour() : feed::make_cardano_flavour()) {
    if (const auto genesis = flavour_->genesis_block()) {
      blocks_.push_back(genesis->raw);
      hashes_.push_back(genesis->hash);
    } else {
      mine(1);
    }
  }

  // Adds blocks to the chain's end; the transactions go into the first. Returns the new blocks.
  std::vector<Bytes> mine(std::size_t count, std::vector<feed::DevTxPtr> txs = {}) {
    std::vector<Bytes> mined;
    for (std::size_t i = 0; i < count; ++i) {
      feed::BlockPlan plan;
      plan.height = hashes_.size();
      if (!hashes_.empty()) plan.prev = hashes_.back();
      plan.unix_s = 1'500'000'000 + plan.height * 600;
      plan.slot = plan.height * feed::kDevnetSlotsPerBlock;
      plan.nonce = nonce_++;
      plan.txs = std::exchange(txs, {});
      feed::BuiltBlock block = flavour_->build_block(plan);
      if (!block.coinbase.empty()) coins_[plan.height] = block.coinbase.front();
      mined.push_back(block.raw);
      blocks_.push_back(std::move(block.raw));
      hashes_.push_back(block.hash);
    }
    return mined;
  }
  // Leaves the blocks above a height; what is mined next is another branch.
  void go_back_to(std::uint64_t height) {
    blocks_.resize(height + 1);
    hashes_.resize(height + 1);
  }

  std::uint64_t height() const { return hashes_.size() - 1; }
  const std::vector<Bytes>& blocks() const { return blocks_; }
  const std::vector<Hash256>& hashes() const { return hashes_; }
  // What the block last mined at that height created (Bitcoin).
  const feed::DevCoin& coin_of(std::uint64_t height) const { return coins_.at(height); }

 private:
  const bool bitcoin_;
  const std::unique_ptr<feed::DevnetFlavour> flavour_;
  std::vector<Bytes> blocks_;
  std::vector<Hash256> hashes_;
  std::map<std::uint64_t, feed::DevCoin> coins_;
  std::uint64_t nonce_ = 1;  // no two blocks are the same
};

}  // namespace coffer::test
