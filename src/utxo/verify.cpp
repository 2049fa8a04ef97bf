// Checks the stored state against itself, column by column.
#include <unordered_set>

#include <coffer/chain/address.h>
#include <coffer/utxo/store.h>
#include "base/result.h"
#include "crypto/blake2b.h"
#include "utxo/accumulator.h"
#include "utxo/columns.h"
#include "utxo/keys.h"
#include "utxo/meta.h"

namespace coffer::utxo {
namespace {

constexpr std::size_t kAtOnce = 512;
constexpr std::uint64_t kTellEvery = 1u << 14;

using Outpoints = std::unordered_set<chain::Outpoint, chain::OutpointHash>;

class Verifier {
 public:
  Verifier(kv::Database& db, const chain::Network& network, const Columns& columns,
           const StoredOptions& stored_options,
           const std::function<void(std::string_view, std::uint64_t)>& progress)
      : db_(db),
        network_(network),
        columns_(columns),
        stored_options_(stored_options),
        progress_(progress),
        snapshot_(db.snapshot()) {}

  Result<Verified> run() {
    tip_ = TRY(read_tip(db_, columns_.meta, &snapshot_));
    TRY(check_unspent());
    if (stored_options_.index_address)
      TRY(check_count("utxo_addr", columns_.addr, found_.unspent, found_.address_entries));
    if (stored_options_.index_credential)
      TRY(check_count("utxo_cred", columns_.cred, with_credential_, found_.credential_entries));
    TRY(check_deltas());
    if (stored_options_.store == StoreType::kMmr) TRY(check_accumulator());
    return found_;
  }

 private:
  std::string name(const chain::Outpoint& outpoint) const {
    return chain::display(network_.family, outpoint);
  }
  void tell(std::string_view what, std::uint64_t done) const {
    if (progress_ && done % kTellEvery == 0) progress_(what, done);
  }

