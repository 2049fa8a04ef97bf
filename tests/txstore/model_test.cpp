// Random operations on the transaction store on RocksDB, SQLite and PostgreSQL and on a plain model
// in memory that keeps all history: after every operation all answer and hold the same. A failure
// names its seed; run that one alone with COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include "txstore/support/model.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>

#include "base/random.h"
#include "sql/test_postgres.h"
#include "support/process.h"
#include "txstore/support/stores.h"

namespace coffer::txstore::test {
namespace {

constexpr std::uint64_t kParents = 4, kOutputs = 4, kSpenders = 3;
constexpr std::uint64_t kUnknown = 99;  // never stored

// How often each thing happened.
struct Coverage {
  std::map<std::string, std::map<Outcome, std::uint64_t>> outcomes;
  std::uint64_t kept[retention::kReasons] = {};
  TxStoreModel::Arms arms;
  std::uint64_t operations = 0;
};

template <typename T>
T value_of(Result<T> result) {
  return must(std::move(result));
}
template <typename T>
T value_of(T value) {
  return value;
}

std::string text_of(const std::vector<ItemResult>& items) {
  std::string text;
  for (const ItemResult& item : items)
    text += fmt::format("{}({}) ", to_string(item.outcome), item.other.hex().substr(0, 16));
  return text;
}
std::string text_of(const std::vector<SpendResult>& items) {
  std::string text;
  for (const SpendResult& item : items)
    text += fmt::format("{}: {}; ", to_string(item.outcome), text_of(item.inputs));
  return text;
}
std::string text_of(const CleanupReport& report) {
  return fmt::format("deleted {} conflicting {} expired {}", report.deleted,
                     report.deleted_conflicting, report.expired);
}
std::string text_of(const Counts& counts) {
  return fmt::format(
      "records {} bytes {} unmined {} conflicting {} final {} parent_missing {} deleted {} kept {}",
      counts.records, counts.bytes, counts.unmined, counts.conflicting, counts.final_entries,
      counts.parent_missing, counts.deleted, fmt::join(counts.kept, ","));
}

class Sequence {
 public:
  Sequence(std::uint64_t seed, const std::vector<Engine>& engines, Coverage& met)
      : rng_(seed),
        options_(random_options()),
        began_at_origin_(rng_.one_in(2)),
        is_damaged_(rng_.one_in(3)),
        model_(options_, began_at_origin_),
        met_(met) {
    for (const Engine engine : engines)
      stores_.push_back(std::make_unique<TestStore>(engine, options_));
    make_templates();
  }

  void run(int steps) {
    // Some chains are long enough for a coinbase to be mature.
    const std::uint64_t blocks = rng_.one_in(2) ? rng_.between(1, 12) : 110;
    const std::uint64_t first = began_at_origin_ ? 0 : 200;
    model_.advance(first);
    for (const auto& store : stores_) {
      if (began_at_origin_)
        must((*store)->advance(block_at(first)));
      else
        store->begin_at(first);
    }
    if (blocks > 1) advance(first + blocks - 1);
    for (int i = 0; i < steps; ++i) {
      ASSERT_NO_FATAL_FAILURE(step());
      ASSERT_NO_FATAL_FAILURE(compare()) << "after step " << i << ": " << what_;
    }
    const TxStoreModel::Arms& arms = model_.arms();
    met_.arms.mined += arms.mined;
    met_.arms.conflicting += arms.conflicting;
    met_.arms.expired += arms.expired;
    met_.arms.preservation_ended += arms.preservation_ended;
  }

 private:
  Options random_options() {
    Options options;
    options.window = rng_.between(3, 10);
    options.block_height_retention = rng_.between(1, 10);
    options.unmined_retention = rng_.between(2, 15);
    return options;
  }

