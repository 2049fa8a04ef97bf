#include "feed/devnet_chain.h"

#include "base/check.h"
#include "crypto/blake2b.h"

namespace coffer::feed {
namespace {

constexpr std::size_t kWantedCoins = 400;  // payments fan out below, gather above
constexpr std::size_t kMaxMempool = 5'000;
constexpr std::uint64_t kReplacementFee = 2'000;

std::unique_ptr<DevnetFlavour> make_flavour(chain::Family family) {
  return family == chain::Family::kBitcoin ? make_bitcoin_flavour() : make_cardano_flavour();
}

std::uint64_t total(const std::vector<DevCoin>& coins) {
  std::uint64_t sum = 0;
  for (const DevCoin& coin : coins) sum += coin.value;
  return sum;
}

// The assets of all coins, one row a policy and name, sorted.
std::vector<DevAsset> gather_assets(const std::vector<DevCoin>& coins) {
  std::vector<DevAsset> all;
  for (const DevCoin& coin : coins) {
    for (const DevAsset& asset : coin.assets) {
      auto same = std::find_if(all.begin(), all.end(),
                               [&](const DevAsset& a) { return a.policy == asset.policy; });
      if (same == all.end())
        all.push_back(asset);
      else
        same->quantity += asset.quantity;
    }
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.policy < b.policy; });
  return all;
}

}  // namespace

DevnetChain::DevnetChain(DevnetOptions options)
    : options_(options),
      flavour_(make_flavour(options.family)),
      rng_(options.seed),
      ledger_(std::max<std::uint64_t>(options.max_reorg_depth, 1)) {
  for (DevCoin& coin : flavour_->genesis_coins()) ledger_.add_genesis_coin(std::move(coin));
}

Hash256 DevnetChain::identity(const DevnetOptions& o) {
  Bytes all = {static_cast<std::uint8_t>(o.family)};
  for (std::uint64_t value : {o.seed, o.txs_per_block, o.reorg_every, o.max_reorg_depth, o.owners,
                              o.start_unix_s, o.seconds_per_block})
    append_be64(all, value);
  return crypto::blake2b_256(all);
}

Emission DevnetChain::next() {
  Emission emission;
  if (ledger_.next_height() == 0) {
    if (auto genesis = flavour_->genesis_block()) {
      emission.block = std::move(genesis->raw);
      emission.hash = genesis->hash;
      ledger_.mine(0, {});
      best_.push_back(emission.hash);
      ++emitted_;
      return emission;
    }
  }
  if (branch_left_ == 0) maybe_reorg(emission);
  make_traffic(emission);
  mine(emission);
  if (branch_left_ > 0) --branch_left_;
  return emission;
}

void DevnetChain::maybe_reorg(Emission& emission) {
  if (options_.reorg_every == 0 || !rng_.one_in(options_.reorg_every)) return;
  // Block 0 always stays.
  const std::uint64_t deepest =
      std::min<std::uint64_t>(ledger_.undoable(), best_.empty() ? 0 : best_.size() - 1);
  if (deepest == 0) return;
  std::uint64_t depth =
      1;  // each further block is half as likely, and one reorg in eight goes as deep as it may
  if (rng_.one_in(8))
    depth = rng_.between(1, deepest);
  else
    while (depth < deepest && rng_.one_in(2)) ++depth;
  for (const Hash256& id : ledger_.undo(depth)) emission.before.push_back({nullptr, id});
  best_.resize(best_.size() - depth);
  emission.rolled_back = depth;
  branch_left_ = depth + 1;
}

std::vector<DevCoin> DevnetChain::pick_inputs(bool on_unconfirmed) {
  std::vector<DevCoin> inputs;
  const CoinSet& coins = ledger_.spendable();
  if (coins.size() == 0) return inputs;
  if (on_unconfirmed && !ledger_.mempool().empty()) {
    const DevTx& parent = *ledger_.mempool()[rng_.below(ledger_.mempool().size())];
    for (const DevCoin& coin : parent.creates)
      if (inputs.empty() && coins.find(coin.outpoint) != nullptr) inputs.push_back(coin);
    if (!inputs.empty()) return inputs;
  }
  const std::uint64_t wanted = coins.size() > kWantedCoins ? rng_.between(1, 4) : 1;
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const DevCoin& coin = coins[rng_.below(coins.size())];
    auto same = [&](const DevCoin& c) { return c.outpoint == coin.outpoint; };
    if (std::none_of(inputs.begin(), inputs.end(), same)) inputs.push_back(coin);
  }
  return inputs;
}

