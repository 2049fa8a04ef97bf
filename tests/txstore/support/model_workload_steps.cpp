// The steps of a sequence: single operations, and short stories of several.
#include <algorithm>

#include "txstore/support/model_workload.h"

namespace coffer::txstore::test {

void Sequence::create() {
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

void Sequence::spend() {
  std::vector<SpendRequest> requests;
  const std::uint64_t count = rng_.one_in(4) ? 2 : 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    SpendRequest request;
    request.spender = rng_.one_in(5) ? any_id() : make_id(rng_.between(kParents + 1, 7));
    if (rng_.one_in(3)) {
      const StoredTx* tx = model_.find(request.spender);
      const auto found = std::find_if(templates_.begin(), templates_.end(), [&](const auto& each) {
        return tx != nullptr && each.second.id == request.spender;
      });
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

void Sequence::unset_mined() {
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

void Sequence::reassign() {
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

void Sequence::damage() {
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

// ---- short stories ----

void Sequence::create_one(std::uint64_t number, std::optional<BlockRef> mined_in) {
  std::vector<NewTx> txs = {templates_.at(number)};
  txs[0].mined_in = mined_in;
  check("create", [&](auto& at) { return at.create(txs); });
}
BlockRef Sequence::old_block() {
  return ref_at(model_.tip() - std::min<std::uint64_t>(model_.tip(), 105));
}
void Sequence::create_parents(std::uint64_t number, bool all_mined) {
  for (const chain::Outpoint& input : templates_.at(number).inputs)
    for (std::uint64_t parent = 1; parent < number; ++parent)
      if (make_id(parent) == input.tx && !model_.is_stored(input.tx)) {
        const bool is_mined = all_mined || templates_.at(parent).coinbase || rng_.one_in(2);
        create_one(parent, !is_mined        ? std::nullopt
                           : rng_.one_in(4) ? std::optional(recent_block())
                                            : std::optional(old_block()));
      }
}
void Sequence::spend_one(const Hash256& id) {
  const std::vector<SpendRequest> requests = {{id, {}}};
  check("spend", [&](auto& at) { return at.spend(requests); });
}
void Sequence::mine(const std::vector<Hash256>& ids) {
  const BlockRef block = ref_at(model_.tip());
  check("set_mined", [&](auto& at) { return at.set_mined(ids, block, true); });
}
void Sequence::unmine(const Hash256& id) {
  const StoredTx* tx = model_.find(id);
  if (tx == nullptr || !tx->mined_in()) return;
  const BlockRef block = *tx->mined_in();
  if (static_cast<std::int64_t>(block.height) <= model_.final_height()) return;
  const std::vector<Hash256> ids = {id};
  check("unset_mined", [&](auto& at) { return at.unset_mined(ids, block); });
}
void Sequence::prune() {
  check("prune", [](auto& at) { return at.prune(); });
}

void Sequence::live_and_die() {
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
void Sequence::resurrect() {
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
void Sequence::lose_and_return() {
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
    case 2: check("mark_conflicting", [&](auto& at) { return at.mark_conflicting(parent); }); break;
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
void Sequence::damage_child() {
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

}  // namespace coffer::txstore::test