  // Who spends what is fixed for a sequence, as it is for transactions.
  void make_templates() {
    std::vector<std::vector<chain::Outpoint>> inputs(kParents + kSpenders + 1);
    for (std::uint64_t number = 1; number <= kParents; ++number) {
      NewTx& tx = templates_[number] = make_tx(number, {}, kOutputs);
      const std::uint64_t unspendable = rng_.below(kOutputs + 1);
      for (std::uint64_t i = 0; i < unspendable; ++i)
        tx.outputs[rng_.below(kOutputs)].spendable = false;
      for (std::uint32_t i = 0; i < kOutputs; ++i) {
        if (!tx.outputs[i].spendable) continue;
        for (std::uint64_t spender = 1; spender <= kSpenders; ++spender)
          if (rng_.one_in(3)) inputs[kParents + spender].push_back({tx.id, i});
      }
      if (rng_.one_in(3)) {
        tx.coinbase = true;
      } else if (number > 1 && rng_.one_in(2)) {
        tx.inputs.push_back({make_id(rng_.between(1, number - 1)),
                             static_cast<std::uint32_t>(rng_.below(kOutputs))});
      }
      if (!tx.coinbase && rng_.one_in(12)) tx.inputs.push_back({make_id(kUnknown), 0});
    }
    for (std::uint64_t number = kParents + 1; number <= kParents + kSpenders; ++number) {
      NewTx& tx = templates_[number] =
          make_tx(number, inputs[number], static_cast<std::uint32_t>(rng_.between(0, 2)));
      if (rng_.one_in(2)) add_op_return(tx);
      if (number > kParents + 1 && rng_.one_in(3)) tx.inputs.push_back({make_id(number - 1), 0});
      if (rng_.one_in(8))
        tx.inputs.push_back(
            {make_id(rng_.between(1, kParents)), static_cast<std::uint32_t>(kOutputs)});
      if (tx.inputs.empty() || rng_.one_in(16)) tx.inputs.push_back({make_id(kUnknown), 1});
    }
  }

  std::uint64_t any_number() { return rng_.one_in(25) ? kUnknown : rng_.between(1, 7); }
  Hash256 any_id() { return make_id(any_number()); }
  // One or two, the same twice at times.
  std::vector<Hash256> any_ids() {
    std::vector<Hash256> ids = {any_id()};
    if (rng_.one_in(4)) ids.push_back(any_id());
    return ids;
  }
  // Mostly one of these, if there is one.
  template <typename Wanted>
  std::vector<Hash256> ids_that(const Wanted& is_wanted) {
    std::vector<Hash256> wanted;
    for (std::uint64_t number = 1; number <= kParents + kSpenders; ++number)
      if (is_wanted(make_id(number))) wanted.push_back(make_id(number));
    if (wanted.empty() || rng_.one_in(4)) return any_ids();
    std::vector<Hash256> ids = {wanted[rng_.below(wanted.size())]};
    if (rng_.one_in(4)) ids.push_back(any_id());
    return ids;
  }
  bool is_state(const Hash256& id, State state) {
    const StoredTx* tx = model_.find(id);
    return tx != nullptr && tx->state == state;
  }
  chain::Outpoint any_output() {
    return {any_id(), static_cast<std::uint32_t>(rng_.below(kOutputs + 1))};
  }
  std::vector<chain::Outpoint> any_outputs() {
    std::vector<chain::Outpoint> outputs = {any_output()};
    if (rng_.one_in(4)) outputs.push_back(any_output());
    return outputs;
  }
  std::vector<chain::Outpoint> frozen_outputs() {
    std::vector<chain::Outpoint> outputs;
    for (std::uint64_t number = 1; number <= kParents + kSpenders; ++number)
      for (std::uint32_t i = 0; i < kOutputs; ++i)
        if (const auto* output = model_.find_output({make_id(number), i}); output && output->frozen)
          outputs.push_back({make_id(number), i});
    if (outputs.empty() || rng_.one_in(3)) return any_outputs();
    return {outputs[rng_.below(outputs.size())]};
  }
  // A block that can still be undone.
  BlockRef recent_block() {
    const auto least =
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, model_.final_height() + 1));
    const std::uint64_t height =
        rng_.one_in(2) ? model_.tip() : rng_.between(std::min(least, model_.tip()), model_.tip());
    return ref_at(height, rng_.one_in(4) ? 1 : 0);
  }

  // The same on the model and on every store.
  template <typename Operation>
  void check(const std::string& name, const Operation& operation) {
    what_ = name;
    ++met_.operations;
    const auto expected = value_of(operation(model_));
    const std::string text = text_of(expected);
    for (const auto& store : stores_) {
      const auto result = value_of(operation(store->store()));
      ASSERT_EQ(text_of(result), text) << name << " on " << to_string(store->engine()) << "\n"
                                       << "now there:\n"
                                       << store->describe_all();
    }
    remember(name, expected);
  }
  void remember(const std::string& name, const std::vector<ItemResult>& items) {
    for (const ItemResult& item : items) ++met_.outcomes[name][item.outcome];
  }
  void remember(const std::string& name, const std::vector<SpendResult>& items) {
    for (const SpendResult& item : items) {
      if (item.inputs.empty()) ++met_.outcomes[name + " itself"][item.outcome];
      remember(name, item.inputs);
    }
  }
  void remember(const std::string&, const CleanupReport& report) {
    for (std::size_t i = 0; i < retention::kReasons; ++i) met_.kept[i] += report.kept_by[i];
  }

