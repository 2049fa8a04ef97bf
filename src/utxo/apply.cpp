// Applying a block: create, take, fetch, settle.
#include <coffer/base/log.h>
#include "base/check.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "chain/script.h"
#include "utxo/keys.h"
#include "utxo/writer.h"

namespace coffer::utxo {
namespace {

constexpr std::uint8_t kAllegra = 3;

// Counts only, so that a chain without its genesis outputs does not fill the log.
constexpr std::uint64_t kMissingLogged = 20;

}  // namespace

void Writer::Work::clear() {
  created.clear();
  created_tx.clear();
  spends.clear();
  fetching.clear();
  overwritten.clear();
  delta.created.clear();
  delta.spent.clear();
  delta.transient.clear();
  delta.tx_flags.clear();
  delta.replaced.clear();
  delta.era_before.reset();
  delta.number_before.reset();
  delta.mmr.reset();
}

Result<> Writer::apply(const bus::BlockApplied& event) {
  Result<> done = apply_block(event);
  return done ? done : discard_uncommitted(std::move(done));
}

Result<> Writer::apply_block(const bus::BlockApplied& event) {
  const chain::Block& block = *event.block;
  const Stopwatch watch;
  if (commit_policy_.must_commit_before(held_, event)) TRY(commit());
  const bool keep_delta = !commit_policy_.is_below_window(event);
  const bool keep_spent =
      options_.self_contained_delta ? event.behind < options_.prune_depth : keep_delta;
  if (!keep_spent) TRY(forget_before(!keep_delta));
  work_.clear();
  work_.block = &block;
  work_.first_leaf = tip_.leaves;
  work_.keep_delta = keep_delta;
  work_.keep_spent = keep_spent;
  work_.change_block = work_.keep_spent ? changes_.add_block(block) : 0;
  TRY(create_outputs());
  take_inputs();
  TRY(fetch_inputs());
  if (!tip_.position.at_origin && tip_.number == block.number)
    work_.delta.number_before = tip_.number;
  if (block.family == chain::Family::kCardano && block.era > tip_.era && !block.epoch_boundary) {
    work_.delta.era_before = tip_.era;
    if (tip_.era < kAllegra && block.era >= kAllegra) TRY(remove_redeem_outputs());
    tip_.era = block.era;
  }
  TRY(finalize_created());
  TRY(finalize_spent());
  TRY(finalize_leaves());
  if (work_.keep_delta)
    finalize_delta(event.ordinal);
  else
    tip_.undo_floor = tip_.delta_floor = event.ordinal.value + 1;
  if (!keep_spent) tip_.prune_block = event.ordinal.value + 1;
  forget_spent_outputs();
  tip_.position = event.position();
  tip_.number = block.number;
  held_ = {held_.blocks + 1, held_bytes(), !keep_delta};
  spent_since_prune_ += work_.spends.size();
  counters_.blocks += 1;
  if (commit_policy_.must_commit_after(held_, event)) TRY(commit());
  counters_.apply_us += watch.micros();
  return {};
}

Result<> Writer::create_outputs() {
  const chain::Block& block = *work_.block;
  const bool bitcoin = block.family == chain::Family::kBitcoin;
  for (std::uint32_t row = 0; row < block.txs.size(); ++row) {
    const chain::Tx& tx = block.txs[row];
    Result<> done;
    block.for_each_created(tx, [&](std::uint32_t index, const chain::Output& output, bool) {
      if (!done) return;
      // Nobody can spend these: counted, not stored (U4).
      if (bitcoin && (chain::is_unspendable(output.address) || block.number.value == 0)) {
        ++counters_.unspendable;
        return;
      }
      done = create(row, index, static_cast<std::uint32_t>(&output - block.outputs.data()));
    });
    TRY(std::move(done));
    if (!tx.valid)
      work_.delta.tx_flags.push_back({tx.id, true, tx.collateral_return != chain::kNone});
  }
  return {};
}

Result<> Writer::create(std::uint32_t tx, std::uint32_t index, std::uint32_t row) {
  const chain::Block& block = *work_.block;
  if (block.family == chain::Family::kCardano && index > kMaxCardanoIndex)
    return fail(Code::kInvalidInput, "transaction {} has more outputs than an index can count",
                chain::display(block.family, block.txs[tx].id));
  const chain::Outpoint outpoint{block.txs[tx].id, index};
  CachedOutput* cached = changes_.outputs.find(outpoint);
  // Ids repeat only where two coinbases are equal, before blocks had to state their height.
  if (cached != nullptr || (block.txs[tx].coinbase && block.family == chain::Family::kBitcoin)) {
    if (!TRY(overwrite(outpoint, cached))) return {};
    cached = changes_.outputs.find(outpoint);
  }
  if (cached == nullptr) cached = &changes_.outputs.insert(outpoint);
  cached->state = CacheState::kFresh;
  cached->row = row;
  work_.created.push_back(cached);
  work_.created_tx.push_back(tx);
  return {};
}

// Makes room for an output whose id was there before (U4). False: the block itself has it twice,
// and the first stands.
Result<bool> Writer::overwrite(const chain::Outpoint& outpoint, CachedOutput* cached) {
  Overwritten old{outpoint, {}, {}};
  if (cached != nullptr && cached->state == CacheState::kFresh) return false;
  const OutpointKey key = outpoint_key(network_.family, outpoint);
  if (cached != nullptr && cached->state == CacheState::kLive) {
    const Body body = changes_.outputs.take_body(*cached);
    old.record.assign(body.view().begin(), body.view().end());
  } else if (cached == nullptr) {
    if (auto stored = TRY(db_.get(columns_.unspent, key.view()))) {
      old.record = std::move(*stored);
      CachedOutput& made = changes_.outputs.insert(outpoint);
      made.on_disk = true;
      changes_.overwritten.emplace_back(outpoint, Body::copy(old.record));
    }
  } else if (cached->body.size > 0) {  // spent since the last commit: its record was on disk
    // It has none if it took the place of that one and went within its block: see above.
    changes_.overwritten.emplace_back(outpoint, changes_.outputs.take_body(*cached));
  }
  if (!old.record.empty()) TRY(count_in(old.record, false));
  // What is unspent again is no longer remembered as spent.
  const bool maybe_held = cached != nullptr || !changes_.coinbases.insert(outpoint).second;
  const auto held =
      !maybe_held ? changes_.spent.rend()
                  : std::find_if(changes_.spent.rbegin(), changes_.spent.rend(),
                                 [&](const SpentOutput& s) { return s.outpoint == outpoint; });
  if (held != changes_.spent.rend()) {
    encode_spent(old.spent, held->by, changes_.blocks[held->block].second, held->before.view());
    changes_.spent.erase(std::next(held).base());
  } else if (old.record.empty()) {
    if (auto stored = TRY(db_.get(columns_.spent, key.view()))) old.spent = std::move(*stored);
  }
  if (!old.spent.empty()) {
    changes_.spent_other.push_back({outpoint, std::nullopt});
    if (work_.keep_delta) tip_.recreated_outpoints.push_back(outpoint);
  }
  if (!old.record.empty() || !old.spent.empty()) work_.overwritten.push_back(std::move(old));
  return true;
}

void Writer::take_inputs() {
  const chain::Block& block = *work_.block;
  const bool cardano = block.family == chain::Family::kCardano;
  for (std::uint32_t row = 0; row < block.txs.size(); ++row) {
    for (const chain::Input& input : block.spent_by(block.txs[row])) {
      const chain::Outpoint outpoint = input.outpoint();
      CachedOutput* cached = changes_.outputs.find(outpoint);
      if (cached == nullptr && !(cardano && outpoint.index > kMaxCardanoIndex)) {
        cached = &changes_.outputs.insert(outpoint);
        cached->state = CacheState::kFetching;
        work_.fetching.push_back(cached);
        work_.spends.push_back({cached, row});
      } else if (cached != nullptr && cached->state == CacheState::kFresh) {
        cached->state = CacheState::kTransient;
        work_.spends.push_back({cached, row});
      } else if (cached != nullptr && cached->state == CacheState::kLive) {
        cached->state = CacheState::kSpending;
        work_.spends.push_back({cached, row});
      } else {
        missing_input(outpoint, row);
      }
    }
  }
}

void Writer::missing_input(const chain::Outpoint& outpoint, std::uint32_t tx) {
  if (++counters_.missing > kMissingLogged) return;
  const chain::Block& block = *work_.block;
  log::warn("an input is not in the UTXO set; passed over",
            {{"input", chain::display(block.family, outpoint)},
             {"transaction", chain::display(block.family, block.txs[tx].id)},
             {"block", block.number}});
}

Result<> Writer::fetch_inputs() {
  if (work_.fetching.empty()) return {};
  std::vector<CachedOutput*>& outputs = work_.fetching;
  std::sort(outputs.begin(), outputs.end(),
            [](const CachedOutput* a, const CachedOutput* b) { return a->outpoint < b->outpoint; });
  std::vector<OutpointKey> keys;
  keys.reserve(outputs.size());
  std::vector<ByteView> views;
  views.reserve(outputs.size());
  for (const CachedOutput* cached : outputs) {
    keys.push_back(outpoint_key(network_.family, cached->outpoint));
    views.push_back(keys.back().view());
  }
  kv::PinnedValues values;
  TRY(db_.multi_get(columns_.unspent, views, values));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (const auto value = values[i]) {
      changes_.outputs.set_body(*outputs[i], Body::copy(*value));
      outputs[i]->on_disk = true;
      outputs[i]->state = CacheState::kSpending;
    }
  }
  // What is still being fetched is nowhere.
  std::erase_if(work_.spends, [&](const Spend& spend) {
    if (spend.cached->state != CacheState::kFetching) return false;
    missing_input(spend.cached->outpoint, spend.tx);
    changes_.outputs.erase(*spend.cached);
    return true;
  });
  return {};
}

