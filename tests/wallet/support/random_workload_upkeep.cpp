// Leases, time, pruning and crashes in a random life.
#include "base/result.h"
#include "wallet/support/random_workload.h"

namespace coffer::wallet::test {

void RandomWorkload::select(std::size_t wallet, const LockId& id, std::int64_t duration) {
  LeaseSelection selection;
  selection.amount = rng_.between(1, 2'000);
  selection.lock_id = id;
  selection.duration_ms = duration;
  selection.order = rng_.one_in(2) ? CoinOrder::kLargest : CoinOrder::kSmallest;
  selection.chain_pending = rng_.one_in(3);
  did_ = fmt::format("select {}", selection.amount);
  ModelWallet& model = models_[wallet];
  const ModelWallet::Selection expected = model.select(selection);
  if (!expected.is_clear) return;
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    const auto got = engines_[e]->store().select_and_lease(ids_[e][wallet], selection);
    ASSERT_EQ(got.has_value(), !expected.coins.empty())
        << engines_[e]->name() << ": " << (got ? "" : got.error().message);
    if (!got) {
      ASSERT_EQ(got.error().code, Code::kConflict);
      continue;
    }
    std::vector<chain::Outpoint> coins;
    for (const Coin& coin : got->coins) coins.push_back(coin.outpoint);
    std::ranges::sort(coins);
    ASSERT_EQ(coins, expected.coins) << engines_[e]->name();
  }
  for (const chain::Outpoint& coin : expected.coins) model.hold(coin, id, model.now + duration);
}

void RandomWorkload::lease() {
  const std::size_t wallet = rng_.below(kWallets);
  std::vector<chain::Outpoint> coins = models_[wallet].all_coins();
  std::shuffle(coins.begin(), coins.end(), rng_);
  if (coins.size() > 3) coins.resize(rng_.between(1, 3));
  if (coins.empty() || rng_.one_in(10)) coins.push_back(foreign(99));
  if (rng_.one_in(20)) coins.push_back(coins.front());
  const LockId id = lock(rng_.between(1, 3));
  const auto duration = static_cast<std::int64_t>(rng_.between(1, 5'000));
  const LeaseRequest request{coins, id, duration};
  ModelWallet& model = models_[wallet];
  const std::uint64_t pick = rng_.below(12);
  if (pick >= 10) return select(wallet, id, duration);
  if (pick < 6) {
    did_ = "lease";
    expect_same(wallet, model.lease(coins, id, duration),
                [&](Store& store, WalletId at) { return store.lease(at, request); });
  } else if (pick < 8) {
    did_ = "renew";
    expect_same(wallet, model.renew(coins, id, duration),
                [&](Store& store, WalletId at) { return store.renew(at, request); });
  } else {
    did_ = "release";
    expect_same(wallet, model.release(coins, id),
                [&](Store& store, WalletId at) { return store.release(at, coins, id); });
  }
}

void RandomWorkload::let_time_pass() {
  did_ = "time passed";
  clock_.advance_ms(static_cast<std::int64_t>(rng_.between(1, 4'000)));
  for (ModelWallet& model : models_) model.now = clock_.unix_ms();
  if (!rng_.one_in(2)) return;
  did_ = "leases cleaned";
  for (ModelWallet& model : models_) model.clean_leases();
  for (WalletEngine* engine : engines_) ASSERT_TRUE(engine->store().clean_leases());
}

void RandomWorkload::prune() {
  const std::size_t wallet = rng_.below(kWallets);
  std::optional<std::uint64_t> age_ms;
  if (rng_.one_in(2)) age_ms = rng_.below(3'000);
  prune(wallet, age_ms, rng_.one_in(4));
}

void RandomWorkload::prune(std::size_t wallet, std::optional<std::uint64_t> age_ms, bool dry_run) {
  PruneOptions options;
  if (age_ms) options.invalid_older_than_ms = static_cast<std::int64_t>(*age_ms);
  options.dry_run = dry_run;
  did_ = options.dry_run ? "pruned, dry" : "pruned";
  if (!options.dry_run) models_[wallet].prune(options.invalid_older_than_ms);
  expect_same(wallet, std::nullopt, [&](Store& store, WalletId id) -> Result<Pruned> {
    PruneOptions dry = options;
    dry.dry_run = true;
    const Pruned promised = TRY(store.prune(id, dry));
    const Pruned done = TRY(store.prune(id, options));
    EXPECT_EQ(std::tuple(done.transactions, done.stubs, done.invalid, done.coins),
              std::tuple(promised.transactions, promised.stubs, promised.invalid, promised.coins));
    return done;
  });
}

void RandomWorkload::crash() {
  did_ = "crashed";
  const bool all_of_it = rng_.one_in(4);
  const bool holds_back = rng_.one_in(2);
  if (holds_back) {
    // A block that waits for more of them, and is lost with the process.
    const std::vector<MadeTx> txs = minable();
    const Hash256 prev = chain_.empty() ? Hash256{} : chain_.back().block->hash;
    chain_.push_back({make_block(network(), prev, chain_.size(), txs, ++nonce_), txs});
    const bus::BlockApplied waits{Ordinal(chain_.size() - 1), chain_.back().block, true, 1};
    each_consumer([&](Consumer& consumer) { return consumer.on_block(waits); });
  }
  for (WalletEngine* engine : engines_) all_of_it ? engine->open() : engine->open_consumer();
  for (ModelWallet& model : models_)
    for (auto& [id, entry] : model.txs) entry.in_mempool = false;
  if (chain_.empty()) return;
  if (holds_back) {
    did_ = "crashed with a block that was not committed";
    connect_models();
  }
  // What was applied is delivered again and changes nothing; what was not comes now.
  const bus::BlockApplied event{Ordinal(chain_.size() - 1), chain_.back().block, false, 0};
  each_consumer([&](Consumer& consumer) { return consumer.on_block(event); });
}

}  // namespace coffer::wallet::test