  void advance(std::uint64_t height) {
    model_.advance(height);
    for (const auto& store : stores_) must((*store)->advance(block_at(height)));
  }

  void step() {
    const std::uint64_t pick = rng_.below(is_damaged_ ? 110 : 100);
    if (rng_.one_in(5)) {
      const std::uint64_t kind = rng_.below(is_damaged_ ? 6 : 4);
      if (kind == 0) return live_and_die();
      if (kind == 1) return resurrect();
      if (kind <= 3) return lose_and_return();
      return damage_child();
    }
    if (pick < 12) {
      what_ = "advance";
      const std::uint64_t blocks = rng_.one_in(3) ? rng_.between(1, 12) : 1;
      for (std::uint64_t i = 0; i < blocks; ++i) advance(model_.tip() + 1);
    } else if (pick < 22) {
      check("prune", [](auto& at) { return at.prune(); });
    } else if (pick < 38) {
      create();
    } else if (pick < 52) {
      spend();
    } else if (pick < 55) {
      const auto ids = ids_that([&](const Hash256& id) { return is_state(id, State::kUnmined); });
      check("unspend", [&](auto& at) { return at.unspend(ids); });
    } else if (pick < 65) {
      const auto ids = ids_that([&](const Hash256& id) { return is_state(id, State::kUnmined); });
      const BlockRef block = recent_block();
      const bool longest_chain = !rng_.one_in(6);
      check("set_mined", [&](auto& at) { return at.set_mined(ids, block, longest_chain); });
    } else if (pick < 70) {
      unset_mined();
    } else if (pick < 73) {
      const auto ids = any_ids();
      check("mark_conflicting", [&](auto& at) { return at.mark_conflicting(ids); });
    } else if (pick < 77) {
      const auto ids =
          ids_that([&](const Hash256& id) { return is_state(id, State::kConflicting); });
      check("unmark_conflicting", [&](auto& at) { return at.unmark_conflicting(ids); });
    } else if (pick < 81) {
      const auto ids = ids_that([&](const Hash256& id) {
        const StoredTx* tx = model_.find(id);
        return tx != nullptr && tx->delete_at_height;
      });
      check("remove", [&](auto& at) { return at.remove(ids); });
    } else if (pick < 83) {
      const auto ids = any_ids();
      check("lock", [&](auto& at) { return at.lock(ids); });
      if (rng_.one_in(3)) check("lock", [&](auto& at) { return at.lock(ids); });
    } else if (pick < 85) {
      const auto ids = ids_that([&](const Hash256& id) {
        const StoredTx* tx = model_.find(id);
        return tx != nullptr && tx->locked;
      });
      check("unlock", [&](auto& at) { return at.unlock(ids); });
    } else if (pick < 88) {
      const auto outputs = any_outputs();
      check("freeze", [&](auto& at) { return at.freeze(outputs); });
      if (rng_.one_in(3)) check("freeze", [&](auto& at) { return at.freeze(outputs); });
    } else if (pick < 90) {
      const auto outputs = frozen_outputs();
      check("unfreeze", [&](auto& at) { return at.unfreeze(outputs); });
    } else if (pick < 94) {
      reassign();
    } else if (pick < 98) {
      const auto ids = any_ids();
      const std::uint64_t until = model_.tip() + rng_.below(8);
      check("preserve", [&](auto& at) { return at.preserve(ids, until); });
      if (rng_.one_in(4)) check("preserve", [&](auto& at) { return at.preserve(ids, until); });
    } else if (pick < 100) {
      what_ = "reopen";
      if (rng_.one_in(4))
        for (const auto& store : stores_) store->reopen();
    } else {
      damage();
    }
  }

  // ---- short stories, which lead to what single operations seldom meet ----

