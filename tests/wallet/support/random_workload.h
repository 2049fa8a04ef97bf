// A random life of two wallets from a seed, lived by a plain model and by any number of engines.
// Which operation comes next depends on the seed and the model alone, so a life can be gone through
// again, and from any of its operations on be done to an engine.
#pragma once

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/result.h"
#include "wallet/support/dump.h"

namespace coffer::wallet::test {

inline constexpr std::size_t kWallets = 2;
inline constexpr std::int64_t kStart = 1'700'000'000'000;

inline LockId lock(std::uint64_t number) {
  LockId id{};
  id.fill(static_cast<std::uint8_t>(number));
  return id;
}

// What lives met: a campaign that meets too little shows nothing.
struct WorkloadCoverage {
  std::set<TxStatus> statuses;
  std::set<CoinState> states;
  std::set<std::string> reasons;
  std::set<std::string_view> refusals;  // codes
  std::uint64_t stubs = 0, edges = 0, leases = 0;
  std::uint64_t found_coins = 0, found_spends = 0;  // of pruned transactions, later
};

class RandomWorkload {
 public:
  RandomWorkload(std::uint64_t seed, ManualClock& clock)
      : looks_back_(seed % 10 == 0),
        ask_every_(seed <= 500 ? 4 : 16),
        rng_(seed),
        look_(seed),
        clock_(clock) {
    for (std::size_t w = 0; w < kWallets; ++w) {
      models_[w].prune_window = 3;
      models_[w].now = clock_.unix_ms();
      for (std::uint32_t number = 0; number < 6; ++number)
        if (number % kWallets == w) models_[w].scripts.insert(script(number));
      models_[w].scripts.insert(script(6));  // both have this one
    }
  }

  // Makes the wallets in an engine that has none.
  static void create_wallets(WalletEngine& engine) {
    for (std::size_t w = 0; w < kWallets; ++w) {
      const auto made = engine.store().create({"wallet" + std::to_string(w)});
      ASSERT_TRUE(made) << made.error().message;
      for (std::uint32_t number = 0; number < 7; ++number)
        if (number % kWallets == w || number == 6) {
          const auto done = engine.store().import_script(made->id, script(number), {});
          ASSERT_TRUE(done) << done.error().message;
        }
    }
  }
  // From now on whatever happens is done to this engine too, which is where the model is.
  void join(WalletEngine& engine) {
    std::vector<WalletId> ids;
    for (std::size_t w = 0; w < kWallets; ++w) {
      const auto found = engine.store().find("wallet" + std::to_string(w));
      ASSERT_TRUE(found) << found.error().message;
      ids.push_back(found->id);
    }
    engines_.push_back(&engine);
    ids_.push_back(ids);
  }

