// Random lives of two wallets on SQLite, on PostgreSQL and in a plain model in memory: after every
// step all three answer the same, errors included. A failure names its seed; run that one alone
// with COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/random.h"
#include "base/test_data.h"
#include "wallet_dump.h"

namespace coffer::wallet::test {
namespace {

constexpr std::size_t kWallets = 2;
constexpr std::int64_t kStart = 1'700'000'000'000;

LockId lock(std::uint64_t number) {
  LockId id{};
  id.fill(static_cast<std::uint8_t>(number));
  return id;
}

class Sequence {
 public:
  Sequence(std::uint64_t seed, ManualClock& clock, std::vector<WalletEngine*> engines)
      : rng_(seed), clock_(clock), engines_(std::move(engines)) {
    for (std::size_t w = 0; w < kWallets; ++w) {
      models_[w].prune_window = 3;
      models_[w].now = clock_.unix_ms();
    }
    for (WalletEngine* engine : engines_) {
      engine->empty();
      std::vector<WalletId> ids;
      for (std::size_t w = 0; w < kWallets; ++w) {
        const auto made = engine->store().create({"wallet" + std::to_string(w)});
        EXPECT_TRUE(made) << made.error().message;
        ids.push_back(made->id);
      }
      ids_.push_back(ids);
    }
    for (std::uint32_t number = 0; number < 6; ++number) add_script(number % kWallets, number);
    add_script(0, 6), add_script(1, 6);  // both have this one
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      ASSERT_NO_FATAL_FAILURE(step());
      ASSERT_NO_FATAL_FAILURE(compare()) << "at step " << i << ": " << did_;
    }
    for (WalletEngine* engine : engines_) {
      const auto verified = engine->store().verify();
      ASSERT_TRUE(verified) << engine->name() << ": " << verified.error().message;
    }
  }

 private:
  void step() {
    const std::uint64_t pick = rng_.below(100);
    if (pick < 22) return see(any_tx());
    if (pick < 34) return record(any_tx());
    if (pick < 56) return mine();
    if (pick < 62) return reorganise();
    if (pick < 66) return drop();
    if (pick < 71) return publish();
    if (pick < 75) return cancel();
    if (pick < 86) return lease();
    if (pick < 90) return let_time_pass();
    if (pick < 93) return prune();
    if (pick < 95) return crash();
    if (pick < 97) return grow();
    if (pick < 98) return give_script();
    return record_in_block();
  }

  // ---- what is done to all of them ----

  using Answer = std::optional<Code>;
  template <typename T>
  static Answer code_of(const Result<T>& result) {
    if (result) return std::nullopt;
    return result.error().code;
  }
  // The same on every engine, and on the model of that wallet.
  template <typename OnStore>
  void expect_same(std::size_t wallet, Answer expected, OnStore on_store) {
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const auto got = on_store(engines_[e]->store(), ids_[e][wallet]);
      ASSERT_EQ(code_of(got).has_value(), expected.has_value())
          << engines_[e]->name() << ": " << did_ << ": "
          << (got ? std::string("no error") : got.error().message);
      if (expected) {
        ASSERT_EQ(info(*code_of(got)).name, info(*expected).name)
            << engines_[e]->name() << ": " << did_ << ": " << got.error().message;
      }
    }
  }
  template <typename OnFeed>
  void feed(OnFeed on_feed) {
    for (WalletEngine* engine : engines_) {
      const Result<> done = on_feed(engine->feed());
      ASSERT_TRUE(done) << engine->name() << ": " << did_ << ": " << done.error().message;
    }
  }