  void create_one(std::uint64_t number, std::optional<BlockRef> mined_in) {
    std::vector<NewTx> txs = {templates_.at(number)};
    txs[0].mined_in = mined_in;
    check("create", [&](auto& at) { return at.create(txs); });
  }
  BlockRef old_block() { return ref_at(model_.tip() - std::min<std::uint64_t>(model_.tip(), 105)); }
  void create_parents(std::uint64_t number, bool all_mined = false) {
    for (const chain::Outpoint& input : templates_.at(number).inputs)
      for (std::uint64_t parent = 1; parent < number; ++parent)
        if (make_id(parent) == input.tx && !model_.is_stored(input.tx)) {
          const bool is_mined = all_mined || templates_.at(parent).coinbase || rng_.one_in(2);
          create_one(parent, !is_mined        ? std::nullopt
                             : rng_.one_in(4) ? std::optional(recent_block())
                                              : std::optional(old_block()));
        }
  }
  void spend_one(const Hash256& id) {
    const std::vector<SpendRequest> requests = {{id, {}}};
    check("spend", [&](auto& at) { return at.spend(requests); });
  }
  void mine(const std::vector<Hash256>& ids) {
    const BlockRef block = ref_at(model_.tip());
    check("set_mined", [&](auto& at) { return at.set_mined(ids, block, true); });
  }
  void unmine(const Hash256& id) {
    const StoredTx* tx = model_.find(id);
    if (tx == nullptr || !tx->mined_in()) return;
    const BlockRef block = *tx->mined_in();
    if (static_cast<std::int64_t>(block.height) <= model_.final_height()) return;
    const std::vector<Hash256> ids = {id};
    check("unset_mined", [&](auto& at) { return at.unset_mined(ids, block); });
  }
  void prune() {
    check("prune", [](auto& at) { return at.prune(); });
  }

  // From creation to deletion.
  void live_and_die() {
    const std::uint64_t number = rng_.between(kParents + 1, 7);
    const std::vector<Hash256> ids = {make_id(number)};
    create_parents(number);
    create_one(number, std::nullopt);
    spend_one(ids[0]);
    mine(ids);
    const std::uint64_t blocks = rng_.below(2 * options_.delay() + 2);
    for (std::uint64_t i = 0; i < blocks; ++i) {
      advance(model_.tip() + 1);
      if (rng_.one_in(3)) prune();
    }
    if (rng_.one_in(2)) check("remove", [&](auto& at) { return at.remove(ids); });
    prune();
  }
  // A deleted one comes back with a block that is undone.
  void resurrect() {
    std::vector<std::uint64_t> pruned;
    for (std::uint64_t number = 1; number <= 7; ++number)
      if (!model_.is_stored(make_id(number)) && model_.is_pruned(make_id(number)))
        pruned.push_back(number);
    if (pruned.empty()) return live_and_die();
    const std::uint64_t number = pruned[rng_.below(pruned.size())];
    const std::vector<Hash256> ids = {make_id(number)};
    create_one(number, std::nullopt);
    create_one(number, ref_at(model_.tip()));
    spend_one(ids[0]);
    if (rng_.one_in(4)) return;
    unmine(ids[0]);
    check("unspend", [&](auto& at) { return at.unspend(ids); });
    check("mark_conflicting", [&](auto& at) { return at.mark_conflicting(ids); });
    check("unmark_conflicting", [&](auto& at) { return at.unmark_conflicting(ids); });
  }
  // One becomes conflicting, and something happens to a parent before it comes back.
  void lose_and_return() {
    const std::uint64_t number = rng_.between(kParents + 1, 7);
    const std::vector<Hash256> ids = {make_id(number)};
    const std::vector<chain::Outpoint>& inputs = templates_.at(number).inputs;
    create_parents(number);
    if (rng_.one_in(2)) {
      create_one(number, ref_at(model_.tip()));
      unmine(ids[0]);
    } else {
      create_one(number, std::nullopt);
    }
    spend_one(ids[0]);
    if (rng_.one_in(3)) check("unspend", [&](auto& at) { return at.unspend(ids); });
    check("mark_conflicting", [&](auto& at) { return at.mark_conflicting(ids); });
    std::vector<chain::Outpoint> input = {inputs[rng_.below(inputs.size())]};
    const std::uint64_t what = rng_.below(7);
    if (what <= 2)  // mostly one that no block has
      for (const chain::Outpoint& each : inputs)
        if (is_state(each.tx, State::kUnmined)) input = {each};
    const std::vector<Hash256> parent = {input[0].tx};
    switch (what) {
      case 0:
      case 1:
        check("lock", [&](auto& at) { return at.lock(parent); });
        if (rng_.one_in(2)) check("lock", [&](auto& at) { return at.lock(parent); });
        break;
      case 3: check("freeze", [&](auto& at) { return at.freeze(input); }); break;
      case 2:
        check("mark_conflicting", [&](auto& at) { return at.mark_conflicting(parent); });
        break;
      case 4: {
        const std::uint64_t other = rng_.between(kParents + 1, 7);
        create_parents(other);
        create_one(other, std::nullopt);
        spend_one(make_id(other));
        break;
      }
      case 5: unmine(parent[0]); break;
      default: break;
    }
    check("unmark_conflicting", [&](auto& at) { return at.unmark_conflicting(ids); });
    if (rng_.one_in(2)) check("unlock", [&](auto& at) { return at.unlock(parent); });
    if (rng_.one_in(2)) check("unfreeze", [&](auto& at) { return at.unfreeze(input); });
  }
  // A parent that is due, and a child that is not what it should be.
  void damage_child() {
    const std::uint64_t number = rng_.between(kParents + 1, 7);
    const Hash256 id = make_id(number);
    create_parents(number, true);
    create_one(number, std::nullopt);
    spend_one(id);
    const Hash256 parent = templates_.at(number).inputs[0].tx;
    if (!model_.is_stored(id) || !model_.is_stored(parent)) return;
    what_ = "damage of a child";
    const std::uint64_t kind = rng_.below(4);
    if (kind == 0) {
      model_.force_erase(id);
      for (const auto& store : stores_) store->force_erase(id);
    } else if (kind == 1 && !is_state(id, State::kConflicting)) {
      const std::uint64_t height = model_.tip() + options_.delay();
      model_.force_conflicting(id, height);
      for (const auto& store : stores_) store->force_conflicting(id, height);
    } else if (kind == 2) {
      mine({id});
    }
    const std::uint64_t height = model_.tip();
    model_.force_stamp(parent, height);
    for (const auto& store : stores_) store->force_stamp(parent, height);
    compare();
    prune();
  }