std::optional<DevTxPtr> DevnetChain::spend(std::vector<DevCoin> inputs, std::uint64_t fee) {
  TxPlan plan;
  plan.inputs = std::move(inputs);
  plan.fee = fee;
  const std::uint64_t have = total(plan.inputs), least = flavour_->least_value();
  if (plan.inputs.empty() || have < fee + least) return std::nullopt;
  std::uint64_t rest = have - fee;
  const bool fan_out = ledger_.spendable().size() < kWantedCoins / 4;
  std::uint64_t count = fan_out ? rng_.between(4, 12) : rng_.between(1, 3);
  count = std::min(count, rest / least);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t left = count - i - 1;
    const std::uint64_t most = rest - left * least;
    const std::uint64_t value =
        left == 0 ? rest : std::min(most, std::max(least, rng_.below(2 * rest / (left + 1)) + 1));
    plan.outputs.push_back({.value = value,
                            .owner = static_cast<std::uint32_t>(rng_.below(options_.owners)),
                            .kind = flavour_->random_kind(rng_)});
    rest -= value;
  }
  if (flavour_->has_assets()) {
    if (rng_.one_in(5)) {
      DevAsset asset;
      rng_.fill(asset.policy);
      asset.name.assign(rng_.below(33), static_cast<std::uint8_t>('a' + rng_.below(26)));
      asset.quantity = rng_.between(1, 1'000'000);
      plan.mint.push_back({asset, false});
    }
    std::vector<DevAsset> assets = gather_assets(plan.inputs);
    // A wallet with too many kinds burns one.
    if (plan.mint.empty() && assets.size() > 4) {
      plan.mint.push_back({assets.back(), true});
      assets.pop_back();
    }
    for (const DevMint& mint : plan.mint)
      if (!mint.burn) assets.push_back(mint.asset);
    plan.outputs.front().assets = std::move(assets);
    if (rng_.one_in(6))
      plan.reference_inputs.push_back(
          ledger_.spendable()[rng_.below(ledger_.spendable().size())].outpoint);
    for (const DevCoin& coin : plan.inputs) std::erase(plan.reference_inputs, coin.outpoint);
    if (rng_.one_in(8)) add_invalid(plan);
  }
  return std::make_shared<const DevTx>(flavour_->build(plan, rng_));
}

// Makes the plan fail phase-2 validation: collateral of plain coins is taken instead of its inputs.
void DevnetChain::add_invalid(TxPlan& plan) {
  const CoinSet& coins = ledger_.spendable();
  for (int tries = 0; tries < 8 && plan.collateral.empty(); ++tries) {
    const DevCoin& coin = coins[rng_.below(coins.size())];
    if (coin.assets.empty() && coin.value > 2 * flavour_->least_value())
      plan.collateral.push_back(coin);
  }
  if (plan.collateral.empty()) return;
  plan.valid = false;
  if (rng_.one_in(2)) return;  // without a return the whole collateral goes
  DevCoin back = plan.collateral.front();
  back.outpoint = {};
  back.kind = flavour_->random_kind(rng_);
  back.value -= flavour_->least_value();
  plan.collateral_return = std::move(back);
}

std::optional<DevTxPtr> DevnetChain::pay(bool on_unconfirmed) {
  return spend(pick_inputs(on_unconfirmed), flavour_->fee(rng_));
}

void DevnetChain::accept_and_tell(DevTxPtr tx, Emission& emission) {
  emission.before.push_back({tx, {}});
  ledger_.accept(std::move(tx));
}

void DevnetChain::drop_and_tell(const Hash256& id, std::vector<MempoolEvent>& events) {
  for (const Hash256& gone : ledger_.drop(id)) events.push_back({nullptr, gone});
}

// The same first input again for a higher fee; the earlier transaction and its descendants go.
void DevnetChain::replace(Emission& emission) {
  if (ledger_.mempool().empty()) return;
  const DevTxPtr old = ledger_.mempool()[rng_.below(ledger_.mempool().size())];
  std::vector<MempoolEvent> dropped;
  drop_and_tell(old->id, dropped);
  const DevCoin* coin = ledger_.spendable().find(old->spends.front());
  CHECK(coin != nullptr);
  if (auto tx = spend({*coin}, old->fee + kReplacementFee))
    accept_and_tell(std::move(*tx), emission);
  emission.before.insert(emission.before.end(), dropped.begin(), dropped.end());
}

// A transaction nobody saw takes the coin of one that everybody saw: the news comes with the block.
void DevnetChain::double_spend(Emission& emission) {
  if (ledger_.mempool().empty()) return;
  const DevTxPtr victim = ledger_.mempool().front();
  drop_and_tell(victim->id, emission.after);
  const DevCoin* coin = ledger_.spendable().find(victim->spends.front());
  CHECK(coin != nullptr);
  if (auto tx = spend({*coin}, flavour_->fee(rng_))) ledger_.accept(std::move(*tx));
}

void DevnetChain::make_traffic(Emission& emission) {
  const std::uint64_t count = rng_.between(0, 2 * options_.txs_per_block);
  for (std::uint64_t i = 0; i < count && ledger_.mempool().size() < kMaxMempool; ++i) {
    const std::uint64_t roll = rng_.below(100);
    if (roll >= 92 && roll < 96 && flavour_->has_mempool_replacement()) {
      replace(emission);
    } else if (roll >= 96 && roll < 98) {
      double_spend(emission);
    } else if (auto tx = pay(roll < 20)) {
      accept_and_tell(std::move(*tx), emission);
    }
  }
}

void DevnetChain::mine(Emission& emission) {
  BlockPlan plan;
  plan.height = ledger_.next_height();
  if (plan.height > 0) plan.prev = best_.back();
  plan.unix_s = options_.start_unix_s + plan.height * options_.seconds_per_block;
  plan.slot = plan.height * kDevnetSlotsPerBlock + rng_.below(kDevnetSlotsPerBlock);
  plan.nonce = emitted_++;
  plan.owner = static_cast<std::uint32_t>(rng_.below(options_.owners));
  const std::size_t pool = ledger_.mempool().size();
  // A double spend just made must be mined now: it stands at the end.
  const std::size_t count = emission.after.empty() ? pool - rng_.below(pool / 4 + 1) : pool;
  plan.txs = ledger_.first(count);
  BuiltBlock block = flavour_->build_block(plan);
  ledger_.mine(count, std::move(block.coinbase));
  best_.push_back(block.hash);
  emission.block = std::move(block.raw);
  emission.hash = block.hash;
  emission.height = plan.height;
}

}  // namespace coffer::feed
