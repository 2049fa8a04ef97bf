#include <coffer/chainstate/chain_state.h>

#include "base/check.h"
#include "base/result.h"
#include "chainstate/header_codec.h"
#include "crypto/sha256.h"

namespace coffer::chainstate {
namespace {

const ByteView kTipKey = as_bytes("tip");
constexpr int kStalePrunedPerBlock = 64;

}  // namespace

std::vector<kv::ColumnOptions> ChainState::columns() {
  return {{.name = "chain_headers", .point_lookups = true, .write_buffer_bytes = 16u << 20},
          {.name = "chain_active", .write_buffer_bytes = 16u << 20},
          {.name = "chain_stale", .write_buffer_bytes = 1u << 20},
          {.name = std::string(kMetaColumn), .write_buffer_bytes = 1u << 20}};
}

Result<std::unique_ptr<ChainState>> ChainState::open(kv::Database& db,
                                                     const chain::Network& network,
                                                     const Identity& identity,
                                                     std::uint64_t window) {
  std::unique_ptr<ChainState> state(new ChainState(db, network, identity, window));
  state->headers_ = TRY(db.column("chain_headers"));
  state->active_ = TRY(db.column("chain_active"));
  state->stale_ = TRY(db.column("chain_stale"));
  state->meta_ = TRY(db.column(kMetaColumn));
  TRY(state->load());
  // A database without a block belongs to nobody yet, whatever an older program wrote into it.
  if (!db.read_only() && state->tip_) TRY(check_identity(db, state->meta_, identity));
  return state;
}

Result<> ChainState::load() {
  kv::Iterator stale = db_.iterate(stale_, {.fill_cache = false});
  for (stale.seek_to_first(); stale.valid(); stale.next()) {
    if (stale.key().size() != 40)
      return fail(Code::kCorrupt, "chain_stale has a key of {} bytes", stale.key().size());
    stale_keys_.emplace(stale.key().begin(), stale.key().end());
  }
  TRY(stale.status());
  auto tip = TRY(db_.get(meta_, kTipKey));
  kv::Iterator last = db_.iterate(active_);
  last.seek_to_last();
  TRY(last.status());
  if (!tip && !last.valid()) return {};
  const bool agree = tip && last.valid() && tip->size() == 32 && last.value().size() >= 32 &&
                     equal(*tip, last.value().first(32));
  if (!agree)
    return fail(Code::kCorrupt,
                "the chain's tip and its last header differ; restore a backup or sync anew into an "
                "empty --data");
  tip_ = TRY(header(Hash256::from(tip->data())));
  if (!tip_)
    return fail(Code::kCorrupt,
                "the tip's header is missing; restore a backup or sync anew into an empty --data");
  return {};
}

std::optional<HeaderInfo> ChainState::tip() const {
  std::lock_guard lock(mutex_);
  return tip_;
}

bus::Position ChainState::position() const {
  auto now = tip();
  return now ? now->position() : bus::Position::origin();
}

Result<std::optional<HeaderInfo>> ChainState::header(const Hash256& hash) const {
  auto stored = TRY(db_.get(headers_, hash.view()));
  if (!stored) return std::nullopt;
  return TRY(decode_header(hash, *stored));
}

Result<std::optional<ChainState::ActiveEntry>> ChainState::active(Ordinal ordinal) const {
  auto stored = TRY(db_.get(active_, ordinal_key(ordinal)));
  if (!stored) return std::nullopt;
  if (stored->size() != 48)
    return fail(Code::kCorrupt, "chain_active entry {} has a wrong size", ordinal.value);
  return ActiveEntry{Hash256::from(stored->data()), BlockNumber(load_be64(stored->data() + 32)),
                     Slot(load_be64(stored->data() + 40))};
}

Result<std::optional<HeaderInfo>> ChainState::at(Ordinal ordinal) const {
  auto entry = TRY(active(ordinal));
  if (!entry) return std::nullopt;
  return header(entry->hash);
}

Result<std::optional<bus::Position>> ChainState::resolve(const chain::Point& point) const {
  if (point.is_origin()) return bus::Position::origin();
  auto found = TRY(header(point.hash));
  if (!found) return std::nullopt;
  auto entry = TRY(active(found->ordinal));
  if (!entry || entry->hash != point.hash) return std::nullopt;
  return found->position();
}

Result<Placed> ChainState::place(const chain::Block& block) const {
  const auto now = tip();
  const bool first = chain::begins_a_chain(network_, block);
  if (!now) {
    if (first) return Placed{Placement::kExtends, bus::Position::origin(), Ordinal(0)};
    return Placed{};
  }
  if (block.prev == now->hash)
    return Placed{Placement::kExtends, now->position(), now->ordinal.next()};
  if (auto known = TRY(header(block.hash))) {
    auto entry = TRY(active(known->ordinal));
    if (entry && entry->hash == block.hash) return Placed{Placement::kKnown, {}, known->ordinal};
  }
  if (first) return Placed{Placement::kForks, bus::Position::origin(), Ordinal(0)};
  auto parent = TRY(resolve({Slot(), block.prev}));
  if (!parent) return Placed{};
  return Placed{Placement::kForks, *parent, Ordinal(parent->block_count())};
}

Result<> ChainState::check_beginning(const chain::Block& block) const {
  TRY(chain::check_first_block(network_, block));
  const auto now = tip();
  if (!now || now->ordinal.value < window_) return {};
  const auto first = TRY(active(Ordinal(0)));
  if (!first || first->hash == block.hash) return {};
  return fail(Code::kConflict,
              "block {} begins another chain than the stored one, which begins with {}; choose "
              "another --source or --data",
              display(network_.family, block.hash), display(network_.family, first->hash));
}

Result<HeaderInfo> ChainState::header_of(const chain::Block& block, const Placed& placed) const {
  HeaderInfo info{block.hash, block.prev,        placed.ordinal,      block.number,
                  block.slot, block.time_unix_s, block.epoch_boundary};
  std::optional<HeaderInfo> parent;
  if (!placed.parent.at_origin) {
    parent = TRY(header(placed.parent.point.hash));
    if (!parent)
      return fail(Code::kCorrupt, "the header of block {} is missing",
                  placed.parent.point.hash.hex());
  }
  if (!parent) TRY(check_beginning(block));
  if (network_.family == chain::Family::kBitcoin) {
    info.number = BlockNumber(placed.ordinal.value);
    info.slot = Slot(placed.ordinal.value);
    return info;
  }
  if (parent) {
    const std::uint64_t number = parent->number.value + (block.epoch_boundary ? 0 : 1);
    // Mainnet's very first block is a boundary block and counts for itself.
    if (block.number.value != number)
      return fail(Code::kInvalidInput, "block {} has number {} where {} follows", block.hash.hex(),
                  block.number.value, number);
    if (block.slot < parent->slot || (block.slot == parent->slot && !parent->epoch_boundary))
      return fail(Code::kInvalidInput,
                  "block {} has slot {}, not after slot {} of the block before it",
                  block.hash.hex(), block.slot.value, parent->slot.value);
  }
  return info;
}

Result<> ChainState::disconnect_after(kv::Batch& batch, const bus::Position& parent,
                                      StaleChange& change) {
  for (Ordinal ordinal(parent.block_count());; ordinal = ordinal.next()) {
    auto entry = TRY(active(ordinal));
    if (!entry) return {};
    batch.del(active_, ordinal_key(ordinal));
    change.added.push_back(stale_key(ordinal, entry->hash));
    batch.put(stale_, change.added.back(), {});
  }
}

void ChainState::prune_stale(kv::Batch& batch, Ordinal tip, StaleChange& change) const {
  if (tip.value < window_) return;
  const auto key = ordinal_key(tip.minus(window_));
  const Bytes bound(key.begin(), key.end());
  int left = kStalePrunedPerBlock;
  for (auto it = stale_keys_.begin(); it != stale_keys_.end() && *it < bound && left > 0;
       ++it, --left) {
    batch.del(headers_, ByteView(*it).subspan(bound.size()));
    batch.del(stale_, *it);
    change.removed.push_back(*it);
  }
}

Result<Connected> ChainState::connect(chain::Block& block, const Placed& placed) {
  CHECK(placed.placement == Placement::kExtends || placed.placement == Placement::kForks);
  const HeaderInfo info = TRY(header_of(block, placed));
  kv::Batch batch;
  StaleChange change;
  Connected connected{placed.ordinal, std::nullopt};
  if (placed.placement == Placement::kForks) {
    TRY(disconnect_after(batch, placed.parent, change));
    connected.rolled_back = bus::RolledBack{placed.parent};
  }
  prune_stale(batch, info.ordinal, change);
  batch.put(headers_, info.hash.view(), encode_header(info));
  batch.put(active_, ordinal_key(info.ordinal), encode_active(info));
  const Bytes own_key = stale_key(info.ordinal, info.hash);
  if (stale_keys_.contains(own_key)) {  // a stale block that came back
    batch.del(stale_, own_key);
    change.removed.push_back(own_key);
  }
  if (placed.parent.at_origin) put_identity(batch, meta_, identity_);
  batch.put(meta_, kTipKey, info.hash.view());
  TRY(db_.commit(batch));
  for (Bytes& key : change.added) stale_keys_.insert(std::move(key));
  for (const Bytes& key : change.removed) stale_keys_.erase(key);
  block.number = info.number;
  block.slot = info.slot;
  std::lock_guard lock(mutex_);
  tip_ = info;
  return connected;
}

Result<> ChainState::fill_in(chain::Block& block, Ordinal ordinal) const {
  auto info = TRY(at(ordinal));
  if (!info || info->hash != block.hash)
    return fail(Code::kConflict, "block at ordinal {} is not on the chain", ordinal.value);
  block.number = info->number;
  block.slot = info->slot;
  return {};
}

// The active entries are sorted by number and by slot, so the last one that fits is found by
// halving.
template <typename Below>
Result<std::optional<HeaderInfo>> ChainState::last_where(Below below) const {
  const auto now = tip();
  std::uint64_t low = 0, high = now ? now->ordinal.value + 1 : 0;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    auto entry = TRY(active(Ordinal(middle)));
    if (entry && below(*entry))
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0) return std::nullopt;
  return at(Ordinal(low - 1));
}