  void create() {
    std::vector<NewTx> txs;
    const std::uint64_t count = rng_.one_in(4) ? 2 : 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      // Parents first, mostly, and what is not there.
      std::uint64_t number = rng_.between(1, 7);
      for (std::uint64_t each = 1; each <= 7 && !rng_.one_in(4); ++each)
        if (!model_.is_stored(make_id(each))) {
          number = each;
          break;
        }
      NewTx tx = templates_.at(number);
      tx.locked = rng_.one_in(6);
      if (tx.coinbase || rng_.one_in(number <= kParents ? 2 : 4)) {
        tx.mined_in = recent_block();
        // One that is old enough to be mature and final, at times.
        if (rng_.one_in(2))
          tx.mined_in = ref_at(model_.tip() - std::min<std::uint64_t>(model_.tip(), 105));
      }
      txs.push_back(std::move(tx));
    }
    check("create", [&](auto& at) { return at.create(txs); });
  }

  void spend() {
    std::vector<SpendRequest> requests;
    const std::uint64_t count = rng_.one_in(4) ? 2 : 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      SpendRequest request;
      request.spender = rng_.one_in(5) ? any_id() : make_id(rng_.between(kParents + 1, 7));
      if (rng_.one_in(3)) {
        const StoredTx* tx = model_.find(request.spender);
        const auto found = std::find_if(
            templates_.begin(), templates_.end(),
            [&](const auto& each) { return tx != nullptr && each.second.id == request.spender; });
        if (found != templates_.end())
          for (const chain::Outpoint& input : found->second.inputs) {
            const StoredOutput* output = model_.find_output(input);
            request.output_hashes.push_back(rng_.one_in(6)      ? std::optional(make_id(7'777))
                                            : output == nullptr ? std::nullopt
                                                                : std::optional(output->hash));
          }
      }
      requests.push_back(std::move(request));
    }
    check("spend", [&](auto& at) { return at.spend(requests); });
  }

  void unset_mined() {
    // A block that has one, and can still be undone; sometimes any.
    const auto ids = ids_that([&](const Hash256& id) {
      const StoredTx* tx = model_.find(id);
      return tx != nullptr && tx->mined_in() &&
             static_cast<std::int64_t>(tx->mined_in()->height) > model_.final_height();
    });
    const StoredTx* tx = model_.find(ids[0]);
    BlockRef block = recent_block();
    if (tx != nullptr && tx->mined_in() &&
        static_cast<std::int64_t>(tx->mined_in()->height) > model_.final_height())
      block = *tx->mined_in();
    check("unset_mined", [&](auto& at) { return at.unset_mined(ids, block); });
  }

  void reassign() {
    std::vector<Reassignment> items;
    for (const chain::Outpoint& outpoint : frozen_outputs()) {
      const StoredOutput* output = model_.find_output(outpoint);
      Reassignment item = {outpoint, output != nullptr ? output->hash : Hash256{},
                           make_id(8'000 + rng_.below(5))};
      if (rng_.one_in(3)) item.old_hash = make_id(7'777);
      items.push_back(item);
    }
    check("reassign", [&](auto& at) { return at.reassign(items); });
  }

  // What no operation leaves behind: the rule must keep all the same.
  void damage() {
    const Hash256 id = ids_that([&](const Hash256& each) {
      const StoredTx* tx = model_.find(each);
      return tx != nullptr && tx->locked;
    })[0];
    if (!model_.is_stored(id)) return;
    const std::uint64_t kind = rng_.below(6);
    what_ = fmt::format("damage {}", kind);
    if (kind == 0) {
      model_.force_erase(id);
      for (const auto& store : stores_) store->force_erase(id);
    } else if (kind == 1 && !is_state(id, State::kConflicting)) {
      const std::uint64_t height = model_.tip() + options_.delay();
      model_.force_conflicting(id, height);
      for (const auto& store : stores_) store->force_conflicting(id, height);
    } else {
      const std::uint64_t height = model_.tip() - std::min<std::uint64_t>(model_.tip(), 1);
      model_.force_stamp(id, height);
      for (const auto& store : stores_) store->force_stamp(id, height);
    }
  }

  void compare() {
    const std::string expected = model_.describe_all();
    const std::string counts = text_of(model_.counts());
    const std::string indexes = model_.describe_indexes();
    for (const auto& store : stores_) {
      ASSERT_EQ(store->describe_all(), expected) << to_string(store->engine());
      ASSERT_EQ(text_of(must((*store)->stats()).counts), counts) << to_string(store->engine());
      ASSERT_EQ(store->describe_indexes(), indexes) << to_string(store->engine());
      ASSERT_EQ((*store)->tip().final_height, model_.final_height());
    }
    const bool everywhere = rng_.one_in(10);
    for (std::uint64_t number = 1; number <= kParents + kSpenders; ++number) {
      const Hash256 id = make_id(number);
      if (!model_.is_stored(id)) {
        if (!everywhere || is_damaged_) continue;  // an erased one leaves no trace
        for (const auto& store : stores_)
          ASSERT_EQ(must((*store)->absence(id)) == Absence::kPruned, model_.is_pruned(id))
              << number << " on " << to_string(store->engine());
        continue;
      }
      const TxStoreModel::Judgement judgement = model_.judge(id);
      ++met_.kept[static_cast<std::size_t>(judgement.reason)];
      for (const auto& store : stores_) {
        if (store->engine() != Engine::kRocksDb && !everywhere) continue;
        const Explanation explained = must((*store)->explain(id));
        ASSERT_EQ(explained.verdict.reason, judgement.reason) << number;
        ASSERT_EQ(explained.verdict.output, judgement.output) << number;
        ASSERT_EQ(explained.verdict.until, judgement.until) << number;
      }
    }
  }

  Rng rng_;
  const Options options_;
  const bool began_at_origin_, is_damaged_;
  TxStoreModel model_;
  Coverage& met_;
  std::vector<std::unique_ptr<TestStore>> stores_;
  std::map<std::uint64_t, NewTx> templates_;
  std::string what_;
};

// What each operation can answer.
const std::map<std::string, std::vector<Outcome>> kOutcomesOf = {
    {"create",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kDeletedChild, Outcome::kUnknownParent,
      Outcome::kOutputNotFound}},
    {"spend itself", {Outcome::kNotFound, Outcome::kConflicting}},
    {"spend",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kConflicting,
      Outcome::kLocked, Outcome::kImmatureCoinbase, Outcome::kOutputNotFound,
      Outcome::kHashMismatch, Outcome::kFrozen, Outcome::kDeletedChild, Outcome::kSpent}},
    {"unspend itself", {Outcome::kNotFound, Outcome::kMined}},
    {"unspend",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kOutputNotFound,
      Outcome::kDeletedChild}},
    {"set_mined", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kConflicting}},
    {"unset_mined", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound}},
    {"mark_conflicting",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kMined}},
    {"unmark_conflicting",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kConflicting,
      Outcome::kLocked, Outcome::kImmatureCoinbase, Outcome::kOutputNotFound, Outcome::kFrozen,
      Outcome::kDeletedChild, Outcome::kSpent}},
    {"remove", {Outcome::kDone, Outcome::kNotFound, Outcome::kKept}},
    {"lock", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kMined}},
    {"unlock", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound}},
    {"freeze",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kOutputNotFound,
      Outcome::kSpent}},
    {"unfreeze",
     {Outcome::kDone, Outcome::kNotFound, Outcome::kOutputNotFound, Outcome::kNotFrozen}},
    {"reassign",
     {Outcome::kDone, Outcome::kNotFound, Outcome::kOutputNotFound, Outcome::kHashMismatch,
      Outcome::kNotFrozen}},
    {"preserve", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound}},
};

