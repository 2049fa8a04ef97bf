#include "utxo/support/model.h"

#include "chain/script.h"
#include "crypto/sha256.h"

namespace coffer::utxo {
namespace {

Hash256 numbered_hash(std::uint64_t seed, std::uint64_t number) {
  Bytes bytes;
  append_be64(bytes, seed);
  append_be64(bytes, number);
  return crypto::sha256(bytes);
}

std::vector<Bytes> some_addresses(chain::Family family, Rng& rng) {
  std::vector<Bytes> addresses;
  const auto random = [&](std::size_t size) {
    Bytes bytes(size);
    rng.fill(bytes);
    return bytes;
  };
  if (family == chain::Family::kBitcoin) {
    for (int i = 0; i < 4; ++i) {
      Bytes script = {0x00, 0x14};
      append(script, random(20));
      addresses.push_back(script);
    }
    addresses.push_back({0x51});
    addresses.emplace_back();
    return addresses;
  }
  const Bytes payment = random(28);
  for (const std::uint8_t header : Bytes{0x00, 0x00, 0x10, 0x60, 0x70}) {
    Bytes address = {header};
    append(address, header == 0x60 || header == 0x00 ? payment : random(28));
    if (header < 0x40) append(address, random(28));
    addresses.push_back(address);
  }
  addresses.push_back(random(40));  // malformed, but on the chain
  return addresses;
}

}  // namespace

Model::Model(chain::Family family, std::uint64_t seed, bool few_coinbases)
    : family_(family),
      few_coinbases_(few_coinbases),
      rng_(seed),
      addresses_(some_addresses(family, rng_)),
      states_(1) {
  made_ = seed << 20;
  for (std::uint64_t i = 0; few_coinbases && i < 3; ++i) coinbases_.push_back(numbered_hash(4, i));
}

// Puts random transactions together, on a scratch copy of the set.
class Model::Builder {
 public:
  Builder(Model& model, ModelBlock& out)
      : model_(model), rng_(model.rng_), block_(*out.block), storage_(*out.storage) {
    for (const auto& [outpoint, coin] : model.now().unspent)
      if (!model.few_coinbases_ || coin.coinbase) spendable_.push_back(outpoint);
  }

  void add_coinbase() {
    chain::Tx tx;
    tx.coinbase = true;
    const bool again = model_.few_coinbases_ || (!model_.coinbases_.empty() && rng_.one_in(10));
    tx.id = again ? model_.coinbases_[rng_.below(model_.coinbases_.size())] : fresh_id();
    if (!again) model_.coinbases_.push_back(tx.id);
    tx.outputs = outputs(1);
    block_.txs.push_back(tx);
    if (model_.few_coinbases_ && rng_.one_in(2)) spendable_.push_back({tx.id, 0});
  }

  void add_tx() {
    chain::Tx tx;
    tx.id = fresh_id();
    tx.valid = model_.family_ == chain::Family::kBitcoin || !rng_.one_in(6);
    tx.inputs = inputs(rng_.below(4));
    tx.collateral = tx.valid && rng_.one_in(2) ? chain::Range{} : inputs(tx.valid ? 1 : 2);
    if (tx.valid) release(tx.collateral);  // named, not spent
    if (!tx.valid) release(tx.inputs);
    tx.outputs = outputs(1 + rng_.below(4));
    if (model_.family_ == chain::Family::kCardano && rng_.one_in(2)) {
      tx.collateral_return = static_cast<std::uint32_t>(block_.outputs.size());
      block_.outputs.push_back(output());
    }
    if (tx.valid) {
      for (std::uint32_t i = 0; i < tx.outputs.count && !model_.few_coinbases_; ++i)
        if (rng_.one_in(3)) spendable_.push_back({tx.id, i});  // maybe by the next transaction
    } else if (tx.collateral_return != chain::kNone && rng_.one_in(2)) {
      spendable_.push_back({tx.id, tx.outputs.count});
    }
    block_.txs.push_back(tx);
  }

 private:
  Hash256 fresh_id() { return numbered_hash(1, ++model_.made_); }

  ByteView keep(Bytes bytes) {
    storage_.push_back(std::move(bytes));
    return storage_.back();
  }

  chain::Range inputs(std::uint64_t count) {
    chain::Range range{static_cast<std::uint32_t>(block_.inputs.size()), 0};
    for (std::uint64_t i = 0; i < count; ++i) {
      chain::Outpoint outpoint{numbered_hash(2, rng_()), 0};  // nobody's, now and then
      if (!spendable_.empty() && !rng_.one_in(40)) {
        const std::size_t at = rng_.below(spendable_.size());
        outpoint = spendable_[at];
        if (!rng_.one_in(50)) {  // or else it is spent twice
          spendable_[at] = spendable_.back();
          spendable_.pop_back();
        }
      }
      block_.inputs.push_back(
          {keep(Bytes(outpoint.tx.begin(), outpoint.tx.end())).data(), outpoint.index});
      ++range.count;
    }
    return range;
  }
  void release(chain::Range range) {
    for (const chain::Input& input : block_.at(range, block_.inputs))
      spendable_.push_back(input.outpoint());
  }

