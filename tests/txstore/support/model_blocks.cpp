// Blocks, conflicts and cleanup in the model.
#include <algorithm>
#include <set>

#include "base/check.h"
#include "txstore/support/model.h"

namespace coffer::txstore::test {

using retention::Reason;

std::vector<ItemResult> TxStoreModel::set_mined(std::span<const Hash256> ids, const BlockRef& block,
                                                bool longest_chain) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
      continue;
    }
    if (life->tx.state == State::kConflicting) {
      results.push_back({Outcome::kConflicting});
      continue;
    }
    const auto found = std::find_if(life->blocks.begin(), life->blocks.end(),
                                    [&](const MinedIn& in) { return in.block == block; });
    if (found != life->blocks.end() && found->on_longest_chain == longest_chain) {
      results.push_back({Outcome::kUnchanged});
      continue;
    }
    if (found != life->blocks.end())
      found->on_longest_chain = longest_chain;
    else
      life->blocks.push_back({block, longest_chain});
    if (longest_chain) life->tx.locked = txs_[id].locked = false;
    if (!is_on_chain(*life) && !life->tx.unmined_since)
      life->tx.unmined_since = life->tx.absent_since = tip_;
    restamp(*life, block.height);
    results.push_back({});
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::unset_mined(std::span<const Hash256> ids,
                                                  const BlockRef& block) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
      continue;
    }
    const auto found = std::find(life->blocks.begin(), life->blocks.end(), MinedIn{block, true});
    if (found == life->blocks.end()) {
      results.push_back({Outcome::kUnchanged});
      continue;
    }
    found->on_longest_chain = false;
    if (!is_on_chain(*life)) {
      life->tx.unmined_since = life->tx.absent_since = tip_;
      if (life->tx.coinbase) make_conflicting(id);
    }
    restamp(*life);
    results.push_back({});
  }
  return results;
}

// Itself and every stored transaction that spends one of its outputs, and so on.
void TxStoreModel::make_conflicting(const Hash256& id) {
  Life& life = *stored(id);
  if (life.tx.state == State::kConflicting) return;
  life.tx.state = State::kConflicting;
  for (MinedIn& in : life.blocks) in.on_longest_chain = false;  // the chain overruled it
  (void)release_inputs(life);
  life.tx.delete_at_height.reset();
  restamp(life);
  std::set<Hash256> spenders;
  for (const StoredOutput& output : life.outputs)
    if (output.spent && is_stored(output.spender)) spenders.insert(output.spender);
  for (const Hash256& spender : spenders) make_conflicting(spender);
}

std::vector<ItemResult> TxStoreModel::mark_conflicting(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    const Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
    } else if (life->tx.state == State::kConflicting) {
      results.push_back({Outcome::kUnchanged});
    } else if (is_on_chain(*life)) {
      results.push_back({Outcome::kMined});
    } else {
      make_conflicting(id);
      results.push_back({});
    }
  }
  return results;
}

std::vector<ItemResult> TxStoreModel::unmark_conflicting(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    Life* life = stored(id);
    if (life == nullptr) {
      results.push_back({Outcome::kNotFound});
      continue;
    }
    if (life->tx.state != State::kConflicting) {
      results.push_back({Outcome::kUnchanged});
      continue;
    }
    const SpendResult taken = take_inputs(*life, {});
    ItemResult result;
    for (const ItemResult& item : taken.inputs)
      if (!item.ok()) {
        result = item;
        break;
      }
    results.push_back(result);
    if (!result.ok()) continue;
    life->tx.state = State::kUnmined;
    life->tx.unmined_since = life->tx.absent_since = tip_;
    life->tx.delete_at_height.reset();
    restamp(*life);
  }
  return results;
}

