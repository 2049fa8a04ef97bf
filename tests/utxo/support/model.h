// For tests: a plain in-memory UTXO set, and random blocks for it. Shares no code with the store
// but the encoding of a record.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <coffer/bus/event.h>
#include <coffer/chain/block.h>
#include <coffer/chain/network.h>
#include "base/random.h"

namespace coffer::utxo {

struct ModelCoin {
  Bytes address;
  std::uint64_t amount = 0;
  std::map<std::pair<Bytes, Bytes>, std::uint64_t> assets;
  std::uint64_t slot = 0;
  bool collateral_return = false;
  bool coinbase = false;
  std::uint64_t leaf = 0;
};

struct ModelSpend {
  ModelCoin coin;
  Hash256 by{};
  std::uint64_t block = 0;
};

// The state after one block. Copied whole for every block: slow, and beyond doubt.
struct ModelState {
  std::map<chain::Outpoint, ModelCoin> unspent;
  std::map<chain::Outpoint, ModelSpend> spent;  // all of this chain
  std::vector<chain::Outpoint> leaves;          // in order; an outpoint may come twice
  std::vector<bool> live;
  std::uint64_t missing = 0;
};

struct ModelBlock {
  std::shared_ptr<chain::Block> block;
  std::shared_ptr<std::vector<Bytes>> storage;  // what the block's views point into
};

class Model {
 public:
  // With `few_coinbases` (Bitcoin) every coinbase has one of three ids, and nothing else is spent.
  Model(chain::Family family, std::uint64_t seed, bool few_coinbases = false);

  // A block that follows the newest: spends what is there, what it created itself, and sometimes
  // what nobody has.
  ModelBlock next_block();
  void apply(const ModelBlock& block);
  // Back to so many blocks.
  void rollback(std::uint64_t height);

  std::uint64_t height() const { return states_.size() - 1; }
  const ModelState& now() const { return states_.back(); }
  const ModelState& at(std::uint64_t height) const { return states_[height]; }
  bus::Position position(std::uint64_t height) const;
  const std::vector<ModelBlock>& blocks() const { return blocks_; }
  const std::vector<Bytes>& addresses() const { return addresses_; }
  Rng& rng() { return rng_; }

 private:
  class Builder;

  const chain::Family family_;
  const bool few_coinbases_;
  Rng rng_;
  std::vector<Bytes> addresses_;
  std::vector<ModelState> states_;  // states_[n]: after n blocks
  std::vector<ModelBlock> blocks_;
  std::vector<Hash256> coinbases_;  // ids that may come again
  std::uint64_t made_ = 0;
};

}  // namespace coffer::utxo