  chain::Output output() {
    chain::Output output;
    output.address = model_.addresses_[rng_.below(model_.addresses_.size())];
    output.amount = Amount(rng_.below(1'000'000'000));
    if (model_.family_ == chain::Family::kBitcoin) {
      static const Bytes op_return = {0x6a, 0x01, 0x00};
      if (rng_.one_in(12)) output.address = op_return;
      return output;
    }
    output.assets = {static_cast<std::uint32_t>(block_.assets.size()), 0};
    for (std::uint64_t i = rng_.below(3); i > 0; --i) {
      const ByteView policy = keep(Bytes(28, static_cast<std::uint8_t>(i)));
      block_.assets.push_back({policy.data(), keep(Bytes(i, 'n')), 1 + rng_.below(1000)});
      ++output.assets.count;
    }
    if (rng_.one_in(4)) output.datum_hash = keep(Bytes(32, 0xd1));
    if (rng_.one_in(4)) output.inline_datum = keep(Bytes(rng_.between(1, 300), 0x01));
    if (rng_.one_in(8)) output.script_ref = keep({0x82, 0x01, 0x42, 0xaa, 0xbb});
    return output;
  }
  chain::Range outputs(std::uint64_t count) {
    const chain::Range range{static_cast<std::uint32_t>(block_.outputs.size()),
                             static_cast<std::uint32_t>(count)};
    for (std::uint64_t i = 0; i < count; ++i) {
      chain::Output made = output();
      block_.outputs.push_back(made);
    }
    return range;
  }

  Model& model_;
  Rng& rng_;
  chain::Block& block_;
  std::vector<Bytes>& storage_;
  std::vector<chain::Outpoint> spendable_;
};

ModelBlock Model::next_block() {
  ModelBlock out{std::make_shared<chain::Block>(), std::make_shared<std::vector<Bytes>>()};
  out.storage->reserve(4096);  // or growing it would move what the views point to
  chain::Block& block = *out.block;
  block.family = family_;
  block.era = family_ == chain::Family::kCardano ? 6 : 0;
  block.hash = numbered_hash(3, ++made_);
  block.prev = blocks_.empty() ? Hash256{} : blocks_.back().block->hash;
  block.number = BlockNumber(blocks_.size());
  block.slot = Slot(family_ == chain::Family::kCardano ? 20 * blocks_.size() : blocks_.size());
  block.time_unix_s = 1'600'000'000 + static_cast<std::int64_t>(block.slot.value);
  Builder builder(*this, out);
  if (family_ == chain::Family::kBitcoin) builder.add_coinbase();
  for (std::uint64_t i = rng_.below(few_coinbases_ ? 3 : 6); i > 0; --i) builder.add_tx();
  return out;
}

void Model::apply(const ModelBlock& made) {
  const chain::Block& block = *made.block;
  const bool bitcoin = family_ == chain::Family::kBitcoin;
  ModelState state = states_.back();
  std::vector<chain::Outpoint> created;  // in order, by this block
  const auto take_leaf = [&](const chain::Outpoint& outpoint, std::uint64_t leaf) {
    if (leaf < state.leaves.size() && state.leaves[leaf] == outpoint) state.live[leaf] = false;
  };
  const std::uint64_t no_leaf = ~std::uint64_t{0};
  // All outputs first, then all inputs: a block is one change.
  for (const chain::Tx& tx : block.txs)
    block.for_each_created(tx, [&](std::uint32_t index, const chain::Output& output, bool ret) {
      if (bitcoin && (chain::is_unspendable(output.address) || block.number.value == 0)) return;
      const chain::Outpoint outpoint{tx.id, index};
      if (const auto old = state.unspent.find(outpoint); old != state.unspent.end())
        take_leaf(outpoint, old->second.leaf);
      state.spent.erase(outpoint);
      ModelCoin coin;
      coin.address.assign(output.address.begin(), output.address.end());
      coin.amount = output.amount.value;
      for (const chain::Asset& asset : block.assets_of(output))
        coin.assets[{Bytes(asset.policy, asset.policy + 28),
                     Bytes(asset.name.begin(), asset.name.end())}] += asset.quantity;
      coin.slot = block.slot.value;
      coin.collateral_return = ret;
      coin.coinbase = tx.coinbase && bitcoin;
      coin.leaf = no_leaf;
      state.unspent[outpoint] = coin;
      created.push_back(outpoint);
    });
  for (const chain::Tx& tx : block.txs)
    for (const chain::Input& input : block.spent_by(tx)) {
      const auto found = state.unspent.find(input.outpoint());
      if (found == state.unspent.end()) {
        ++state.missing;
        continue;
      }
      if (found->second.leaf != no_leaf) take_leaf(found->first, found->second.leaf);
      state.spent[found->first] = {found->second, tx.id, block.number.value};
      state.unspent.erase(found);
    }
  for (const chain::Outpoint& outpoint : created) {
    const auto found = state.unspent.find(outpoint);
    if (found == state.unspent.end() || found->second.leaf != no_leaf) continue;
    found->second.leaf = state.leaves.size();
    state.leaves.push_back(outpoint);
    state.live.push_back(true);
  }
  states_.push_back(std::move(state));
  blocks_.push_back(made);
}

void Model::rollback(std::uint64_t height) {
  states_.resize(height + 1);
  blocks_.resize(height);
}

bus::Position Model::position(std::uint64_t height) const {
  if (height == 0) return bus::Position::origin();
  return bus::Position::after(Ordinal(height - 1), blocks_[height - 1].block->point());
}

}  // namespace coffer::utxo