struct Seeds {
  std::uint64_t first = 1, count = 500;
};
Seeds seeds_of_run() {
  Seeds seeds;
  if (coffer::test::long_run()) seeds.count = 20'000;
  if (const char* seed = std::getenv("COFFER_SEED")) {
    seeds.first = std::strtoull(seed, nullptr, 10);
    const char* count = std::getenv("COFFER_SEEDS");
    seeds.count = count != nullptr ? std::strtoull(count, nullptr, 10) : 1;
  }
  return seeds;
}

void expect_everything_met(const Coverage& met) {
  if (testing::Test::HasFailure() || seeds_of_run().count < 500) return;
  constexpr std::uint64_t kLeast = 50;
  for (const auto& [name, outcomes] : kOutcomesOf)
    for (const Outcome outcome : outcomes) {
      const auto found = met.outcomes.find(name);
      const std::uint64_t times = found == met.outcomes.end() || !found->second.contains(outcome)
                                      ? 0
                                      : found->second.at(outcome);
      EXPECT_GE(times, kLeast) << name << " " << outcome;
    }
  // And nothing else.
  for (const auto& [name, outcomes] : met.outcomes)
    for (const auto& [outcome, times] : outcomes) {
      const auto& known = kOutcomesOf.find(name);
      const bool is_known =
          known != kOutcomesOf.end() &&
          std::find(known->second.begin(), known->second.end(), outcome) != known->second.end();
      EXPECT_TRUE(is_known || name.ends_with(" itself")) << name << " " << outcome;
    }
  for (std::size_t i = 0; i < retention::kReasons; ++i)
    EXPECT_GE(met.kept[i], kLeast) << static_cast<retention::Reason>(i);
  EXPECT_GE(met.arms.mined, kLeast);
  EXPECT_GE(met.arms.conflicting, kLeast);
  EXPECT_GE(met.arms.expired, kLeast);
  EXPECT_GE(met.arms.preservation_ended, kLeast);
}