// The first Allegra block gave the unspent redeem outputs of the genesis back to the reserves (U6).
// Once in the life of a chain, so a scan is fine.
Result<> Writer::remove_redeem_outputs() {
  const auto take = [&](CachedOutput& cached) {
    cached.state = CacheState::kSpending;
    work_.spends.push_back({&cached, chain::kNone});
  };
  for (const CachedOutput* found : changes_.outputs.all()) {
    if (found->state != CacheState::kLive) continue;
    if (chain::is_redeem_address(TRY(decode_head(found->body.view())).address))
      take(*changes_.outputs.find(found->outpoint));
  }
  kv::Iterator it = db_.iterate(columns_.unspent, {.fill_cache = false});
  for (it.seek_to_first(); it.valid(); it.next()) {
    if (!chain::is_redeem_address(TRY(decode_head(it.value())).address)) continue;
    const chain::Outpoint outpoint = read_outpoint(network_.family, it.key().data());
    if (changes_.outputs.find(outpoint) != nullptr) continue;  // changed since; seen above
    CachedOutput& cached = changes_.outputs.insert(outpoint);
    cached.on_disk = true;
    changes_.outputs.set_body(cached, Body::copy(it.value()));
    take(cached);
  }
  return it.status();
}

ByteView Writer::encode_created(const CachedOutput& cached, std::uint32_t tx,
                                std::optional<std::uint64_t> leaf) {
  const chain::Block& block = *work_.block;
  const chain::Output& output = block.outputs[cached.row];
  work_.scratch.clear();
  encode_record(work_.scratch, CreationBlock::of(block), output, block.assets_of(output),
                !block.txs[tx].valid,
                block.txs[tx].coinbase && block.family == chain::Family::kBitcoin, leaf);
  return work_.scratch;
}

