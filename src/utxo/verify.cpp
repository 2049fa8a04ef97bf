// Checks the stored state against itself, column by column.
#include <unordered_set>

#include "chain/address.h"
#include "crypto/blake2b.h"
#include "utxo/accumulator.h"
#include "utxo/columns.h"
#include "utxo/keys.h"
#include "utxo/meta.h"
#include "utxo/store.h"

namespace coffer::utxo {
namespace {

constexpr std::size_t kAtOnce = 512;
constexpr std::uint64_t kTellEvery = 1u << 14;

using Outpoints = std::unordered_set<chain::Outpoint, chain::OutpointHash>;

class Verifier {
 public:
  Verifier(kv::Database& db, const chain::Network& network, const Columns& columns,
           const Shape& shape, const std::function<void(std::string_view, std::uint64_t)>& progress)
      : db_(db),
        network_(network),
        columns_(columns),
        shape_(shape),
        progress_(progress),
        snapshot_(db.snapshot()) {}

  Result<Verified> run() {
    tip_ = TRY(read_tip(db_, columns_.meta, &snapshot_));
    TRY(check_unspent());
    if (shape_.index_address)
      TRY(check_count("utxo_addr", columns_.addr, found_.unspent, found_.address_entries));
    if (shape_.index_credential)
      TRY(check_count("utxo_cred", columns_.cred, with_credential_, found_.credential_entries));
    TRY(check_deltas());
    if (shape_.store == StoreType::kMmr) TRY(check_accumulator());
    return found_;
  }

 private:
  std::string name(const chain::Outpoint& outpoint) const {
    return fmt::format("{}#{}", chain::display(network_.family, outpoint.tx), outpoint.index);
  }
  void tell(std::string_view what, std::uint64_t done) const {
    if (progress_ && done % kTellEvery == 0) progress_(what, done);
  }