Result<std::optional<HeaderInfo>> ChainState::last_with_number(BlockNumber number) const {
  return last_where([&](const ActiveEntry& entry) { return entry.number <= number; });
}

Result<bus::Position> ChainState::rejoin(const bus::Position& from) const {
  if (from.at_origin) return from;
  Hash256 hash = from.point.hash;
  for (;;) {
    auto info = TRY(header(hash));
    if (!info)
      return fail(Code::kNotFound, "its tip {} at ordinal {} is on no branch that is still known",
                  display(network_.family, hash), from.ordinal.value);
    auto entry = TRY(active(info->ordinal));
    if (entry && entry->hash == hash) return info->position();
    if (info->ordinal.value == 0) return bus::Position::origin();
    hash = info->prev;
  }
}

Result<std::vector<chain::Point>> ChainState::locator(const bus::Position& from) const {
  std::vector<chain::Point> points;
  if (from.at_origin) return points;
  std::uint64_t step = 1, ordinal = from.ordinal.value;
  for (;;) {
    auto entry = TRY(active(Ordinal(ordinal)));
    if (!entry) return fail(Code::kCorrupt, "chain_active has no entry {}", ordinal);
    points.push_back({entry->slot, entry->hash});
    if (ordinal == 0) return points;
    if (points.size() > 10) step *= 2;
    ordinal = ordinal > step ? ordinal - step : 0;
  }
}