// Records of what the block leaves behind, in the order of transactions and outputs.
Result<> Writer::finalize_created() {
  for (std::size_t i = 0; i < work_.created.size(); ++i) {
    CachedOutput& cached = *work_.created[i];
    const std::uint32_t tx = work_.created_tx[i];
    if (cached.state == CacheState::kTransient) {
      work_.delta.transient.push_back(cached.outpoint);
      if (work_.keep_spent)
        changes_.outputs.set_body(cached, Body::copy(encode_created(cached, tx, std::nullopt)));
      continue;
    }
    std::optional<std::uint64_t> leaf;
    if (accumulator_)
      leaf = TRY(append_leaf(cached.outpoint, encode_created(cached, tx, std::nullopt)));
    const ByteView record = encode_created(cached, tx, leaf);
    changes_.outputs.set_body(cached, Body::copy(record));
    cached.state = CacheState::kLive;
    ++tip_.unspent;
    tip_.amount += work_.block->outputs[cached.row].amount.value;
    if (work_.keep_delta) work_.delta.created.push_back({cached.outpoint, {}, {}});
  }
  counters_.created += work_.created.size();
  return {};
}

Result<> Writer::finalize_spent() {
  for (const Spend& spend : work_.spends) {
    CachedOutput& cached = *spend.cached;
    const Hash256 by = spend.tx == chain::kNone ? Hash256{} : work_.block->txs[spend.tx].id;
    if (cached.state == CacheState::kTransient) {
      if (work_.keep_spent)
        changes_.add_spent(cached.outpoint, Body::copy(cached.body.view()), by, work_.change_block);
      continue;
    }
    CHECK(cached.state == CacheState::kSpending);
    const RecordHead head = TRY(decode_head(cached.body.view()));
    --tip_.unspent;
    tip_.amount -= head.amount.value;
    if (work_.keep_delta) work_.delta.spent.push_back({cached.outpoint, {}, by});
    if (work_.keep_spent)
      changes_.add_spent(cached.outpoint, Body::copy(cached.body.view()), by, work_.change_block);
  }
  counters_.spent += work_.spends.size();
  return {};
}

void Writer::finalize_delta(Ordinal ordinal) {
  const chain::Block& block = *work_.block;
  BlockDelta& delta = work_.delta;
  delta.number = block.number;
  delta.slot = block.slot;
  delta.hash = block.hash;
  if (options_.self_contained_delta) {
    for (DeltaEntry& entry : delta.created)
      entry.record = changes_.outputs.find(entry.outpoint)->body.view();
    for (DeltaEntry& entry : delta.spent)
      entry.record = changes_.outputs.find(entry.outpoint)->body.view();
  }
  for (const Overwritten& old : work_.overwritten)
    delta.replaced.push_back({old.outpoint, old.record, old.spent});
  Bytes encoded;
  encoded.reserve(128 + 48 * (delta.created.size() + delta.spent.size()));
  encode_delta(encoded, delta);
  changes_.add_delta(ordinal, std::move(encoded));
}

// What is not on disk leaves no trace; what is will be deleted there.
void Writer::forget_spent_outputs() {
  for (const Spend& spend : work_.spends) {
    CachedOutput& cached = *spend.cached;
    if (cached.on_disk)
      cached.state = CacheState::kSpent;
    else
      changes_.outputs.erase(cached);
  }
}

}  // namespace coffer::utxo
