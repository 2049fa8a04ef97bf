// Random blocks, rollbacks, prunings, crashes and reopenings on the UTXO state and on a plain model
// in memory: after every step both answer the same. A failure names its seed; run that one alone
// with COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include "utxo/support/model.h"

#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include <coffer/utxo/store.h>
#include "base/temp_dir.h"
#include "mmr/test_support.h"
#include "support/memory_files.h"
#include "support/random_seeds.h"
#include "utxo/accumulator.h"
#include "utxo/keys.h"

namespace coffer::utxo {
namespace {

class Sequence {
 public:
  explicit Sequence(std::uint64_t seed, bool few_coinbases = false)
      : rng_(seed),
        network_(
            chain::find_network(rng_.one_in(2) || few_coinbases ? "bitcoin" : "cardano", "devnet")
                .value()),
        model_(network_.family, seed, few_coinbases),
        verify_each_(few_coinbases) {
    options_.store = rng_.one_in(2) ? StoreType::kMmr : StoreType::kClassic;
    options_.self_contained_delta = rng_.one_in(2);
    options_.rollback_window = rng_.between(1, 12);
    options_.prune_depth = rng_.between(0, options_.rollback_window);
    options_.prune_batch_size = rng_.between(1, 20);
    options_.index_credential = !rng_.one_in(4);
    open();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      ASSERT_NO_FATAL_FAILURE(step());
      ASSERT_NO_FATAL_FAILURE(compare()) << "at step " << i;
      if (i + 1 < steps && !verify_each_) continue;
      const auto verified = verify(*db_, network_, nullptr);
      ASSERT_TRUE(verified) << verified.error().message << " at step " << i;
    }
  }

 private:
  void open() {
    store_.reset();
    db_.reset();
    kv::DatabaseOptions options;
    options.path = dir_.path() / "db";
    options.columns = columns(options_);
    options.preallocate = false;
    db_ = kv::Database::open(options).value();
    store_ = Store::open(*db_, network_, options_, {}).value();
  }

  void step() {
    const std::uint64_t pick = rng_.below(20);
    if (pick < 12)
      apply(1, 0);
    else if (pick < 14)
      catch_up();
    else if (pick < 18)
      rollback();
    else if (pick == 18)
      open();
    else
      crash();
  }

  void apply(std::uint64_t blocks, std::uint64_t behind) {
    for (std::uint64_t i = 0; i < blocks; ++i) {
      const ModelBlock made = model_.next_block();
      const std::uint64_t left = behind > i ? behind - i : 0;
      const auto done = store_->on_block({Ordinal(model_.height()), made.block, left > 0, left});
      ASSERT_TRUE(done) << done.error().message;
      model_.apply(made);
      if (left >= options_.rollback_window) floor_ = model_.height();
      // What the highest block left behind is gone, also after going back from it.
      if (model_.height() > options_.rollback_window)
        floor_ = std::max(floor_, model_.height() - options_.rollback_window);
      const std::uint64_t height = model_.height() + left;
      if (height > options_.prune_depth)
        forgotten_ = std::max(forgotten_, std::min(model_.height(), height - options_.prune_depth));
    }
  }

  // Several blocks in one commit; those far below the tip without a delta.
  void catch_up() {
    const std::uint64_t blocks = rng_.between(2, 2 * options_.rollback_window + 2);
    ASSERT_NO_FATAL_FAILURE(apply(blocks, blocks + rng_.below(3)));
    const auto flushed = store_->flush();
    ASSERT_TRUE(flushed) << flushed.error().message;
  }

  void rollback() {
    const std::uint64_t depth = rng_.below(options_.rollback_window + 3);
    if (depth > model_.height()) return;
    const std::uint64_t to = model_.height() - depth;
    const std::uint64_t possible = store_->state().stats().value().rollback_blocks;
    // What the settings promise must be possible; what is not must change nothing (U2).
    if (depth <= options_.rollback_window && to >= floor_) {
      ASSERT_LE(depth, possible);
    }
    const auto done = store_->on_rollback({model_.position(to)});
    if (depth <= possible) {
      ASSERT_TRUE(done) << done.error().message;
      model_.rollback(to);
    } else {
      ASSERT_FALSE(done);
      ASSERT_EQ(done.error().code, Code::kBeyondWindow);
    }
  }

  // What was held back is lost, whole blocks of it; the state reopens at the commit before.
  void crash() {
    const std::uint64_t committed = model_.height();
    const std::uint64_t floor = floor_;
    ASSERT_NO_FATAL_FAILURE(apply(rng_.between(1, 5), 100));
    model_.rollback(committed);
    floor_ = floor;
    open();
    // Going so far below the tip gave up what could be undone before.
    floor_ = model_.height() -
             std::min(store_->state().stats().value().rollback_blocks, model_.height() - floor_);
  }