Result<Hash256> ChainState::digest() const {
  crypto::Sha256 hasher;
  kv::Iterator it = db_.iterate(active_, {.fill_cache = false});
  for (it.seek_to_first(); it.valid(); it.next()) hasher.update(it.key()).update(it.value());
  TRY(it.status());
  return hasher.finish();
}

Result<> ChainState::verify() const {
  kv::Iterator it = db_.iterate(active_, {.fill_cache = false});
  std::optional<HeaderInfo> before;
  std::uint64_t expected = 0;
  for (it.seek_to_first(); it.valid(); it.next(), ++expected) {
    if (!equal(it.key(), ordinal_key(Ordinal(expected))))
      return fail(Code::kCorrupt, "chain_active has no entry {}", expected);
    auto info = TRY(header(Hash256::from(it.value().data())));
    if (!info || info->ordinal.value != expected || !equal(it.value(), encode_active(*info)))
      return fail(Code::kCorrupt, "chain_active entry {} and its header differ", expected);
    if (before &&
        (info->prev != before->hash || info->number < before->number || info->slot < before->slot))
      return fail(Code::kCorrupt, "block at ordinal {} does not follow the one before it",
                  expected);
    before = info;
  }
  TRY(it.status());
  const auto now = tip();
  if (now.has_value() != before.has_value() || (now && now->hash != before->hash))
    return fail(Code::kCorrupt, "the tip is not the last block of the chain");
  return {};
}

}  // namespace coffer::chainstate
