#include "txstore/support/model_workload.h"

#include <algorithm>

namespace coffer::txstore::test {

std::string Sequence::text_of(const std::vector<ItemResult>& items) {
  std::string text;
  for (const ItemResult& item : items)
    text += fmt::format("{}({}) ", to_string(item.outcome), item.other.hex().substr(0, 16));
  return text;
}
std::string Sequence::text_of(const std::vector<SpendResult>& items) {
  std::string text;
  for (const SpendResult& item : items)
    text += fmt::format("{}: {}; ", to_string(item.outcome), text_of(item.inputs));
  return text;
}
std::string Sequence::text_of(const CleanupReport& report) {
  return fmt::format("deleted {} conflicting {} expired {}", report.deleted,
                     report.deleted_conflicting, report.expired);
}
std::string Sequence::text_of(const Counts& counts) {
  return fmt::format(
      "records {} bytes {} unmined {} conflicting {} final {} parent_missing {} deleted {} kept {}",
      counts.records, counts.bytes, counts.unmined, counts.conflicting, counts.final_entries,
      counts.parent_missing, counts.deleted, fmt::join(counts.kept, ","));
}

Sequence::Sequence(std::uint64_t seed, const std::vector<Engine>& engines, Coverage& coverage)
    : rng_(seed),
      options_(random_options()),
      began_at_origin_(rng_.one_in(2)),
      is_damaged_(rng_.one_in(3)),
      model_(options_, began_at_origin_),
      coverage_(coverage) {
  for (const Engine engine : engines)
    stores_.push_back(std::make_unique<TestStore>(engine, options_));
  make_templates();
}

void Sequence::run(int steps) {
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
  coverage_.arms.mined += arms.mined;
  coverage_.arms.conflicting += arms.conflicting;
  coverage_.arms.expired += arms.expired;
  coverage_.arms.preservation_ended += arms.preservation_ended;
}

Options Sequence::random_options() {
  Options options;
  options.window = rng_.between(3, 10);
  options.block_height_retention = rng_.between(1, 10);
  options.unmined_retention = rng_.between(2, 15);
  return options;
}

void Sequence::make_templates() {
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
      tx.inputs.push_back(
          {make_id(rng_.between(1, number - 1)), static_cast<std::uint32_t>(rng_.below(kOutputs))});
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

std::uint64_t Sequence::any_number() {
  return rng_.one_in(25) ? kUnknown : rng_.between(1, 7);
}
Hash256 Sequence::any_id() {
  return make_id(any_number());
}
std::vector<Hash256> Sequence::any_ids() {
  std::vector<Hash256> ids = {any_id()};
  if (rng_.one_in(4)) ids.push_back(any_id());
  return ids;
}
bool Sequence::is_state(const Hash256& id, State state) {
  const StoredTx* tx = model_.find(id);
  return tx != nullptr && tx->state == state;
}
chain::Outpoint Sequence::any_output() {
  return {any_id(), static_cast<std::uint32_t>(rng_.below(kOutputs + 1))};
}
std::vector<chain::Outpoint> Sequence::any_outputs() {
  std::vector<chain::Outpoint> outputs = {any_output()};
  if (rng_.one_in(4)) outputs.push_back(any_output());
  return outputs;
}
std::vector<chain::Outpoint> Sequence::frozen_outputs() {
  std::vector<chain::Outpoint> outputs;
  for (std::uint64_t number = 1; number <= kParents + kSpenders; ++number)
    for (std::uint32_t i = 0; i < kOutputs; ++i)
      if (const auto* output = model_.find_output({make_id(number), i}); output && output->frozen)
        outputs.push_back({make_id(number), i});
  if (outputs.empty() || rng_.one_in(3)) return any_outputs();
  return {outputs[rng_.below(outputs.size())]};
}
BlockRef Sequence::recent_block() {
  const auto least =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, model_.final_height() + 1));
  const std::uint64_t height =
      rng_.one_in(2) ? model_.tip() : rng_.between(std::min(least, model_.tip()), model_.tip());
  return ref_at(height, rng_.one_in(4) ? 1 : 0);
}

void Sequence::remember(const std::string& name, const std::vector<ItemResult>& items) {
  for (const ItemResult& item : items) ++coverage_.outcomes[name][item.outcome];
}
void Sequence::remember(const std::string& name, const std::vector<SpendResult>& items) {
  for (const SpendResult& item : items) {
    if (item.inputs.empty()) ++coverage_.outcomes[name + " itself"][item.outcome];
    remember(name, item.inputs);
  }
}
void Sequence::remember(const std::string&, const CleanupReport& report) {
  for (std::size_t i = 0; i < retention::kReasons; ++i) coverage_.kept[i] += report.kept_by[i];
}

void Sequence::advance(std::uint64_t height) {
  model_.advance(height);
  for (const auto& store : stores_) must((*store)->advance(block_at(height)));
}

void Sequence::step() {
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
    const auto ids = ids_that([&](const Hash256& id) { return is_state(id, State::kConflicting); });
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

void Sequence::compare() {
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
    ++coverage_.kept[static_cast<std::size_t>(judgement.reason)];
    for (const auto& store : stores_) {
      if (store->engine() != Engine::kRocksDb && !everywhere) continue;
      const Explanation explained = must((*store)->explain(id));
      ASSERT_EQ(explained.verdict.reason, judgement.reason) << number;
      ASSERT_EQ(explained.verdict.output, judgement.output) << number;
      ASSERT_EQ(explained.verdict.until, judgement.until) << number;
    }
  }
}

}  // namespace coffer::txstore::test
