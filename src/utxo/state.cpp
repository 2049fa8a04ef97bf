// Reads by outpoint, deltas, counts and scans.
#include "utxo/state_impl.h"

#include "base/result.h"
#include "utxo/keys.h"

namespace coffer::utxo {
namespace {

constexpr std::uint64_t kAskEvery = 4096;  // addresses: some milliseconds

}  // namespace

UtxoState::UtxoState(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}

UtxoState::~UtxoState() = default;

StoreType UtxoState::type() const {
  return impl_->stored_options.store;
}

bool UtxoState::indexes_addresses() const {
  return impl_->stored_options.index_address;
}

bool UtxoState::indexes_credentials() const {
  return impl_->stored_options.index_credential;
}

Result<Utxo> make_utxo(const chain::Outpoint& outpoint, ByteView stored) {
  Utxo utxo;
  utxo.outpoint = outpoint;
  utxo.stored.assign(stored.begin(), stored.end());
  utxo.record = TRY(decode_record(utxo.stored));
  return utxo;
}

Result<std::optional<UtxoLookup>> UtxoState::get(const chain::Outpoint& outpoint) const {
  if (!has_key(impl_->network.family, outpoint)) return std::nullopt;
  const kv::Snapshot snapshot = impl_->db.snapshot();
  const OutpointKey key = outpoint_key(impl_->network.family, outpoint);
  if (const auto stored = TRY(impl_->db.get(impl_->columns.unspent, key.view(), &snapshot)))
    return UtxoLookup{TRY(make_utxo(outpoint, *stored)), std::nullopt};
  const auto stored = TRY(impl_->db.get(impl_->columns.spent, key.view(), &snapshot));
  if (!stored) return std::nullopt;
  const SpentRecord spent = TRY(decode_spent(*stored));
  return UtxoLookup{TRY(make_utxo(outpoint, spent.before)),
                    SpentInfo{spent.by, spent.slot, spent.number, spent.block_hash,
                              spent.time_unix_s, spent.epoch}};
}

// Deltas are keyed by ordinal. The number grows with it but where a boundary block shares that of
// the block before, which is the one wanted: the first of its number.
Result<std::pair<Ordinal, BlockDelta>> UtxoState::find_delta(const Tip& tip, BlockNumber number,
                                                             const kv::Snapshot& snapshot,
                                                             Bytes& stored) const {
  const auto read = [&](std::uint64_t ordinal) -> Result<BlockNumber> {
    auto bytes = TRY(impl_->db.get(impl_->columns.delta, ordinal_key(Ordinal(ordinal)), &snapshot));
    if (!bytes) return fail(Code::kCorrupt, "the delta of ordinal {} is missing", ordinal);
    stored = std::move(*bytes);
    return number_of_delta(stored);
  };
  const std::uint64_t end = tip.position.block_count();
  std::uint64_t low = tip.delta_floor, high = end;
  // Without boundary blocks ordinal and number are the same.
  if (number.value > low && number.value < high && TRY(read(number.value)) == number &&
      TRY(read(number.value - 1)) < number)
    low = high = number.value;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (TRY(read(middle)) < number)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < end && TRY(read(low)) == number) {
    BlockDelta delta = TRY(decode_delta(stored));
    return std::pair(Ordinal(low), std::move(delta));
  }
  if (tip.position.at_origin || number > tip.number)
    return fail(Code::kNotFound, "block {} is not applied yet; the newest is {}", number.value,
                tip.position.at_origin ? std::string("none") : fmt::format("{}", tip.number));
  return fail(Code::kNotFound, "what block {} changed is no longer kept; the last {} blocks are",
              number.value, end - tip.delta_floor);
}

Result<BlockDelta> UtxoState::delta(BlockNumber number, Bytes& stored) const {
  const kv::Snapshot snapshot = impl_->db.snapshot();
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta, &snapshot));
  return TRY(find_delta(tip, number, snapshot, stored)).second;
}

Result<Stats> UtxoState::stats() const {
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta));
  Stats stats;
  stats.at = tip.position;
  stats.number = tip.number;
  stats.store = impl_->stored_options.store;
  stats.unspent = tip.unspent;
  stats.amount = tip.amount;
  stats.leaves = tip.leaves;
  stats.deltas = tip.position.block_count() - tip.delta_floor;
  stats.rollback_blocks = tip.position.block_count() - tip.undo_floor;
  if (impl_->add_counters) impl_->add_counters(stats);
  return stats;
}

Result<std::uint64_t> UtxoState::count_addresses(const std::function<bool()>& go_on) const {
  if (!impl_->stored_options.index_address)
    return fail(not_indexed("addresses", "utxo.index.address_hash"));
  kv::Iterator it = impl_->db.iterate(impl_->columns.addr, {.fill_cache = false});
  std::uint64_t count = 0;
  Bytes next;
  for (it.seek_to_first(); it.valid();) {
    if (++count % kAskEvery == 0 && !go_on())
      return fail(Code::kCancelled, "counting addresses was stopped");
    next.assign(it.key().begin(), it.key().begin() + kOwnerBytes);
    // Most addresses hold one or two outputs: a few steps are cheaper than a seek.
    int steps = 0;
    while (it.valid() && equal(it.key().first(kOwnerBytes), next) && steps++ < 4) it.next();
    if (!it.valid() || !equal(it.key().first(kOwnerBytes), next)) continue;
    next.resize(kOwnerBytes + 8 + 36, 0xff);
    it.seek(next);
  }
  TRY(it.status());
  return count;
}

Result<bus::Position> UtxoState::for_each(const std::function<bool(const Utxo&)>& each) const {
  const kv::Snapshot snapshot = impl_->db.snapshot();
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta, &snapshot));
  kv::Iterator it =
      impl_->db.iterate(impl_->columns.unspent, {.snapshot = &snapshot, .fill_cache = false});
  for (it.seek_to_first(); it.valid(); it.next()) {
    if (it.key().size() != outpoint_bytes(impl_->network.family))
      return fail(Code::kCorrupt, "utxo_unspent holds a key of {} bytes", it.key().size());
    const Utxo utxo =
        TRY(make_utxo(read_outpoint(impl_->network.family, it.key().data()), it.value()));
    if (!each(utxo)) break;
  }
  TRY(it.status());
  return tip.position;
}

}  // namespace coffer::utxo