  void compare() {
    ASSERT_EQ(store_->position(), model_.position(model_.height()));
    const ModelState& now = model_.now();
    auto expected = now.unspent.begin();
    const auto at = store_->state().for_each([&](const Utxo& utxo) {
      if (expected == now.unspent.end()) {
        ADD_FAILURE() << "one output too many";
        return false;
      }
      EXPECT_EQ(utxo.outpoint, expected->first);
      expect_same(utxo, expected->second);
      return ++expected, !testing::Test::HasFailure();
    });
    ASSERT_TRUE(at) << at.error().message;
    ASSERT_FALSE(testing::Test::HasFailure());
    ASSERT_TRUE(expected == now.unspent.end()) << "outputs are missing";
    const Stats stats = store_->state().stats().value();
    ASSERT_EQ(stats.unspent, now.unspent.size());
    ASSERT_NO_FATAL_FAILURE(compare_owners());
    ASSERT_NO_FATAL_FAILURE(compare_spent());
    if (options_.store == StoreType::kMmr) {
      ASSERT_NO_FATAL_FAILURE(compare_roots());
    }
  }

  void expect_same(const Utxo& utxo, const ModelCoin& coin) {
    EXPECT_TRUE(equal(utxo.record.address, coin.address));
    EXPECT_EQ(utxo.record.amount.value, coin.amount);
    EXPECT_EQ(utxo.record.slot.value, coin.slot);
    EXPECT_EQ(utxo.record.collateral_return, coin.collateral_return);
    EXPECT_EQ(utxo.record.coinbase, coin.coinbase);
    std::map<std::pair<Bytes, Bytes>, std::uint64_t> assets;
    for (const chain::Asset& asset : utxo.record.assets)
      assets[{Bytes(asset.policy, asset.policy + 28),
              Bytes(asset.name.begin(), asset.name.end())}] += asset.quantity;
    EXPECT_EQ(assets, coin.assets);
    if (utxo.record.leaf) {
      EXPECT_EQ(*utxo.record.leaf, coin.leaf);
    }
  }

  // All pages of a question, by cursor or by number.
  std::vector<chain::Outpoint> pages(const std::function<Result<Page>(const PageRequest&)>& ask,
                                     bool descending, bool by_number) {
    std::vector<chain::Outpoint> all;
    PageRequest request;
    request.count = rng_.between(1, 5);
    request.descending = descending;
    for (;;) {
      const Page page = ask(request).value();
      for (const Utxo& utxo : page.utxos) all.push_back(utxo.outpoint);
      if (page.cursor.empty()) return all;
      if (by_number)
        ++request.page;
      else
        request.cursor = page.cursor;
    }
  }

  void compare_owners() {
    const Bytes& address = model_.addresses()[rng_.below(model_.addresses().size())];
    const auto payment = network_.family == chain::Family::kCardano
                             ? chain::credentials_of(address).payment
                             : std::nullopt;
    std::vector<std::pair<std::uint64_t, chain::Outpoint>> of_address, of_credential;
    U128 amount = 0;
    for (const auto& [outpoint, held] : model_.now().unspent) {
      if (equal(held.address, address)) {
        of_address.emplace_back(held.slot, outpoint);
        amount += held.amount;
      }
      if (payment && network_.family == chain::Family::kCardano)
        if (const auto other = chain::credentials_of(held.address).payment;
            other && other->hash == payment->hash)
          of_credential.emplace_back(held.slot, outpoint);
    }
    const UtxoState& state = store_->state();
    const auto expect = [&](std::vector<std::pair<std::uint64_t, chain::Outpoint>>& wanted,
                            const std::function<Result<Page>(const PageRequest&)>& ask) {
      std::sort(wanted.begin(), wanted.end());
      const bool descending = rng_.one_in(2);
      if (descending) std::reverse(wanted.begin(), wanted.end());
      std::vector<chain::Outpoint> outpoints;
      outpoints.reserve(wanted.size());
      for (const auto& [slot, outpoint] : wanted) outpoints.push_back(outpoint);
      ASSERT_EQ(pages(ask, descending, rng_.one_in(2)), outpoints);
    };
    ASSERT_NO_FATAL_FAILURE(expect(of_address, [&](const PageRequest& request) {
      return state.by_address(address, request);
    }));
    const Balance balance = state.balance(address).value();
    ASSERT_TRUE(balance.amount == amount);
    ASSERT_EQ(balance.utxos, of_address.size());
    if (payment && options_.index_credential) {
      ASSERT_NO_FATAL_FAILURE(expect(of_credential, [&](const PageRequest& request) {
        return state.by_credential(payment->hash, request);
      }));
    }
  }