void run_all(const std::vector<Engine>& engines, std::uint64_t every, Coverage& met) {
  // Nothing is killed here: in memory, where there is such a place, the disk does not set the pace.
  std::error_code none;
  if (std::filesystem::is_directory("/dev/shm", none)) ::setenv("TMPDIR", "/dev/shm", 0);
  const Seeds seeds = seeds_of_run();
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    if (seeds.count > 1 && seed % every != 0) continue;
    Sequence sequence(seed, engines, met);
    sequence.run(60);
    ASSERT_FALSE(testing::Test::HasFailure()) << "COFFER_SEED=" << seed;
  }
}

// The model by itself: the generator meets everything. Costs a second.
TEST(TxStoreModel, GeneratorMeetsEverything) {
  Coverage met;
  run_all({}, 1, met);
  expect_everything_met(met);
}

TEST(TxStoreModel, RandomOperationsMatchModelOnRocksDb) {
  Coverage met;
  run_all({Engine::kRocksDb}, 1, met);
  expect_everything_met(met);
}

TEST(TxStoreModel, RandomOperationsMatchModelOnSqlite) {
  Coverage met;
  run_all({Engine::kSqlite}, 1, met);
  expect_everything_met(met);
}

// A quarter of the sequences: each operation takes its round trips.
TEST(TxStoreModel, RandomOperationsMatchModelOnPostgres) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  Coverage met;
  run_all({Engine::kPostgres}, 4, met);
}

}  // namespace
}  // namespace coffer::txstore::test