  // It takes longer until there is much to look back at.
  bool looks_back() const { return looks_back_; }
  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      ASSERT_NO_FATAL_FAILURE(step());
      ASSERT_NO_FATAL_FAILURE(compare()) << "at step " << i << ": " << did_;
    }
    ASSERT_NO_FATAL_FAILURE(compare(true)) << "after all of them";
  }
  // Blocks enough that what was confirmed may go, and then it goes.
  void age() {
    for (std::uint64_t left = 5; left > 0; --left) connect({}, left);
    each_consumer([&](Consumer& consumer) { return consumer.flush(); });
    for (std::size_t w = 0; w < kWallets; ++w) prune(w, rng_.below(3'000), false);
    ASSERT_NO_FATAL_FAILURE(compare()) << "after ageing";
  }
  void verify() {
    for (WalletEngine* engine : engines_) {
      const auto verified = engine->store().verify();
      ASSERT_TRUE(verified) << engine->name() << ": " << verified.error().message;
    }
  }
  const ModelWallet& model(std::size_t wallet) const { return models_[wallet]; }
  void tell(WorkloadCoverage& met) const {
    for (const ModelWallet& model : models_) {
      for (const auto& [id, entry] : model.txs) {
        met.statuses.insert(entry.status);
        met.reasons.insert(entry.reason);
        met.stubs += entry.stub ? 1 : 0;
      }
      for (const chain::Outpoint& coin : model.all_coins()) {
        met.states.insert(model.state(coin));
        met.leases += model.active_lease(coin) ? 1 : 0;
      }
      met.edges += model.edges.size();
    }
    met.found_coins += found_coins_;
    met.found_spends += found_spends_;
    met.refusals.insert(refusals_.begin(), refusals_.end());
  }
  const std::string& did() const { return did_; }

  void step() {
    // Some mine and prune much and look back: else nothing is ever found of what was pruned.
    if (looks_back_ && rng_.one_in(2)) return look_back();
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
    if (pick < 96) return grow();
    if (pick < 97) return give_script();
    if (pick < 98) return rescan_block();
    return record_in_block();
  }

  // The first engine answers like the model, and the others hold what it holds; now and then, and
  // at the end, they are asked too.
  void compare(bool ask_all = false) {
    for (std::size_t e = 1; e < engines_.size(); ++e)
      ASSERT_EQ(dump_tables(engines_[e]->database()), dump_tables(engines_[0]->database()))
          << engines_[e]->name() << ", and " << engines_[0]->name();
    const std::size_t asked = ask_all || look_.one_in(ask_every_) ? engines_.size() : 1;
    for (std::size_t w = 0; w < kWallets; ++w) {
      DumpOptions options;
      options.page = look_.one_in(2 * ask_every_) ? look_.between(1, 8) : 500;
      options.order = static_cast<CoinOrder>(look_.below(4));
      std::vector<Bytes> scripts(models_[w].scripts.begin(), models_[w].scripts.end());
      if (look_.one_in(3)) options.script = scripts[look_.below(scripts.size())];
      options.leases = look_.one_in(3);
      const std::string expected = dump(models_[w], options);
      for (std::size_t e = 0; e < asked; ++e)
        ASSERT_EQ(dump(engines_[e]->store(), ids_[e][w], options), expected)
            << engines_[e]->name() << ", wallet " << w;
    }
  }

 private:
  // ---- what is done to all of them ----

  using Answer = std::optional<Code>;
  template <typename T>
  static Answer code_of(const Result<T>& result) {
    if (result) return std::nullopt;
    return result.error().code;
  }
  // What was answered, as far as engines can be compared by it.
  static std::string said(const Result<Recorded>& got) {
    std::vector<std::string> invalidated;
    for (const Hash256& id : got->invalidated) invalidated.push_back(to_hex(id.view()));
    std::sort(invalidated.begin(), invalidated.end());
    return fmt::format("{} {} {} {}", to_string(got->status), got->height.value_or(0), got->changed,
                       fmt::join(invalidated, " "));
  }
  static std::string said(const Result<std::int64_t>& until) { return std::to_string(*until); }
  static std::string said(const Result<Pruned>& got) {
    return fmt::format("{} {} {} {} {}", got->transactions, got->stubs, got->invalid, got->coins,
                       got->more);
  }
  static std::string said(const Result<>&) { return ""; }
  // The same on every engine, and on the model of that wallet.
  template <typename OnStore>
  void expect_same(std::size_t wallet, Answer expected, OnStore on_store) {
    if (expected) refusals_.insert(info(*expected).name);
    std::string first;
    for (std::size_t e = 0; e < engines_.size(); ++e) {
      const auto got = on_store(engines_[e]->store(), ids_[e][wallet]);
      const std::string answer = got ? said(got) : got.error().message;
      if (e == 0) first = answer;
      ASSERT_EQ(answer, first) << engines_[e]->name() << ": " << did_;
      ASSERT_EQ(code_of(got).has_value(), expected.has_value())
          << engines_[e]->name() << ": " << did_ << ": "
          << (got ? std::string("no error") : got.error().message);
      if (expected) {
        ASSERT_EQ(info(*code_of(got)).name, info(*expected).name)
            << engines_[e]->name() << ": " << did_ << ": " << got.error().message;
      }
    }
  }
  template <typename OnConsumer>
  void each_consumer(OnConsumer on_consumer) {
    for (WalletEngine* engine : engines_) {
      const Result<> done = on_consumer(engine->consumer());
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
    // Most pay no more than they spend.
    std::uint64_t money = rng_.one_in(8) ? kMuch : 0;
    for (const chain::Outpoint& input : inputs) money += amount_of(input);
    std::vector<Pay> outputs;
    const std::uint64_t pays = rng_.between(1, 3);
    for (std::uint64_t i = 0; i < pays; ++i) {
      outputs.push_back({any_script(), rng_.below(std::min<std::uint64_t>(money + 1, 1000))});
      money -= outputs.back().amount;
    }
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
  static constexpr std::uint64_t kMuch = 3'000;
  std::uint64_t amount_of(const chain::Outpoint& outpoint) const {
    const auto found = std::ranges::find(made_, outpoint.tx, &MadeTx::id);
    return found == made_.end() ? kMuch : found->outputs[outpoint.index].amount;
  }
  Bytes any_script() { return script(static_cast<std::uint32_t>(rng_.below(9))); }

  void see(const MadeTx& tx) {
    did_ = "seen " + to_hex(tx.id.view().first(6));
    if (tx.coinbase) return;
    for (ModelWallet& model : models_) (void)model.record_published(tx, true);
    each_consumer(
        [&](Consumer& consumer) { return consumer.on_tx_seen(make_seen(network(), tx)); });
  }
  void drop() {
    if (made_.empty()) return;
    const MadeTx& tx = made_[rng_.below(made_.size())];
    did_ = "dropped " + to_hex(tx.id.view().first(6));
    for (ModelWallet& model : models_) model.drop(tx.id);
    each_consumer([&](Consumer& consumer) { return consumer.on_tx_dropped({tx.id}); });
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

  // ---- the chain (wallet_life.cpp) ----

  // What a miner could take: nothing spent twice, parents that are ours to know before children.
  std::vector<MadeTx> minable();
  void mine();
  void connect(const std::vector<MadeTx>& txs, std::uint64_t behind);
  void connect_models();  // to the newest block of the chain
  void grow();
  void reorganise();
  bus::Position position(std::uint64_t height) const;
  // A person says that a transaction is in a block.
  void record_in_block();
  // An old block again for one wallet: what it owns now and did not then.
  void rescan_block();
  void look_back() {
    const std::uint64_t pick = rng_.below(12);
    if (pick < 4) return mine();
    if (pick < 6) return prune();
    if (pick < 8) return give_script();
    return rescan_block();
  }

  // ---- leases, time, pruning, crashes (wallet_life_upkeep.cpp) ----

  void lease();
  void select(std::size_t wallet, const LockId& id, std::int64_t duration);
  void let_time_pass();
  void prune();
  void prune(std::size_t wallet, std::optional<std::uint64_t> age_ms, bool dry_run);
  // Often with a block that was held back and never committed, and then comes again.
  void crash();

  const chain::Network& network() const { return network_; }

  struct ChainBlock {
    std::shared_ptr<const chain::Block> block;
    std::vector<MadeTx> txs;
    // In the block itself, which has a coinbase of nobody if these have none.
    ModelWallet::Where where(std::size_t tx) const {
      const bool is_first_ours = !txs.empty() && txs.front().coinbase;
      return {block->number.value, static_cast<std::uint32_t>(tx + (is_first_ours ? 0 : 1))};
    }
  };

  const bool looks_back_;
  const std::uint64_t ask_every_;  // steps: of long campaigns most time goes into asking
  Rng rng_;
  Rng look_;  // how it is looked at
  ManualClock& clock_;
  const chain::Network network_ = chain::find_network("bitcoin", "regtest").value();
  std::vector<WalletEngine*> engines_;
  std::vector<std::vector<WalletId>> ids_;  // by engine, then wallet
  ModelWallet models_[kWallets];
  std::vector<MadeTx> made_, coinbases_;
  std::vector<ChainBlock> chain_;
  std::uint32_t nonce_ = 0;
  std::string did_;
  std::set<std::string_view> refusals_;
  std::uint64_t found_coins_ = 0, found_spends_ = 0;
};

}  // namespace coffer::wallet::test
