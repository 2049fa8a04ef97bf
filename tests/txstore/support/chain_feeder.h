// Feeds a store from a simulated chain with its mempool and reorgs, and derives from the blocks
// alone, without any code of the store, which transactions must be stored.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>

#include <coffer/chain/decode.h>
#include <coffer/txstore/store.h>
#include "base/check.h"
#include "feed/devnet_chain.h"

namespace coffer::txstore::test {

// What blocks say of a transaction.
struct ChainTx {
  std::uint64_t height = 0;
  std::map<std::uint32_t, std::optional<std::uint64_t>> outputs;  // spendable ones → spent at
};

// Ids that must be stored at a tip: an unspent output, or its own or a spender's block above
// tip − window.
class ExpectedSet {
 public:
  void apply(const chain::Block& block, std::uint64_t height) {
    for (const chain::Tx& tx : block.txs) {
      ChainTx& made = txs_[tx.id];
      made.height = height;
      made.outputs.clear();
      block.for_each_created(tx, [&](std::uint32_t index, const chain::Output& output, bool) {
        const bool op_return = !output.address.empty() && output.address[0] == 0x6a;
        if (block.family == chain::Family::kBitcoin && (op_return || height == 0)) return;
        made.outputs[index] = std::nullopt;
      });
      for (const chain::Input& input : block.spent_by(tx)) {
        const auto parent = txs_.find(input.outpoint().tx);
        if (parent != txs_.end()) parent->second.outputs[input.index] = height;
      }
    }
  }
  void add_genesis(std::span<const chain::GenesisUtxo> genesis) {
    for (const chain::GenesisUtxo& utxo : genesis)
      txs_[utxo.outpoint.tx].outputs[utxo.outpoint.index] = std::nullopt;
  }
  std::set<Hash256> ids(std::uint64_t tip, std::uint64_t window) const {
    std::set<Hash256> needed;
    const auto recent = [&](std::uint64_t height) { return height + window > tip; };
    for (const auto& [id, tx] : txs_) {
      bool needs = recent(tx.height);
      for (const auto& [index, spent_at] : tx.outputs) needs |= !spent_at || recent(*spent_at);
      if (needs) needed.insert(id);
    }
    return needed;
  }

 private:
  std::map<Hash256, ChainTx> txs_;
};

class ChainFeeder {
 public:
  ChainFeeder(Store& store, const chain::Network& network) : network_(network) { reopen(store); }
  void reopen(Store& store) {
    consumer_.reset();
    auto opened = Consumer::open(store);
    CHECK(opened.has_value());
    consumer_ = std::move(*opened);
  }
  void close() { consumer_.reset(); }

  Consumer& consumer() { return *consumer_; }
  const std::vector<std::shared_ptr<const chain::Block>>& blocks() const { return blocks_; }
  std::uint64_t tip() const { return blocks_.size() - 1; }

  // The next block of the simulated chain, with what its mempool did. `behind`: how far the source
  // is ahead.
  void feed(feed::DevnetChain& chain, std::uint64_t behind = 0) {
    const feed::Emission emission = chain.next();
    tell(emission.before);
    if (emission.rolled_back > 0) roll_back(emission.rolled_back);
    add(emission.block, behind);
    tell(emission.after);
  }
  void add(const Bytes& raw, std::uint64_t behind = 0) {
    auto decoded = chain::decode(network_, raw);
    ASSERT_TRUE(decoded) << decoded.error().message;
    const auto block = std::make_shared<chain::Block>(std::move(*decoded));
    if (network_.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(blocks_.size());
      block->slot = Slot(blocks_.size());
    }
    blocks_.push_back(block);
    highest_tip_ = std::max(highest_tip_, tip());
    deliver(blocks_.size() - 1, behind);
  }
  void deliver(std::uint64_t height, std::uint64_t behind = 0) {
    const auto done = consumer_->on_block({Ordinal(height), blocks_[height], false, behind});
    ASSERT_TRUE(done) << done.error().message;
  }
  Result<> try_roll_back(std::uint64_t count) {
    return consumer_->on_rollback({position_after(blocks_.size() - count)});
  }
  void roll_back(std::uint64_t count) {
    const auto done = try_roll_back(count);
    ASSERT_TRUE(done) << done.error().message;
    blocks_.resize(blocks_.size() - count);
  }
  bus::Position position_after(std::uint64_t count) const {
    if (count == 0) return bus::Position::origin();
    return bus::Position::after(Ordinal(count - 1), blocks_[count - 1]->point());
  }
  void flush() {
    const auto done = consumer_->flush();
    ASSERT_TRUE(done) << done.error().message;
  }
  bus::TxSeen seen(const Bytes& raw) const {
    auto tx = std::make_shared<chain::Block>();
    Bytes bytes = raw;
    const auto decoded = chain::decode_tx_into(*tx, network_, bytes);
    CHECK(decoded.has_value());
    tx->storage = std::move(bytes);  // decoding empties the block that it fills
    return {tx};
  }

  std::set<Hash256> expected(std::uint64_t window,
                             std::span<const chain::GenesisUtxo> genesis = {}) const {
    ExpectedSet set;
    set.add_genesis(genesis);
    for (std::uint64_t height = 0; height < blocks_.size(); ++height)
      set.apply(*blocks_[height], height);
    return set.ids(highest_tip_, window);  // the final height never falls
  }

 private:
  void tell(const std::vector<feed::MempoolEvent>& events) {
    for (const feed::MempoolEvent& event : events) {
      const auto done = event.seen ? consumer_->on_tx_seen(seen(event.seen->wire))
                                   : consumer_->on_tx_dropped({event.dropped});
      ASSERT_TRUE(done) << done.error().message;
    }
  }

  const chain::Network network_;
  std::unique_ptr<Consumer> consumer_;
  std::vector<std::shared_ptr<const chain::Block>> blocks_;
  std::uint64_t highest_tip_ = 0;
};

// What one set has and the other has not, in a few lines; empty if they are equal.
inline std::string difference(const std::set<Hash256>& stored, const std::set<Hash256>& expected) {
  std::string text;
  std::size_t missing = 0, extra = 0;
  for (const Hash256& id : expected)
    if (!stored.contains(id) && ++missing <= 3) text += "missing " + id.hex() + "\n";
  for (const Hash256& id : stored)
    if (!expected.contains(id) && ++extra <= 3) text += "not needed " + id.hex() + "\n";
  if (text.empty()) return text;
  return text + std::to_string(missing) + " missing, " + std::to_string(extra) + " not needed\n";
}

// Ids of mined transactions in the store.
inline std::set<Hash256> mined_ids(const Store& store) {
  std::set<Hash256> ids;
  const auto done = store.for_each([&](const StoredTx& tx) -> Result<bool> {
    if (tx.state == State::kMined) ids.insert(tx.id);
    return true;
  });
  EXPECT_TRUE(done.has_value());
  return ids;
}

}  // namespace coffer::txstore::test