  // Every output decodes and has its entries; the sums are those of the tip.
  Result<> check_unspent() {
    U128 coin = 0;
    std::vector<IndexKey> addresses, credentials;
    kv::Iterator it = db_.iterate(columns_.unspent, {.snapshot = &snapshot_, .fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next()) {
      if (it.key().size() != outpoint_bytes(network_.family))
        return fail(Code::kCorrupt, "utxo_unspent holds a key of {} bytes", it.key().size());
      const chain::Outpoint outpoint = read_outpoint(network_.family, it.key().data());
      const UtxoRecord record = TRY_IN(name(outpoint), decode_record(it.value()));
      coin += record.coin.value;
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
    if (found_.unspent != tip_.unspent || coin != tip_.coin)
      return fail(Code::kCorrupt, "utxo_unspent holds {} outputs worth {}, the tip says {} and {}",
                  found_.unspent, coin, tip_.unspent, tip_.coin);
    return {};
  }

  Result<> check_entries(std::vector<IndexKey>& addresses, std::vector<IndexKey>& credentials) {
    if (shape_.index_address) TRY(check_present("utxo_addr", columns_.addr, addresses));
    if (shape_.index_credential) TRY(check_present("utxo_cred", columns_.cred, credentials));
    addresses.clear();
    credentials.clear();
    return {};
  }

  Result<> check_present(std::string_view column_name, kv::Column column,
                         const std::vector<IndexKey>& keys) {
    std::vector<ByteView> views;
    for (const IndexKey& key : keys) views.push_back(key.view());
    kv::PinnedValues values;
    TRY(db_.multi_get_pinned(column, views, values, &snapshot_));
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
  // spent must not be, and its record must be at hand.
  Result<> check_deltas() {
    std::optional<Accumulator> accumulator;
    if (shape_.store == StoreType::kMmr)
      accumulator.emplace(db_, columns_.mmr, tip_.leaves, &snapshot_);
    for (std::uint64_t height = tip_.position.height(); height > tip_.delta_floor; --height) {
      const Bytes stored = TRY(delta_at(height - 1));
      const BlockDelta delta = TRY(decode_delta(stored));
      if (height == tip_.position.height() && delta.hash != tip_.position.point.hash)
        return fail(Code::kCorrupt, "the newest delta is of another block than the tip");
      if (accumulator) {
        if (!delta.mmr || TRY(accumulator->set().root()) != delta.mmr->root)
          return fail(Code::kCorrupt, "the root after block {} is not the recorded one",
                      delta.number);
        TRY(accumulator->undo(*delta.mmr));
      }
      if (height > tip_.undo_floor) TRY(check_delta(delta));
      tell("deltas", ++found_.deltas);
    }
    return {};
  }

  Result<> check_delta(const BlockDelta& delta) {
    for (const DeltaEntry& entry : delta.created) {
      if (restored_.erase(entry.outpoint) > 0) continue;
      if (!removed_.insert(entry.outpoint).second || !TRY(is_stored(columns_.unspent, entry)))
        return fail(Code::kCorrupt, "block {} created {}, which is neither unspent nor spent later",
                    delta.number, name(entry.outpoint));
    }
    for (const DeltaEntry& entry : delta.spent) {
      const bool stored = TRY(is_stored(columns_.unspent, entry));
      const bool unspent = stored && !removed_.contains(entry.outpoint);
      if (unspent || !restored_.insert(entry.outpoint).second)
        return fail(Code::kCorrupt, "block {} spent {}, which is there", delta.number,
                    name(entry.outpoint));
      if (returned_.erase(entry.outpoint) == 0) TRY(check_spent_record(delta, entry));
      ++found_.spent;
    }
    for (const chain::Outpoint& outpoint : delta.transient) returned_.erase(outpoint);
    for (const Replaced& old : delta.replaced) {
      // The record on disk stays accounted for: it is another one than this.
      if (!old.record.empty()) restored_.insert(old.outpoint);
      if (!old.spent.empty()) returned_.insert(old.outpoint);
    }
    return {};
  }

  // What undoing the block will put back.
  Result<> check_spent_record(const BlockDelta& delta, const DeltaEntry& entry) {
    ByteView before = entry.record;
    if (before.empty()) {
      if (!TRY(is_stored(columns_.spent, entry)))
        return fail(Code::kCorrupt, "block {} spent {}, whose record is gone", delta.number,
                    name(entry.outpoint));
      const SpentRecord spent = TRY_IN(name(entry.outpoint), decode_spent(pinned_.view()));
      if (spent.block_hash != delta.hash)
        return fail(Code::kCorrupt, "block {} spent {}, whose record says another block did",
                    delta.number, name(entry.outpoint));
      before = spent.before;
    }
    TRY_IN(name(entry.outpoint), decode_record(before));
    return {};
  }

  Result<bool> is_stored(kv::Column column, const DeltaEntry& entry) {
    const OutpointKey key = outpoint_key(network_.family, entry.outpoint);
    return db_.get_pinned(column, key.view(), pinned_, &snapshot_);
  }

  // Every output proves itself against the root, and no other leaf is live.
  Result<> check_accumulator() {
    Accumulator accumulator(db_, columns_.mmr, tip_.leaves, &snapshot_);
    const Hash256 root = TRY(accumulator.set().root());
    mmr::Digest digest;
    std::copy(root.begin(), root.end(), digest.begin());
    const auto hash = [](const std::uint8_t* data, std::size_t size) {
      const Hash256 made = crypto::blake2b_256({data, size});
      mmr::Digest out;
      std::copy(made.begin(), made.end(), out.begin());
      return out;
    };
    kv::Iterator it = db_.iterate(columns_.unspent, {.snapshot = &snapshot_, .fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next()) {
      const chain::Outpoint outpoint = read_outpoint(network_.family, it.key().data());
      const RecordHead head = TRY(decode_head(it.value()));
      if (!head.leaf) return fail(Code::kCorrupt, "{} has no leaf", name(outpoint));
      mmr::UnspentProof proof = TRY_IN(name(outpoint), accumulator.set().prove(*head.leaf));
      proof.outpoint.assign(it.key().begin(), it.key().end());
      proof.record = chain_facts(it.value());
      if (const char* fault = mmr::find_fault(proof, digest, hash))
        return fail(Code::kCorrupt, "{} is not what the accumulator holds: {}", name(outpoint),
                    fault);
      tell("proofs", ++found_.leaves);
    }
    TRY(it.status());
    std::uint64_t live = 0;
    for (std::uint64_t leaf = 0; leaf < tip_.leaves; ++leaf)
      live += TRY(accumulator.set().live(leaf))
    ? 1 : 0;
    if (live != tip_.unspent)
      return fail(Code::kCorrupt, "the accumulator holds {} live leaves for {} outputs", live,
                  tip_.unspent);
    return {};
  }

  kv::Database& db_;
  const chain::Network& network_;
  const Columns& columns_;
  const Shape& shape_;
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
  const auto shape = TRY(read_shape(db, meta));
  if (!shape) return fail(Code::kNotFound, "there is no UTXO state here");
  const Columns columns = TRY(open_columns(db, shape->store == StoreType::kMmr));
  return Verifier(db, network, columns, *shape, progress).run();
}

}  // namespace coffer::utxo