  void compare_spent() {
    const std::uint64_t undoable = store_->state().stats().value().rollback_blocks;
    for (const auto& [outpoint, spend] : model_.now().spent) {
      const auto found = store_->state().get(outpoint).value();
      const bool recent = options_.self_contained_delta ? spend.block >= forgotten_
                                                        : spend.block + undoable >= model_.height();
      ASSERT_TRUE(found || !recent) << "block " << spend.block << " of " << model_.height();
      if (!found) continue;
      ASSERT_TRUE(found->spent);
      ASSERT_EQ(found->spent->by, spend.by);
      ASSERT_EQ(found->spent->number.value, spend.block);
      ASSERT_TRUE(equal(found->utxo.record.address, spend.coin.address));
    }
  }

  // The root computed from nothing but the model's list of leaves. A leaf's data are taken from the
  // first time its record was read.
  void compare_roots() {
    const ModelState& now = model_.now();
    ASSERT_NO_FATAL_FAILURE(learn_leaves());
    mmr::NaiveSet naive;
    for (std::size_t i = 0; i < now.leaves.size(); ++i) {
      naive.data.push_back(leaf_data(i));
      naive.live.push_back(now.live[i]);
    }
    const auto root = store_->state().root(std::nullopt);
    ASSERT_TRUE(root) << root.error().message;
    ASSERT_EQ(root->root, naive.root());
    if (now.unspent.empty()) return;
    auto at = now.unspent.begin();
    std::advance(at, rng_.below(now.unspent.size()));
    const auto proof = store_->state().prove(at->first, std::nullopt);
    ASSERT_TRUE(proof) << proof.error().message;
    mmr::Digest digest;
    std::copy(root->root.begin(), root->root.end(), digest.begin());
    ASSERT_TRUE(mmr::check(*proof, digest, mmr::kHash));
    mmr::UnspentProof altered = *proof;
    altered.record[rng_.below(altered.record.size())] ^= 1;
    ASSERT_FALSE(mmr::check(altered, digest, mmr::kHash));
    // What has been proved and then spent: neither a new proof nor the old one.
    for (const auto& [outpoint, old] : proofs_) {
      if (!now.spent.contains(outpoint)) continue;
      ASSERT_EQ(store_->state().prove(outpoint, std::nullopt).error().code, Code::kNotFound);
      ASSERT_FALSE(mmr::check(old, digest, mmr::kHash));
    }
    proofs_.insert_or_assign(at->first, *proof);
  }

  Hash256 leaf_data(std::size_t leaf) {
    const auto found = data_.find({model_.now().leaves[leaf], birth_of(leaf)});
    EXPECT_NE(found, data_.end()) << leaf;
    return found == data_.end() ? Hash256{} : found->second;
  }
  // The block in which the leaf came.
  Hash256 birth_of(std::size_t leaf) const {
    std::uint64_t low = 0, high = model_.height();
    while (low < high) {
      const std::uint64_t middle = (low + high) / 2;
      if (model_.at(middle).leaves.size() > leaf)
        high = middle;
      else
        low = middle + 1;
    }
    return model_.blocks()[low - 1].block->hash;
  }
  // From the blocks themselves, so that outputs of many blocks in one commit are known too.
  void learn_leaves() {
    for (const ModelBlock& made : model_.blocks()) {
      const chain::Block& block = *made.block;
      if (!learnt_.insert(block.hash).second) continue;
      for (const chain::Tx& tx : block.txs)
        block.for_each_created(tx, [&](std::uint32_t index, const chain::Output& output, bool ret) {
          Bytes record;
          encode_record(record, CreationBlock::of(block), output, block.assets_of(output), ret,
                        tx.coinbase && network_.family == chain::Family::kBitcoin, std::nullopt);
          const chain::Outpoint outpoint{tx.id, index};
          data_[{outpoint, block.hash}] =
              Accumulator::leaf_data(outpoint_key(network_.family, outpoint).view(), record);
        });
    }
  }

  Rng rng_;
  const chain::Network network_;
  Model model_;
  const bool verify_each_;  // not only at the end
  Options options_;
  TempDir dir_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<Store> store_;
  std::uint64_t floor_ = 0;      // blocks below this height were applied without a delta
  std::uint64_t forgotten_ = 0;  // spends below this height may be forgotten, self-contained
  std::map<std::pair<chain::Outpoint, Hash256>, Hash256> data_;
  std::set<Hash256> learnt_;
  std::map<chain::Outpoint, mmr::UnspentProof> proofs_;
};

void run_sequences(std::uint64_t count, bool few_coinbases) {
  test::keep_temp_files_in_memory();  // a crash here ends no more than an object
  test::seeds_of_run(count, 20 * count).run([&](std::uint64_t seed) {
    Sequence sequence(seed, few_coinbases);
    sequence.run(25);
  });
}

TEST(UtxoModel, RandomSequencesMatchTheModel) {
  run_sequences(500, false);
}

// The same few outpoints come, go and come again all the time (U4).
TEST(UtxoModel, RepeatedCoinbasesMatchTheModel) {
  run_sequences(200, true);
}

}  // namespace
}  // namespace coffer::utxo
