// Undoing blocks by their deltas, newest first.
#include <coffer/base/log.h>
#include "base/check.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "utxo/keys.h"
#include "utxo/writer.h"

namespace coffer::utxo {

Result<> Writer::rollback(const bus::Position& to) {
  TRY(flush());
  Result<> done = undo_to(to);
  return done ? done : discard_uncommitted(std::move(done));
}

// What was undone has no delta, and nothing of it is pruned.
void Writer::lower_cursors(std::uint64_t height) {
  if (tip_.prune_block >= height) {
    tip_.prune_block = height;
    tip_.prune_entry = 0;
  }
  tip_.delta_floor = std::min(tip_.delta_floor, height);
  tip_.undo_floor = std::min(tip_.undo_floor, height);
}

namespace {

// Where a state of so many blocks stands.
std::string after_blocks(std::uint64_t blocks) {
  return blocks == 0 ? "Origin" : fmt::format("ordinal {}", blocks - 1);
}

}  // namespace

Result<> Writer::undo_to(const bus::Position& to) {
  const Stopwatch watch;
  if (to.block_count() >= tip_.position.block_count()) return {};
  const std::uint64_t from = tip_.position.block_count();
  // What must hold for all of it is checked before any of it is done (U2).
  const bool beyond = to.block_count() < tip_.undo_floor;
  if (beyond && options_.beyond_window == BeyondWindow::kRefuse)
    return fail(Code::kBeyondWindow,
                "cannot undo {} blocks: the UTXO state can go back {}, to {}; 'coffer utxo "
                "rebuild' starts over",
                from - to.block_count(), from - tip_.undo_floor, after_blocks(tip_.undo_floor));
  if (!to.at_origin && to.ordinal.value >= tip_.delta_floor) {
    const Bytes stored = TRY(delta_at(to.ordinal));
    if (TRY(decode_delta(stored)).hash != to.point.hash)
      return fail(Code::kConflict, "block {} was never applied here; nothing is undone",
                  chain::display(network_.family, to.point.hash));
  }
  const std::uint64_t target = std::max(to.block_count(), tip_.undo_floor);
  for (std::uint64_t height = from; height > target; --height) {
    TRY(undo(Ordinal(height - 1)));
    lower_cursors(height - 1);
    // A stop in between leaves a block boundary, as every commit does.
    if (held_bytes() >= options_.cache_bytes && height - 1 > target) TRY(commit());
  }
  if (beyond) {
    TRY(drop_created_after(to));
    TRY(drop_traces(to.block_count(), target));
  }
  tip_.position = to;
  // Beyond the window no delta tells the number; it is right but for boundary blocks in between.
  tip_.number = to.at_origin ? BlockNumber(0) : tip_.number.minus(target - to.block_count());
  lower_cursors(to.block_count());
  TRY(commit());
  counters_.rollbacks += 1;
  counters_.rollback_us += watch.micros();
  if (options_.log_rollbacks)
    log::info("utxo rolled back", {{"blocks", from - to.block_count()},
                                   {"slot", to.point.slot},
                                   {"block", tip_.number},
                                   {"unspent", tip_.unspent}});
  return {};
}

Result<> Writer::undo(Ordinal ordinal) {
  const Bytes stored = TRY(delta_at(ordinal));
  const BlockDelta delta = TRY(decode_delta(stored));
  TRY(undo_created(delta));
  TRY(undo_spent(delta));
  for (const chain::Outpoint& outpoint : delta.transient) {
    changes_.spent_other.push_back({outpoint, std::nullopt});
    returned_spent_.erase(outpoint);
  }
  TRY(undo_replaced(delta));  // after the others: it puts spent records back
  TRY(undo_leaves(delta));
  if (delta.era_before) tip_.era = *delta.era_before;
  changes_.dropped_deltas.push_back(ordinal);
  counters_.reversed += delta.created.size() + delta.spent.size();
  return set_position_before(ordinal, delta);
}

// After undoing `ordinal` the state stands at the block before it, whose own delta tells which.
Result<> Writer::set_position_before(Ordinal ordinal, const BlockDelta& undone) {
  if (ordinal.value == 0) {
    tip_.position = bus::Position::origin();
    tip_.number = BlockNumber(0);
    return {};
  }
  const Ordinal before(ordinal.value - 1);
  const auto stored = TRY(db_.get(columns_.delta, ordinal_key(before)));
  if (!stored) {  // the caller knows the point
    tip_.number = undone.number_before.value_or(undone.number.minus(1));
    return {};
  }
  const BlockDelta delta = TRY(decode_delta(*stored));
  tip_.position = bus::Position::after(before, {delta.slot, delta.hash});
  tip_.number = delta.number;
  return {};
}

namespace {

// The records of these outpoints in a column, in the order given.
Result<> fetch(const kv::Database& db, kv::Column column, chain::Family family,
               const std::vector<chain::Outpoint>& outpoints, kv::PinnedValues& values) {
  std::vector<OutpointKey> keys;
  keys.reserve(outpoints.size());
  std::vector<ByteView> views;
  views.reserve(outpoints.size());
  for (const chain::Outpoint& outpoint : outpoints) {
    keys.push_back(outpoint_key(family, outpoint));
    views.push_back(keys.back().view());
  }
  return db.multi_get(column, views, values);
}

std::unexpected<Error> absent(chain::Family family, const chain::Outpoint& outpoint,
                              std::string_view where) {
  return fail(Code::kCorrupt, "{}#{} should be in {} and is not; run 'coffer utxo rebuild'",
              chain::display(family, outpoint.tx), outpoint.index, where);
}

}  // namespace

Result<> Writer::undo_created(const BlockDelta& delta) {
  std::vector<chain::Outpoint> on_disk;
  for (const DeltaEntry& entry : delta.created) {
    CachedOutput* cached = changes_.outputs.find(entry.outpoint);
    if (cached == nullptr) {
      on_disk.push_back(entry.outpoint);
      continue;
    }
    if (cached->state != CacheState::kLive)  // else a later block spent it, and that is undone
      return fail(Code::kCorrupt,
                  "the delta of block {} creates an output twice; run 'coffer utxo "
                  "rebuild'",
                  delta.number.value);
    TRY(count_in(cached->body.view(), false));
    if (cached->on_disk)
      cached->state = CacheState::kSpent;
    else
      changes_.outputs.erase(*cached);
  }
  kv::PinnedValues values;
  TRY(fetch(db_, columns_.unspent, network_.family, on_disk, values));
  for (std::size_t i = 0; i < on_disk.size(); ++i) {
    const auto value = values[i];
    if (!value) return absent(network_.family, on_disk[i], "utxo_unspent");
    CachedOutput& cached = changes_.outputs.insert(on_disk[i]);
    cached.on_disk = true;
    cached.state = CacheState::kSpent;
    changes_.outputs.set_body(cached, Body::copy(*value));
    TRY(count_in(*value, false));
  }
  return {};
}

Result<> Writer::restore(const chain::Outpoint& outpoint, ByteView record) {
  CachedOutput* cached = changes_.outputs.find(outpoint);
  if (cached == nullptr) {
    cached = &changes_.outputs.insert(outpoint);
  } else if (cached->on_disk) {  // another record of this id stands there
    changes_.overwritten.emplace_back(outpoint, changes_.outputs.take_body(*cached));
  }
  cached->state = CacheState::kLive;
  changes_.outputs.set_body(*cached, Body::copy(record));
  return count_in(record, true);
}

Result<> Writer::undo_spent(const BlockDelta& delta) {
  std::vector<chain::Outpoint> stored_elsewhere;
  for (const DeltaEntry& entry : delta.spent) {
    const auto returned = returned_spent_.find(entry.outpoint);
    if (returned != returned_spent_.end()) {
      const SpentRecord spent = TRY(decode_spent(returned->second));
      TRY(restore(entry.outpoint, spent.before));
      returned_spent_.erase(returned);
    } else if (entry.record.empty())
      stored_elsewhere.push_back(entry.outpoint);
    else
      TRY(restore(entry.outpoint, entry.record));
    changes_.spent_other.push_back({entry.outpoint, std::nullopt});
  }
  kv::PinnedValues values;
  TRY(fetch(db_, columns_.spent, network_.family, stored_elsewhere, values));
  for (std::size_t i = 0; i < stored_elsewhere.size(); ++i) {
    const auto value = values[i];
    if (!value) return absent(network_.family, stored_elsewhere[i], "utxo_spent");
    const SpentRecord spent = TRY(decode_spent(*value));
    TRY(restore(stored_elsewhere[i], spent.before));
  }
  return {};
}

Result<> Writer::undo_replaced(const BlockDelta& delta) {
  for (const Replaced& old : delta.replaced) {
    if (!old.record.empty()) TRY(restore(old.outpoint, old.record));
    if (old.spent.empty() || TRY(is_pruned(old))) continue;
    const Bytes spent(old.spent.begin(), old.spent.end());
    changes_.spent_other.push_back({old.outpoint, spent});
    returned_spent_[old.outpoint] = spent;
  }
  forget_recreated(delta);
  return {};
}

// Whether pruning has passed by the block that spent what was replaced: its record would stay for
// ever. Outpoints come again on Bitcoin only, where number and ordinal are the same.
Result<bool> Writer::is_pruned(const Replaced& old) const {
  const std::uint64_t ordinal = TRY(decode_spent(old.spent)).number.value;
  if (ordinal != tip_.prune_block || tip_.prune_entry == 0) return ordinal < tip_.prune_block;
  const Bytes stored = TRY(delta_at(Ordinal(ordinal)));
  const BlockDelta delta = TRY(decode_delta(stored));
  for (std::size_t entry = tip_.prune_entry; entry < delta.prunable(); ++entry)
    if (delta.prunable(entry) == old.outpoint) return false;
  return true;
}

// The last resort of utxo.rollback.beyondWindow = partial: what was created later goes, what was
// spent before the window stays spent.
Result<> Writer::drop_created_after(const bus::Position& to) {
  log::warn(
      "rolling back beyond the window: outputs spent between the target and the window stay "
      "lost; 'coffer utxo rebuild' makes the state exact again",
      {{"target", after_blocks(to.block_count())},
       {"window_ends_at", after_blocks(tip_.undo_floor)}});
  const auto later = [&](ByteView record) -> Result<bool> {
    const UtxoRecord facts = TRY(decode_record(record));
    if (facts.block_hash.empty()) return false;  // of the genesis files
    return to.at_origin || facts.slot > to.point.slot;
  };
  const auto drop = [&](CachedOutput& cached) -> Result<> {
    TRY(count_in(cached.body.view(), false));
    if (cached.on_disk)
      cached.state = CacheState::kSpent;
    else
      changes_.outputs.erase(cached);
    return {};
  };
  for (const CachedOutput* found : changes_.outputs.all())
    if (found->state == CacheState::kLive && TRY(later(found->body.view())))
      TRY(drop(*changes_.outputs.find(found->outpoint)));
  kv::Iterator it = db_.iterate(columns_.unspent, {.fill_cache = false});
  for (it.seek_to_first(); it.valid(); it.next()) {
    const chain::Outpoint outpoint = read_outpoint(network_.family, it.key().data());
    if (!TRY(later(it.value())) || changes_.outputs.find(outpoint) != nullptr) continue;
    CachedOutput& cached = changes_.outputs.insert(outpoint);
    cached.on_disk = true;
    changes_.outputs.set_body(cached, Body::copy(it.value()));
    TRY(drop(cached));
  }
  return it.status();
}

// Pruning may not have come to the end of blocks that can no longer be undone: what is left of
// their deltas and spent records goes with them.
Result<> Writer::drop_traces(std::uint64_t from, std::uint64_t end) {
  for (std::uint64_t height = end; height > std::max(from, tip_.delta_floor); --height) {
    const Ordinal ordinal(height - 1);
    const Bytes stored = TRY(delta_at(ordinal));
    const BlockDelta delta = TRY(decode_delta(stored));
    for (std::size_t entry = 0; entry < delta.prunable(); ++entry)
      changes_.spent_other.push_back({delta.prunable(entry), std::nullopt});
    forget_recreated(delta);
    if (delta.era_before) tip_.era = *delta.era_before;
    changes_.dropped_deltas.push_back(ordinal);
  }
  return {};
}

}  // namespace coffer::utxo