  void add_script(std::size_t wallet, std::uint32_t number) {
    models_[wallet].scripts.insert(script(number));
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const auto done = engines_[e]->store().import_script(ids_[e][wallet], script(number), {});
      ASSERT_TRUE(done) << done.error().message;
    }
  }
  void give_script() {
    did_ = "another script";
    add_script(rng_.below(kWallets), static_cast<std::uint32_t>(rng_.below(12)));
  }

  // ---- transactions ----

  // An old one again, or a new one on coins of any state, foreign outpoints or outputs of others.
  MadeTx any_tx() {
    if (!made_.empty() && rng_.one_in(4)) return made_[rng_.below(made_.size())];
    std::vector<chain::Outpoint> inputs;
    const std::uint64_t wanted = rng_.between(1, 3);
    for (std::uint64_t i = 0; i < wanted; ++i) {
      const chain::Outpoint input = any_outpoint();
      if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
    }
    std::vector<Pay> outputs;
    const std::uint64_t pays = rng_.between(1, 3);
    for (std::uint64_t i = 0; i < pays; ++i) outputs.push_back({any_script(), rng_.below(1000)});
    made_.push_back(make_tx(std::move(inputs), std::move(outputs), ++nonce_));
    return made_.back();
  }
  chain::Outpoint any_outpoint() {
    const ModelWallet& model = models_[rng_.below(kWallets)];
    const std::vector<chain::Outpoint> coins = model.all_coins();
    if (!coins.empty() && !rng_.one_in(4)) return coins[rng_.below(coins.size())];
    if (!made_.empty() && rng_.one_in(2)) {
      const MadeTx& tx = made_[rng_.below(made_.size())];
      return {tx.id, static_cast<std::uint32_t>(rng_.below(tx.outputs.size()))};
    }
    return foreign(static_cast<std::uint32_t>(rng_.below(6)));
  }
  Bytes any_script() { return script(static_cast<std::uint32_t>(rng_.below(9))); }

  void see(const MadeTx& tx) {
    did_ = "seen " + to_hex(tx.id.view().first(6));
    if (tx.coinbase) return;
    for (ModelWallet& model : models_) (void)model.record_published(tx, true);
    feed([&](Feed& feed) { return feed.on_tx_seen(make_seen(network(), tx)); });
  }
  void drop() {
    if (made_.empty()) return;
    const MadeTx& tx = made_[rng_.below(made_.size())];
    did_ = "dropped " + to_hex(tx.id.view().first(6));
    for (ModelWallet& model : models_) model.drop(tx.id);
    feed([&](Feed& feed) { return feed.on_tx_dropped({tx.id}); });
  }
  void record(const MadeTx& tx) {
    const std::size_t wallet = rng_.below(kWallets);
    RecordOptions options;
    Answer expected;
    if (rng_.one_in(3)) {
      did_ = "recorded as published " + to_hex(tx.id.view().first(6));
      expected = models_[wallet].record_published(tx, false);
    } else {
      options.status = TxStatus::kPending;
      options.bump = rng_.one_in(3);
      options.force = rng_.one_in(4);
      if (rng_.one_in(3)) options.lock_id = lock(rng_.between(1, 3));
      did_ = fmt::format("recorded as pending {} bump {} force {}", to_hex(tx.id.view().first(6)),
                         options.bump, options.force);
      expected = models_[wallet].record_pending(tx, options.bump, options.lock_id, options.force);
    }
    expect_same(wallet, expected,
                [&](Store& store, WalletId id) { return store.record(id, tx.raw, options); });
  }
  void publish() {
    if (made_.empty()) return;
    const std::size_t wallet = rng_.below(kWallets);
    const Hash256 id = any_known(wallet, TxStatus::kPending);
    did_ = "published " + to_hex(id.view().first(6));
    expect_same(wallet, models_[wallet].publish(id),
                [&](Store& store, WalletId at) { return store.publish(at, id); });
  }
  void cancel() {
    if (made_.empty()) return;
    const std::size_t wallet = rng_.below(kWallets);
    const Hash256 id = any_known(wallet, TxStatus::kPending);
    did_ = "cancelled " + to_hex(id.view().first(6));
    expect_same(wallet, models_[wallet].cancel(id),
                [&](Store& store, WalletId at) { return store.cancel(at, id); });
  }
  Hash256 any_known(std::size_t wallet, TxStatus status) {
    std::vector<Hash256> list;
    for (const auto& [id, entry] : models_[wallet].txs)
      if (entry.status == status) list.push_back(id);
    if (list.empty() || rng_.one_in(4)) return made_[rng_.below(made_.size())].id;
    return list[rng_.below(list.size())];
  }

  // ---- the chain ----

  // What a miner could take: nothing spent twice, parents that are ours to know before children.
  std::vector<MadeTx> minable() {
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
            return !spent.contains(input) &&
                   (!known.contains(input.tx) || mined.contains(input.tx));
          });
      if (!fits) continue;
      mined.insert(tx.id);
      spent.insert(tx.inputs.begin(), tx.inputs.end());
      chosen.push_back(tx);
    }
    return chosen;
  }
  void mine() {
    if (rng_.one_in(3)) (void)any_tx();  // one that nobody saw before
    connect(minable(), rng_.one_in(3) ? 1 : 0);
    feed([&](Feed& feed) { return feed.flush(); });
  }
  void connect(const std::vector<MadeTx>& txs, std::uint64_t behind) {
    const std::uint64_t height = chain_.size();
    const Hash256 prev = chain_.empty() ? Hash256{} : chain_.back().block->hash;
    chain_.push_back({make_block(network(), prev, height, txs, ++nonce_), txs});
    did_ = fmt::format("block {} with {} transactions", height, txs.size());
    for (ModelWallet& model : models_) {
      model.tip = static_cast<std::int64_t>(height);
      for (const MadeTx& tx : txs) model.connect(tx, height);
    }
    const bus::BlockApplied event{Ordinal(height), chain_.back().block, behind > 0, behind};
    feed([&](Feed& feed) { return feed.on_block(event); });
  }
  void grow() {
    for (std::uint64_t left = rng_.between(90, 110); left > 0; --left) connect({}, left);
    feed([&](Feed& feed) { return feed.flush(); });
    did_ = "many empty blocks";
  }
  void reorganise() {
    if (chain_.empty()) return;
    const std::uint64_t most =
        rng_.one_in(4) ? chain_.size() : std::min<std::size_t>(4, chain_.size());
    std::uint64_t height = chain_.size() - rng_.between(1, most);
    // Below what was pruned there is no way back.
    std::uint64_t floor = 0;
    for (const ModelWallet& model : models_)
      for (const auto& [id, at] : model.pruned) floor = std::max(floor, at + 1);
    if (height < floor) {
      did_ = "rolled back too far";
      for (WalletEngine* engine : engines_)
        ASSERT_EQ(code_of(engine->feed().on_rollback({position(height)})), Code::kBeyondWindow);
      return;
    }
    did_ = fmt::format("rolled back to {} blocks", height);
    const bus::Position to = position(height);
    chain_.resize(height);
    for (ModelWallet& model : models_) {
      model.tip = static_cast<std::int64_t>(height) - 1;
      model.disconnect_above(model.tip);
    }
    feed([&](Feed& feed) { return feed.on_rollback({to}); });
  }
  bus::Position position(std::uint64_t height) const {
    if (height == 0) return bus::Position::origin();
    return bus::Position::after(Ordinal(height - 1), chain_[height - 1].block->point());
  }
  // A person says that a transaction is in a block.
  void record_in_block() {
    if (made_.empty() || chain_.empty()) return;
    const MadeTx tx = made_[rng_.below(made_.size())];
    const std::uint64_t height = rng_.below(chain_.size());
    // Only what is true: a lie would be a fork of the chain itself.
    const auto& in = chain_[height].txs;
    const auto found =
        std::find_if(in.begin(), in.end(), [&](const MadeTx& one) { return one.id == tx.id; });
    if (found == in.end()) return;
    const std::size_t wallet = rng_.below(kWallets);
    RecordOptions options;
    options.block = BlockRef{height, chain_[height].block->hash, 0,
                             static_cast<std::uint32_t>(found - in.begin())};
    did_ = "recorded in its block " + to_hex(tx.id.view().first(6));
    expect_same(wallet, models_[wallet].record_confirmed(tx, height),
                [&](Store& store, WalletId id) { return store.record(id, tx.raw, options); });
  }

  // ---- leases, time, pruning, crashes ----

  void lease() {
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
    const std::uint64_t pick = rng_.below(10);
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
  void let_time_pass() {
    did_ = "time passed";
    clock_.advance_ms(static_cast<std::int64_t>(rng_.between(1, 4'000)));
    for (ModelWallet& model : models_) model.now = clock_.unix_ms();
    if (!rng_.one_in(2)) return;
    did_ = "leases cleaned";
    for (ModelWallet& model : models_) model.clean_leases();
    for (WalletEngine* engine : engines_) ASSERT_TRUE(engine->store().clean_leases());
  }
  void prune() {
    const std::size_t wallet = rng_.below(kWallets);
    PruneOptions options;
    if (rng_.one_in(2))
      options.invalid_older_than_ms = static_cast<std::int64_t>(rng_.below(3'000));
    options.dry_run = rng_.one_in(4);
    did_ = options.dry_run ? "pruned, dry" : "pruned";
    if (!options.dry_run) models_[wallet].prune(options.invalid_older_than_ms);
    expect_same(wallet, std::nullopt,
                [&](Store& store, WalletId id) { return store.prune(id, options); });
  }
  // With a block that was held back and never committed, and then comes again.
  void crash() {
    did_ = "crashed";
    for (WalletEngine* engine : engines_) rng_.one_in(4) ? engine->open() : engine->open_feed();
    for (ModelWallet& model : models_)
      for (auto& [id, entry] : model.txs) entry.in_mempool = false;
    if (chain_.empty()) return;
    // What was applied is delivered again and changes nothing.
    const bus::BlockApplied event{Ordinal(chain_.size() - 1), chain_.back().block, false, 0};
    feed([&](Feed& feed) { return feed.on_block(event); });
  }

  void compare() {
    for (std::size_t w = 0; w < kWallets; ++w) {
      DumpOptions options;
      options.page = rng_.between(1, 50);
      options.order = static_cast<CoinOrder>(rng_.below(4));
      std::vector<Bytes> scripts(models_[w].scripts.begin(), models_[w].scripts.end());
      options.script = scripts[rng_.below(scripts.size())];
      const std::string expected = dump(models_[w], options);
      for (std::size_t e = 0; e < engines_.size(); ++e)
        ASSERT_EQ(dump(engines_[e]->store(), ids_[e][w], options), expected)
            << engines_[e]->name() << ", wallet " << w;
    }
  }

  const chain::Network& network() const { return engines_.front()->network(); }

  struct ChainBlock {
    std::shared_ptr<const chain::Block> block;
    std::vector<MadeTx> txs;
  };

  Rng rng_;
  ManualClock& clock_;
  std::vector<WalletEngine*> engines_;
  std::vector<std::vector<WalletId>> ids_;  // by engine, then wallet
  ModelWallet models_[kWallets];
  std::vector<MadeTx> made_, coinbases_;
  std::vector<ChainBlock> chain_;
  std::uint32_t nonce_ = 0;
  std::string did_;
};

TEST(WalletModel, RandomLivesAreTheSameOnEveryEngine) {
  std::uint64_t first = 1, count = 500;
  if (std::getenv("COFFER_LONG") != nullptr) count = 100'000;
  if (const char* seed = std::getenv("COFFER_SEED")) {
    first = std::strtoull(seed, nullptr, 10);
    const char* seeds = std::getenv("COFFER_SEEDS");
    count = seeds != nullptr ? std::strtoull(seeds, nullptr, 10) : 1;
  }
  const TempDir dir;
  ManualClock clock(kStart);
  StoreOptions options;
  options.prune_window = 3;
  const auto lite = WalletEngine::sqlite(dir.path(), &clock, options);
  const auto postgres = WalletEngine::postgres(&clock, options);
  if (shared_data_required()) {
    ASSERT_NE(postgres, nullptr) << "PostgreSQL is not installed";
  }
  std::vector<WalletEngine*> engines = {lite.get()};
  if (postgres) engines.push_back(postgres.get());
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Sequence sequence(seed, clock, engines);
    sequence.run(40);
    ASSERT_FALSE(testing::Test::HasFailure()) << "COFFER_SEED=" << seed;
  }
}

}  // namespace
}  // namespace coffer::wallet::test
