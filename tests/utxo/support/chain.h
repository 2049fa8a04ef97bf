// Blocks put together by hand on a UTXO state of their own, for readable tests.
#pragma once

#include <gtest/gtest.h>

#include <coffer/utxo/store.h>
#include "base/result.h"
#include "base/temp_dir.h"

namespace coffer::utxo {

inline const Bytes kScript = {0x51};

inline Hash256 id(std::uint8_t number) {
  Hash256 hash{};
  hash.fill(number);
  return hash;
}

class Chain {
 public:
  explicit Chain(const char* chain, Options options = {},
                 std::vector<chain::GenesisUtxo> genesis = {})
      : network_(chain::find_network(chain, "devnet").value()), options_(options) {
    kv::DatabaseOptions db;
    db.path = dir_.path() / "db";
    db.columns = columns(options_);
    db_ = kv::Database::open(db).value();
    store_ = Store::open(*db_, network_, options_, genesis).value();
  }

  // The same data with other settings.
  void reopen(const Options& options) {
    store_.reset();
    store_ = Store::open(*db_, network_, options, {}).value();
  }

  struct Tx {
    Hash256 id{};
    std::vector<chain::Outpoint> inputs;
    std::vector<Bytes> outputs;
    bool coinbase = false;
    bool valid = true;
    std::vector<chain::Outpoint> collateral = {};
    std::optional<Bytes> collateral_return = {};
    std::optional<Hash224> policy = {};  // every output holds one token of it, without a name
  };

  Result<> add(const std::vector<Tx>& txs, std::uint8_t era = 6, std::uint64_t behind = 0,
               bool epoch_boundary = false) {
    auto block = std::make_shared<chain::Block>();
    auto bytes = std::make_shared<std::vector<Bytes>>();
    bytes->reserve(10'000);
    const std::uint64_t height = store_->position().block_count();
    block->family = network_.family;
    block->era = era;
    block->hash = id(static_cast<std::uint8_t>(100 + height));
    block->hash[0] = static_cast<std::uint8_t>(height >> 8);
    if (!epoch_boundary) ++number_;
    block->epoch_boundary = epoch_boundary;
    block->number = BlockNumber(network_.family == chain::Family::kBitcoin ? height : number_);
    block->slot = Slot(network_.family == chain::Family::kBitcoin ? height : 20 * number_);
    const auto keep = [&](ByteView view) -> ByteView {
      bytes->emplace_back(view.begin(), view.end());
      return bytes->back();
    };
    const auto inputs = [&](const std::vector<chain::Outpoint>& list) {
      const chain::Range range{static_cast<std::uint32_t>(block->inputs.size()),
                               static_cast<std::uint32_t>(list.size())};
      for (const chain::Outpoint& outpoint : list)
        block->inputs.push_back({keep(outpoint.tx.view()).data(), outpoint.index});
      return range;
    };
    const auto output = [&](const Bytes& address, const std::optional<Hash224>& policy) {
      chain::Output made;
      made.address = keep(address);
      made.amount = Amount(1000);
      if (policy) {
        made.assets = {static_cast<std::uint32_t>(block->assets.size()), 1};
        block->assets.push_back({keep(policy->view()).data(), {}, 1});
      }
      block->outputs.push_back(made);
    };
    for (const Tx& given : txs) {
      chain::Tx tx;
      tx.id = given.id;
      tx.coinbase = given.coinbase;
      tx.valid = given.valid;
      tx.inputs = inputs(given.inputs);
      tx.collateral = inputs(given.collateral);
      tx.outputs = {static_cast<std::uint32_t>(block->outputs.size()),
                    static_cast<std::uint32_t>(given.outputs.size())};
      for (const Bytes& address : given.outputs) output(address, given.policy);
      if (given.collateral_return) {
        tx.collateral_return = static_cast<std::uint32_t>(block->outputs.size());
        output(*given.collateral_return, std::nullopt);
      }
      block->txs.push_back(tx);
    }
    blocks_.emplace_back(block, bytes);
    const bus::BlockApplied event{Ordinal(height), block, behind > 0, behind};
    positions_.resize(height);
    positions_.push_back(event.position());
    return store_->on_block(event);
  }
  Result<> back(std::uint64_t blocks) {
    if (blocks > store_->position().block_count())
      return fail(Code::kInvalidInput, "there are only {} blocks",
                  store_->position().block_count());
    const std::uint64_t height = store_->position().block_count() - blocks;
    return store_->on_rollback({height == 0 ? bus::Position::origin() : positions_[height - 1]});
  }
  Hash256 block_hash(std::uint64_t ordinal) const { return positions_.at(ordinal).point.hash; }
  const UtxoState& state() const { return store_->state(); }
  Store& store() { return *store_; }
  kv::Database& db() { return *db_; }
  Digest digest() const { return utxo::digest(state(), network_.family).value(); }
  bool unspent(const chain::Outpoint& outpoint) const {
    const auto found = state().get(outpoint).value();
    return found && !found->spent;
  }
  Result<Verified> verify() { return utxo::verify(*db_, network_, nullptr); }
  void expect_sound() {
    const auto verified = verify();
    EXPECT_TRUE(verified) << verified.error().message;
  }

 private:
  const chain::Network network_;
  const Options options_;
  TempDir dir_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
  std::vector<std::pair<std::shared_ptr<chain::Block>, std::shared_ptr<std::vector<Bytes>>>>
      blocks_;
  std::vector<bus::Position> positions_;
  std::uint64_t number_ = 0;
};

}  // namespace coffer::utxo
