#include "wallet/support/random_workload.h"
#include "base/result.h"

namespace coffer::wallet::test {

std::vector<MadeTx> RandomWorkload::minable() {
  std::set<chain::Outpoint> spent;
  std::set<Hash256> mined;
  for (const auto& block : chain_)
    for (const MadeTx& tx : block.txs) {
      mined.insert(tx.id);
      spent.insert(tx.inputs.begin(), tx.inputs.end());
    }
  std::set<Hash256> known;
  for (const MadeTx& tx : made_) known.insert(tx.id);
  std::vector<MadeTx> chosen;
  if (rng_.one_in(3)) {  // a coinbase of ours, or an orphaned one again
    std::vector<MadeTx> orphans;
    for (const MadeTx& tx : coinbases_)
      if (!mined.contains(tx.id)) orphans.push_back(tx);
    if (!orphans.empty() && rng_.one_in(2)) {
      chosen.push_back(orphans[rng_.below(orphans.size())]);
    } else {
      chosen.push_back(make_tx({}, {{any_script(), 5000}}, ++nonce_, true));
      coinbases_.push_back(chosen.back());
      made_.push_back(chosen.back());
    }
    mined.insert(chosen.back().id);
  }
  for (const MadeTx& tx : made_) {
    if (tx.coinbase || mined.contains(tx.id) || rng_.one_in(2)) continue;
    const bool fits =
        std::all_of(tx.inputs.begin(), tx.inputs.end(), [&](const chain::Outpoint& input) {
          return !spent.contains(input) && (!known.contains(input.tx) || mined.contains(input.tx));
        });
    if (!fits) continue;
    mined.insert(tx.id);
    spent.insert(tx.inputs.begin(), tx.inputs.end());
    chosen.push_back(tx);
  }
  return chosen;
}

void RandomWorkload::mine() {
  if (rng_.one_in(3)) (void)any_tx();  // one that nobody saw before
  connect(minable(), rng_.one_in(3) ? 1 : 0);
  each_consumer([&](Consumer& consumer) { return consumer.flush(); });
}

void RandomWorkload::connect(const std::vector<MadeTx>& txs, std::uint64_t behind) {
  const std::uint64_t height = chain_.size();
  const Hash256 prev = chain_.empty() ? Hash256{} : chain_.back().block->hash;
  chain_.push_back({make_block(network(), prev, height, txs, ++nonce_), txs});
  did_ = fmt::format("block {} with {} transactions", height, txs.size());
  connect_models();
  const bus::BlockApplied event{Ordinal(height), chain_.back().block, behind > 0, behind};
  each_consumer([&](Consumer& consumer) { return consumer.on_block(event); });
}

void RandomWorkload::connect_models() {
  const ChainBlock& newest = chain_.back();
  for (ModelWallet& model : models_) {
    model.tip = static_cast<std::int64_t>(chain_.size()) - 1;
    for (std::size_t i = 0; i < newest.txs.size(); ++i)
      model.connect(newest.txs[i], newest.where(i));
  }
}

void RandomWorkload::grow() {
  for (std::uint64_t left = rng_.between(90, 110); left > 0; --left) connect({}, left);
  each_consumer([&](Consumer& consumer) { return consumer.flush(); });
  did_ = "many empty blocks";
}

void RandomWorkload::reorganise() {
  if (chain_.empty()) return;
  const std::uint64_t most =
      rng_.one_in(4) ? chain_.size() : std::min<std::size_t>(4, chain_.size());
  std::uint64_t height = chain_.size() - rng_.between(1, most);
  // Below what was pruned there is no way back.
  std::uint64_t floor = 0;
  for (const ModelWallet& model : models_)
    for (const auto& [id, gone] : model.pruned) floor = std::max(floor, gone.fixed + 1);
  if (height < floor) {
    did_ = "rolled back too far";
    for (WalletEngine* engine : engines_)
      ASSERT_EQ(code_of(engine->consumer().on_rollback({position(height)})), Code::kBeyondWindow);
    return;
  }
  did_ = fmt::format("rolled back to {} blocks", height);
  const bus::Position to = position(height);
  chain_.resize(height);
  for (ModelWallet& model : models_) {
    model.tip = static_cast<std::int64_t>(height) - 1;
    model.disconnect_above(model.tip);
  }
  each_consumer([&](Consumer& consumer) { return consumer.on_rollback({to}); });
}

bus::Position RandomWorkload::position(std::uint64_t height) const {
  if (height == 0) return bus::Position::origin();
  return bus::Position::after(Ordinal(height - 1), chain_[height - 1].block->point());
}

void RandomWorkload::record_in_block() {
  if (made_.empty() || chain_.empty()) return;
  const MadeTx tx = made_[rng_.below(made_.size())];
  const std::uint64_t height = rng_.below(chain_.size());
  const auto& in = chain_[height].txs;
  const auto found =
      std::find_if(in.begin(), in.end(), [&](const MadeTx& one) { return one.id == tx.id; });
  // Some are wrong about it. Never about a coinbase: it would be another.
  if (found == in.end() && (tx.coinbase || !rng_.one_in(2))) return;
  const std::size_t wallet = rng_.below(kWallets);
  RecordOptions options;
  ModelWallet::Where where = chain_[height].where(static_cast<std::size_t>(found - in.begin()));
  if (!tx.coinbase && rng_.one_in(3)) ++where.place;  // nor do they count well
  options.block = BlockRef{height, chain_[height].block->hash, 0, where.place};
  did_ = fmt::format("recorded in {}block {}: {}", found == in.end() ? "the wrong " : "its ",
                     height, to_hex(tx.id.view().first(6)));
  expect_same(wallet, models_[wallet].record_confirmed(tx, where),
              [&](Store& store, WalletId id) { return store.record(id, tx.raw, options); });
}

void RandomWorkload::rescan_block() {
  if (chain_.empty()) return;
  const std::size_t wallet = rng_.below(kWallets);
  ModelWallet& model = models_[wallet];
  // Most blocks are empty; those of which something was pruned are looked at more often.
  std::vector<std::uint64_t> heights;
  for (std::uint64_t height = 0; height < chain_.size(); ++height)
    for (const MadeTx& tx : chain_[height].txs)
      heights.insert(heights.end(), model.pruned.contains(tx.id) ? 4 : 1, height);
  if (heights.empty()) return;
  const std::uint64_t height = heights[rng_.below(heights.size())];
  did_ = fmt::format("block {} once more for wallet {}", height, wallet);
  for (std::size_t i = 0; i < chain_[height].txs.size(); ++i) {
    const MadeTx& tx = chain_[height].txs[i];
    const bool was_pruned = model.pruned.contains(tx.id);
    const std::size_t coins = model.all_coins().size(), spends = model.stub_spends.size();
    model.connect(tx, chain_[height].where(i));
    if (!was_pruned) continue;
    found_coins_ += model.all_coins().size() - coins;
    found_spends_ += model.stub_spends.size() - spends;
  }
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    const auto looked = engines_[e]->consumer().rescan_block(
        ids_[e][wallet], *chain_[height].block, [](const auto&) { return Result<bool>(true); });
    ASSERT_TRUE(looked) << engines_[e]->name() << ": " << looked.error().message;
  }
}

}  // namespace coffer::wallet::test