  // Every output decodes and has its entries; the sums are those of the tip.
  Result<> check_unspent() {
    U128 amount = 0;
    std::vector<IndexKey> addresses, credentials;
    kv::Iterator it = db_.iterate(columns_.unspent, {.snapshot = &snapshot_, .fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next()) {
      if (it.key().size() != outpoint_bytes(network_.family))
        return fail(Code::kCorrupt, "utxo_unspent holds a key of {} bytes", it.key().size());
      const chain::Outpoint outpoint = read_outpoint(network_.family, it.key().data());
      const UtxoRecord record = TRY_IN(name(outpoint), decode_record(it.value()));
      amount += record.amount.value;
      tell("outputs", ++found_.unspent);
      addresses.push_back(
          index_key(network_.family, address_owner(record.address), record.slot, outpoint));
      if (network_.family == chain::Family::kCardano)
        if (const auto payment = chain::credentials_of(record.address).payment) {
          credentials.push_back(index_key(network_.family, payment->hash, record.slot, outpoint));
          ++with_credential_;
        }
      if (addresses.size() == kAtOnce) TRY(check_entries(addresses, credentials));
    }
    TRY(it.status());
    TRY(check_entries(addresses, credentials));
    if (found_.unspent != tip_.unspent || amount != tip_.amount)
      return fail(Code::kCorrupt, "utxo_unspent holds {} outputs worth {}, the tip says {} and {}",
                  found_.unspent, amount, tip_.unspent, tip_.amount);
    return {};
  }

  Result<> check_entries(std::vector<IndexKey>& addresses, std::vector<IndexKey>& credentials) {
    if (stored_options_.index_address) TRY(check_present("utxo_addr", columns_.addr, addresses));
    if (stored_options_.index_credential)
      TRY(check_present("utxo_cred", columns_.cred, credentials));
    addresses.clear();
    credentials.clear();
    return {};
  }

  Result<> check_present(std::string_view column_name, kv::Column column,
                         const std::vector<IndexKey>& keys) {
    std::vector<ByteView> views;
    views.reserve(keys.size());
    for (const IndexKey& key : keys) views.push_back(key.view());
    kv::PinnedValues values;
    TRY(db_.multi_get(column, views, values, &snapshot_));
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (!values[i])
        return fail(Code::kCorrupt, "{} is not in {}",
                    name(read_outpoint(network_.family, keys[i].bytes.data() + kOwnerBytes + 8)),
                    column_name);
    return {};
  }

  // Every output has its own entry, so as many entries as outputs means none too many.
  Result<> check_count(std::string_view column_name, kv::Column column, std::uint64_t expected,
                       std::uint64_t& entries) {
    kv::Iterator it = db_.iterate(column, {.snapshot = &snapshot_, .fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next()) tell("index entries", ++entries);
    TRY(it.status());
    if (entries != expected)
      return fail(Code::kCorrupt, "{} has {} entries for {} outputs", column_name, entries,
                  expected);
    return {};
  }

  Result<Bytes> delta_at(std::uint64_t ordinal) {
    auto stored = TRY(db_.get(columns_.delta, ordinal_key(Ordinal(ordinal)), &snapshot_));
    if (!stored) return fail(Code::kCorrupt, "the delta of ordinal {} is missing", ordinal);
    return std::move(*stored);
  }

  // Undoes all blocks on paper: what a block created must be there when its turn comes, what it
  // spent must not be, and its record must be at hand. Nothing else is remembered as spent.
  Result<> check_deltas() {
    TRY(check_range());
    std::optional<Accumulator> accumulator;  // undone along with the blocks
    if (stored_options_.store == StoreType::kMmr)
      accumulator.emplace(db_, columns_.mmr, tip_.leaves, &snapshot_);
    for (std::uint64_t height = tip_.position.block_count(); height > tip_.delta_floor; --height) {
      const Bytes stored = TRY(delta_at(height - 1));
      const BlockDelta delta = TRY(decode_delta(stored));
      if (height == tip_.position.block_count() && delta.hash != tip_.position.point.hash)
        return fail(Code::kCorrupt, "the newest delta is of another block than the tip");
      if (accumulator) {
        if (!delta.mmr || TRY(accumulator->set().root()) != delta.mmr->root)
          return fail(Code::kCorrupt, "the root after block {} is not the recorded one",
                      delta.number);
        TRY(accumulator->undo(*delta.mmr));
      }
      if (height > tip_.undo_floor) TRY(check_delta(delta));
      TRY(check_spent(Ordinal(height - 1), delta, accumulator));
      tell("deltas", ++found_.deltas);
    }
    std::uint64_t stored = 0;
    kv::Iterator it = db_.iterate(columns_.spent, {.snapshot = &snapshot_, .fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next()) tell("spent outputs", ++stored);
    TRY(it.status());
    // Each that a delta accounts for was seen, so a larger number means strays.
    if (stored != found_.spent)
      return fail(Code::kCorrupt, "utxo_spent holds {} records, the deltas account for {}", stored,
                  found_.spent);
    return {};
  }

  // No deltas but those of the tip's range; that there are no gaps in it is seen on the way.
  Result<> check_range() {
    kv::Iterator it = db_.iterate(columns_.delta, {.snapshot = &snapshot_, .fill_cache = false});
    it.seek_to_first();
    const bool before = it.valid() && !equal(it.key(), ordinal_key(Ordinal(tip_.delta_floor)));
    it.seek(ordinal_key(Ordinal(tip_.position.block_count())));
    if (before || it.valid())
      return fail(Code::kCorrupt,
                  "utxo_block_delta holds deltas of ordinals before {} or from {} on",
                  tip_.delta_floor, tip_.position.block_count());
    return it.status();
  }

  Result<> check_delta(const BlockDelta& delta) {
    for (const DeltaEntry& entry : delta.created) {
      if (restored_.erase(entry.outpoint) > 0) continue;
      if (!removed_.insert(entry.outpoint).second ||
          !TRY(is_stored(columns_.unspent, entry.outpoint)))
        return fail(Code::kCorrupt, "block {} created {}, which is neither unspent nor spent later",
                    delta.number, name(entry.outpoint));
      if (!entry.record.empty() && !equal(entry.record, pinned_.view()))
        return fail(Code::kCorrupt, "block {} created {}, which is another output now",
                    delta.number, name(entry.outpoint));
    }
    for (const DeltaEntry& entry : delta.spent) {
      const bool stored = TRY(is_stored(columns_.unspent, entry.outpoint));
      const bool unspent = stored && !removed_.contains(entry.outpoint);
      if (unspent || !restored_.insert(entry.outpoint).second)
        return fail(Code::kCorrupt, "block {} spent {}, which is there", delta.number,
                    name(entry.outpoint));
      if (!entry.record.empty()) TRY_IN(name(entry.outpoint), decode_record(entry.record));
    }
    // The record on disk stays accounted for: it is another one than this.
    for (const Replaced& old : delta.replaced)
      if (!old.record.empty()) restored_.insert(old.outpoint);
    return {};
  }

  // What the block spent is remembered, but for what is pruned and what a later block that brought
  // the outpoint again took into its delta.
  Result<> check_spent(Ordinal ordinal, const BlockDelta& delta,
                       std::optional<Accumulator>& before) {
    std::optional<Prover> prover;
    if (before) prover = TRY(prover_of(*before));
    std::uint64_t pruned = ordinal.value < tip_.prune_block    ? ~std::uint64_t{0}
                           : ordinal.value == tip_.prune_block ? tip_.prune_entry
                                                               : 0;
    const auto next_is_kept = [&](const chain::Outpoint& outpoint) {
      const bool returned = returned_.erase(outpoint) > 0;
      if (pruned == 0) return !returned;
      --pruned;
      return false;
    };
    for (const DeltaEntry& entry : delta.spent) {
      if (!next_is_kept(entry.outpoint)) continue;
      const SpentRecord spent = TRY(check_spent_record(delta, entry));
      if (prover) TRY(check_proof(*prover, entry.outpoint, spent.before));
    }
    for (const chain::Outpoint& outpoint : delta.transient)
      if (next_is_kept(outpoint)) (void)TRY(check_spent_record(delta, {outpoint, {}, {}}));
    for (const Replaced& old : delta.replaced)
      if (!old.spent.empty()) returned_.insert(old.outpoint);
    return {};
  }

  // What undoing the block will put back. The record is good until the next read.
  Result<SpentRecord> check_spent_record(const BlockDelta& delta, const DeltaEntry& entry) {
    const auto wrong = [&](std::string_view what) {
      return fail(Code::kCorrupt, "block {} spent {}, whose record {}", delta.number,
                  name(entry.outpoint), what);
    };
    if (!TRY(is_stored(columns_.spent, entry.outpoint))) return wrong("is gone");
    const SpentRecord spent = TRY_IN(name(entry.outpoint), decode_spent(pinned_.view()));
    if (spent.block_hash != delta.hash || spent.number != delta.number || spent.slot != delta.slot)
      return wrong("says another block did");
    TRY_IN(name(entry.outpoint), decode_record(spent.before));
    if (!entry.record.empty() && (!equal(entry.record, spent.before) || entry.by != spent.by))
      return wrong("is not that of its delta");
    tell("spent outputs", ++found_.spent);
    return spent;
  }

  Result<bool> is_stored(kv::Column column, const chain::Outpoint& outpoint) {
    const OutpointKey key = outpoint_key(network_.family, outpoint);
    return db_.get_pinned(column, key.view(), pinned_, &snapshot_);
  }

  struct Prover {
    mmr::LiveSet* set = nullptr;
    mmr::Digest root{};
  };
  static Result<Prover> prover_of(Accumulator& accumulator) {
    Prover prover{&accumulator.set(), {}};
    const Hash256 root = TRY(accumulator.set().root());
    std::copy(root.begin(), root.end(), prover.root.begin());
    return prover;
  }

  // The output proves itself against the root.
  Result<> check_proof(const Prover& prover, const chain::Outpoint& outpoint, ByteView record) {
    const RecordHead head = TRY(decode_head(record));
    if (!head.leaf) return fail(Code::kCorrupt, "{} has no leaf", name(outpoint));
    const auto hash = [](const std::uint8_t* data, std::size_t size) {
      const Hash256 made = crypto::blake2b_256({data, size});
      mmr::Digest out;
      std::copy(made.begin(), made.end(), out.begin());
      return out;
    };
    auto made = prover.set->prove(*head.leaf);
    if (!made && made.error().code == Code::kNotFound)
      return fail(Code::kCorrupt, "{} is not in the accumulator", name(outpoint));
    mmr::UnspentProof proof = TRY_IN(name(outpoint), std::move(made));
    const OutpointKey key = outpoint_key(network_.family, outpoint);
    proof.outpoint.assign(key.view().begin(), key.view().end());
    proof.record = TRY_IN(name(outpoint), chain_facts(record));
    if (const char* fault = mmr::find_fault(proof, prover.root, hash))
      return fail(Code::kCorrupt, "{} is not what the accumulator holds: {}", name(outpoint),
                  fault);
    return {};
  }

  // Every output proves itself against the root, and no other leaf is live.
  Result<> check_accumulator() {
    Accumulator accumulator(db_, columns_.mmr, tip_.leaves, &snapshot_);
    const Prover prover = TRY(prover_of(accumulator));
    kv::Iterator it = db_.iterate(columns_.unspent, {.snapshot = &snapshot_, .fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next()) {
      const chain::Outpoint outpoint = read_outpoint(network_.family, it.key().data());
      TRY(check_proof(prover, outpoint, it.value()));
      tell("proofs", ++found_.leaves);
    }
    TRY(it.status());
    std::uint64_t live = 0;
    for (std::uint64_t leaf = 0; leaf < tip_.leaves; ++leaf)
      live += TRY(accumulator.set().live(leaf)) ? 1 : 0;
    if (live != tip_.unspent)
      return fail(Code::kCorrupt, "the accumulator holds {} live leaves for {} outputs", live,
                  tip_.unspent);
    return {};
  }

  kv::Database& db_;
  const chain::Network& network_;
  const Columns& columns_;
  const StoredOptions& stored_options_;
  const std::function<void(std::string_view, std::uint64_t)>& progress_;
  const kv::Snapshot snapshot_;
  kv::Pinned pinned_;
  Tip tip_;
  Verified found_;
  std::uint64_t with_credential_ = 0;
  Outpoints restored_;  // by the blocks undone so far, and not created by one of them
  Outpoints returned_;  // whose spent record one of those blocks keeps
  Outpoints removed_;   // on disk, but created by a block undone so far
};

}  // namespace

Result<Verified> verify(kv::Database& db, const chain::Network& network,
                        const std::function<void(std::string_view, std::uint64_t)>& progress) {
  const kv::Column meta = TRY(db.column("utxo_meta"));
  const auto stored_options = TRY(read_stored_options(db, meta));
  if (!stored_options) return fail(Code::kNotFound, "there is no UTXO state here");
  const Columns columns = TRY(open_columns(db, stored_options->store == StoreType::kMmr));
  return Verifier(db, network, columns, *stored_options, progress).run();
}

}  // namespace coffer::utxo