void TxStoreModel::erase(const Hash256& id) {
  Life& life = *stored(id);
  if (life.tx.state == State::kConflicting) {
    ++arms_.conflicting;
  } else {
    ++arms_.mined;
    // X6: the parents that are still there remember it.
    for (std::uint32_t i = 0; i < life.body.inputs.size(); ++i) {
      StoredOutput* entry = output(life.body.inputs[i].outpoint);
      if (entry != nullptr && entry->spent && entry->spender == id && entry->spender_input == i)
        entry->final = true;
    }
  }
  Tx& all = txs_[id];
  all.stored = all.locked = false;
  all.preserve_until.reset();
  all.frozen.clear();
  all.reassigned.clear();
  ++deleted_;
}

std::vector<ItemResult> TxStoreModel::remove(std::span<const Hash256> ids) {
  std::vector<ItemResult> results;
  for (const Hash256& id : ids) {
    if (!is_stored(id)) {
      results.push_back({Outcome::kNotFound});
    } else if (judge(id).reason != Reason::kDeletable) {
      results.push_back({Outcome::kKept});
    } else {
      erase(id);
      results.push_back({});
    }
  }
  return results;
}

void TxStoreModel::advance(std::uint64_t height) {
  CHECK(at_origin_ || height > tip_);
  at_origin_ = false;
  tip_ = height;
  final_height_ = std::max(final_height_, static_cast<std::int64_t>(height) -
                                              static_cast<std::int64_t>(options_.window));
}

// ---- cleanup ----

// Whether its time has come for something else than deletion.
bool TxStoreModel::expire(const Hash256& id) {
  Life& life = *stored(id);
  if (life.tx.preserve_until) {
    if (*life.tx.preserve_until > tip_) return false;
    ++arms_.preservation_ended;
    life.tx.preserve_until.reset();
    txs_[id].preserve_until.reset();
    restamp(life);
    return true;
  }
  if (life.tx.state == State::kUnmined && life.tx.absent_since &&
      tip_ >= *life.tx.absent_since + options_.unmined_retention) {
    ++arms_.expired;
    make_conflicting(id);
    return true;
  }
  return false;
}

// The rule kept it.
void TxStoreModel::put_off(const Hash256& id, const Judgement& judgement) {
  Life& life = *stored(id);
  life.tx.kept = judgement.reason;
  // X7.
  life.tx.due_at =
      judgement.until ? std::max(*judgement.until, tip_ + 1) : tip_ + options_.window + 1;
  // X6: a child that was read as final is not read again.
  if (life.tx.state == State::kConflicting) return;
  for (StoredOutput& output : life.outputs)
    if (output.spent && is_final_child(output.spender)) output.final = true;
}

CleanupReport TxStoreModel::prune() {
  CleanupReport report;
  const auto is_due = [&](const Hash256& id) {
    const Life* life = stored(id);
    return life != nullptr && life->tx.due_at && *life->tx.due_at <= tip_;
  };
  // What a pass leaves due at this tip is looked at by another.
  for (;;) {
    std::vector<Hash256> due, going;
    for (const auto& [id, tx] : txs_)
      if (is_due(id)) due.push_back(id);
    if (due.empty()) return report;
    std::sort(due.begin(), due.end(), [&](const Hash256& a, const Hash256& b) {
      return std::pair(find(a)->due_at, a) < std::pair(find(b)->due_at, b);
    });
    report.looked_at += due.size();
    std::set<Hash256> expired;
    for (const Hash256& id : due)
      if (is_due(id) && expire(id)) expired.insert(id);
    report.expired += expired.size();
    for (const Hash256& id : due) {
      if (!is_due(id) || expired.contains(id)) continue;
      const Judgement judgement = judge(id);
      if (judgement.reason == Reason::kDeletable) {
        going.push_back(id);
        continue;
      }
      ++report.kept;
      ++report.kept_by[static_cast<std::size_t>(judgement.reason)];
      put_off(id, judgement);
    }
    for (const Hash256& id : going) {
      ++report.deleted;
      report.deleted_conflicting += find(id)->state == State::kConflicting;
      erase(id);
    }
  }
}

}  // namespace coffer::txstore::test
