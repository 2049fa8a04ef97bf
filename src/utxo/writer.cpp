#include "utxo/writer.h"

#include <coffer/base/log.h>
#include "base/check.h"
#include "base/result.h"

namespace coffer::utxo {

Writer::Writer(kv::Database& db, const chain::Network& network, const Options& options,
               const Columns& columns, const Tip& tip)
    : db_(db),
      network_(network),
      options_(options),
      columns_(columns),
      tip_(tip),
      committed_(tip),
      commit_policy_({.bytes = options.cache_bytes, .window = options.rollback_window}) {
  if (options.store == StoreType::kMmr) accumulator_.emplace(db, columns.mmr, tip.leaves);
}

Result<> Writer::count_in(ByteView record, bool in) {
  const RecordHead head = TRY(decode_head(record));
  if (in) {
    ++tip_.unspent;
    tip_.amount += head.amount.value;
  } else {
    --tip_.unspent;
    tip_.amount -= head.amount.value;
  }
  return {};
}

// Back to the last commit. What is half done must not meet the next call, which may be the same one
// again: its outputs would look as if the block had them twice.
Result<> Writer::discard_uncommitted(Result<> failed) {
  // Doing the call again would pass over the blocks that were held back.
  if (held_.blocks > 0) failed.error().retryable = false;
  changes_ = ChangeSet{};
  returned_spent_.clear();
  held_ = {};
  tip_ = committed_;
  if (accumulator_) accumulator_->reset(tip_.leaves);
  return failed;
}

std::size_t Writer::held_bytes() const {
  return changes_.bytes() + (accumulator_ ? accumulator_->bytes() : 0);
}

Result<> Writer::add_genesis(std::span<const chain::GenesisUtxo> genesis) {
  CHECK(tip_.position.at_origin && tip_.unspent == 0);
  CreationBlock creation;
  creation.family = network_.family;
  if (!network_.cardano.eras.empty())
    creation.time_unix_s = network_.cardano.eras.front().start_unix_s;
  for (const chain::GenesisUtxo& utxo : genesis) {
    chain::Output output;
    output.address = utxo.address;
    output.amount = utxo.amount;
    Bytes record;
    encode_record(record, creation, output, {}, false, false, std::nullopt);
    if (accumulator_) {
      const std::uint64_t leaf = TRY(append_leaf(utxo.outpoint, record));
      record.clear();
      encode_record(record, creation, output, {}, false, false, leaf);
    }
    if (changes_.outputs.find(utxo.outpoint) != nullptr)
      return fail(Code::kInvalidInput, "the genesis files hold an address twice: {}",
                  to_hex(utxo.address));
    CachedOutput& cached = changes_.outputs.insert(utxo.outpoint);
    cached.state = CacheState::kLive;
    changes_.outputs.set_body(cached, Body::copy(record));
    TRY(count_in(record, true));
  }
  held_.blocks = 1;
  return commit();
}

Result<> Writer::flush() {
  if (held_.blocks == 0) return {};
  return commit();
}

Result<> Writer::commit() {
  const CommitPlan plan{db_, columns_, network_.family, options_.index_address,
                        options_.index_credential};
  const std::size_t count = changes_.changes();
  Result<> done;
  if (accumulator_) {
    auto leaves = accumulator_->take_changes();
    if (leaves)
      changes_.mmr = std::move(*leaves);
    else
      done = fail(std::move(leaves).error());
  }
  if (done) done = utxo::commit(plan, changes_, tip_);
  if (!done) {
    done.error().retryable = false;  // nobody knows whether it is there
    return discard_uncommitted(std::move(done));
  }
  changes_ = ChangeSet{};
  returned_spent_.clear();
  const std::uint64_t blocks = std::exchange(held_, {}).blocks;
  committed_ = tip_;
  if (blocks > 1)
    log::debug("utxo commit", {{"blocks", blocks},
                               {"changes", count},
                               {"slot", tip_.position.point.slot},
                               {"block", tip_.number},
                               {"unspent", tip_.unspent}});
  Result<> pruned = prune();
  if (pruned) return pruned;
  pruned.error().retryable = false;  // the block is in: to deliver it again would apply it twice
  return discard_uncommitted(std::move(pruned));
}

}  // namespace coffer::utxo
