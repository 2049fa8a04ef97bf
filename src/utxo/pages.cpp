// Pages of an address or a credential, and balances.
#include <coffer/chain/address.h>
#include "base/result.h"
#include "utxo/keys.h"
#include "utxo/state_impl.h"

namespace coffer::utxo {
namespace {

constexpr std::uint64_t kMaxCount = 100;
// Entries that one request looks at (E11): with filters records, without them only keys.
constexpr std::uint64_t kMaxRecords = 10'000;
constexpr std::uint64_t kMaxSkipped = 1'000'000;
constexpr std::uint64_t kMaxBalance = 500'000;
constexpr std::size_t kLoadedAtOnce = 256;

// A cursor is where to go on: slot and outpoint of the next entry, in hex, after its direction.
std::string make_cursor(ByteView entry, bool descending) {
  return (descending ? "d" : "a") + to_hex(entry.subspan(kOwnerBytes));
}

Result<Bytes> parse_cursor(std::string_view cursor, bool descending, chain::Family family) {
  const auto bad = [] {
    return fail(Code::kInvalidInput, "cursor: not one that was given out for this question");
  };
  if (cursor.empty() || cursor.front() != (descending ? 'd' : 'a')) return bad();
  auto bytes = from_hex(cursor.substr(1));
  if (!bytes || bytes->size() != 8 + outpoint_bytes(family)) return bad();
  return bytes;
}

bool has_asset(const UtxoRecord& record, const AssetFilter& filter) {
  for (const chain::Asset& asset : record.assets)
    if (std::memcmp(asset.policy, filter.policy.data(), Hash224::kSize) == 0 &&
        (!filter.name || equal(asset.name, *filter.name)))
      return true;
  return false;
}

Bytes bound(const Hash224& owner, std::uint64_t slot) {
  Bytes key(owner.begin(), owner.end());
  append_be64(key, slot);
  return key;
}

// Steps over the entries of an owner between two slots, either way.
class Entries {
 public:
  Entries(const kv::Database& db, kv::Column column, const kv::Snapshot& snapshot,
          const Hash224& owner, const PageRequest& request)
      : descending_(request.descending),
        lower_(bound(owner, request.from_slot ? request.from_slot->value : 0)),
        upper_(upper_bound(owner, request.to_slot)),
        it_(db.iterate(column,
                       {.lower_bound = lower_, .upper_bound = upper_, .snapshot = &snapshot})) {}

  void start() { descending_ ? it_.seek_to_last() : it_.seek_to_first(); }
  void start_at(ByteView key) { descending_ ? it_.seek_for_prev(key) : it_.seek(key); }
  void step() { descending_ ? it_.prev() : it_.next(); }
  bool valid() const { return it_.valid(); }
  ByteView key() const { return it_.key(); }
  Result<> status() const { return it_.status(); }

 private:
  static Bytes upper_bound(const Hash224& owner, std::optional<Slot> to) {
    Bytes key = bound(owner, to ? to->value : ~std::uint64_t{0});
    key.resize(kOwnerBytes + 8 + 37, 0xff);  // after every outpoint of that slot
    return key;
  }

  const bool descending_;
  const Bytes lower_, upper_;
  kv::Iterator it_;
};

}  // namespace

Result<std::vector<Utxo>> UtxoState::load(const kv::Snapshot& snapshot, const Walk& walk,
                                          std::span<const Bytes> entries) const {
  std::vector<ByteView> keys;
  for (const Bytes& entry : entries) keys.push_back(ByteView(entry).subspan(kOwnerBytes + 8));
  kv::PinnedValues values;
  TRY(impl_->db.multi_get(impl_->columns.unspent, keys, values, &snapshot));
  std::vector<Utxo> utxos;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const chain::Outpoint outpoint = read_outpoint(impl_->network.family, keys[i].data());
    const auto value = values[i];
    if (!value)
      return fail(Code::kCorrupt, "{} is indexed but not there; run 'coffer utxo verify'",
                  chain::display(impl_->network.family, outpoint));
    Utxo utxo = TRY(make_utxo(outpoint, *value));
    if (walk.owns(utxo.record)) utxos.push_back(std::move(utxo));
  }
  return utxos;
}

Result<Page> UtxoState::page(const Walk& walk, const PageRequest& request) const {
  if (request.count < 1 || request.count > kMaxCount)
    return fail(Code::kInvalidInput, "count: {} is not within 1 and {}", request.count, kMaxCount);
  if (request.page < 1) return fail(Code::kInvalidInput, "page: pages are counted from 1");
  const kv::Snapshot snapshot = impl_->db.snapshot();
  Page page;
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta, &snapshot));
  page.at = tip.position;
  page.number = tip.number;
  TRY(page_under(snapshot, walk, request, page));
  return page;
}

Result<> UtxoState::page_under(const kv::Snapshot& snapshot, const Walk& walk,
                               const PageRequest& request, Page& page) const {
  std::uint64_t skip = 0;
  const auto too_far = [&] {
    return fail(Code::kInvalidInput, "page: {} is too far in; use the cursor of an earlier page",
                request.page);
  };
  Entries entries(impl_->db, walk.column, snapshot, walk.owner, request);
  if (!request.cursor.empty()) {
    Bytes from(walk.owner.begin(), walk.owner.end());
    append(from, TRY(parse_cursor(request.cursor, request.descending, impl_->network.family)));
    entries.start_at(from);
  } else {
    entries.start();
    if (__builtin_mul_overflow(request.page - 1, request.count, &skip) || skip > kMaxSkipped)
      return too_far();
  }
  // Without a filter what is skipped need not be looked at.
  if (!request.asset)
    for (; skip > 0 && entries.valid(); --skip) entries.step();
  std::uint64_t examined = 0;
  std::vector<Bytes> taken;
  while (entries.valid() && page.utxos.size() < request.count) {
    if (examined >= kMaxRecords) break;
    taken.clear();
    const std::uint64_t wanted = request.asset ? kLoadedAtOnce : request.count - page.utxos.size();
    for (; entries.valid() && taken.size() < wanted; entries.step())
      taken.emplace_back(entries.key().begin(), entries.key().end());
    examined += taken.size();
    std::vector<Utxo> loaded = TRY(load(snapshot, walk, taken));
    for (Utxo& utxo : loaded) {
      if (request.asset && !has_asset(utxo.record, *request.asset)) continue;
      if (skip > 0) {
        --skip;
        continue;
      }
      if (page.utxos.size() == request.count) {  // more than fit: go on with this one next time
        const IndexKey next =
            index_key(impl_->network.family, walk.owner, utxo.record.slot, utxo.outpoint);
        page.cursor = make_cursor(next.view(), request.descending);
        return {};
      }
      page.utxos.push_back(std::move(utxo));
    }
  }
  // A cursor knows nothing of what is still to be skipped: it would show earlier pages again.
  if (entries.valid() && skip > 0) return too_far();
  if (entries.valid()) page.cursor = make_cursor(entries.key(), request.descending);
  return entries.status();
}

Result<UtxoState::Walk> UtxoState::address_walk(ByteView address) const {
  if (!impl_->stored_options.index_address)
    return fail(not_indexed("addresses", "utxo.index.address_hash"));
  return Walk{impl_->columns.addr, address_owner(address),
              [asked = Bytes(address.begin(), address.end())](const UtxoRecord& record) {
                return equal(record.address, asked);
              }};
}

Result<Page> UtxoState::by_address(ByteView address, const PageRequest& request) const {
  return page(TRY(address_walk(address)), request);
}

Result<Page> UtxoState::by_credential(const Hash224& credential, const PageRequest& request) const {
  if (!impl_->stored_options.index_credential)
    return fail(not_indexed("credentials", "utxo.index.payment_credential"));
  return page(Walk{impl_->columns.cred, credential,
                   [credential](const UtxoRecord& record) {
                     const auto payment = chain::credentials_of(record.address).payment;
                     return payment && payment->hash == credential;
                   }},
              request);
}

Result<Balance> UtxoState::balance(ByteView address, std::string_view cursor) const {
  const Walk walk = TRY(address_walk(address));
  const kv::Snapshot snapshot = impl_->db.snapshot();
  const Tip tip = TRY(read_tip(impl_->db, impl_->columns.meta, &snapshot));
  Balance balance;
  balance.at = tip.position;
  balance.number = tip.number;
  Entries entries(impl_->db, walk.column, snapshot, walk.owner, {});
  if (cursor.empty()) {
    entries.start();
  } else {
    Bytes from(walk.owner.begin(), walk.owner.end());
    append(from, TRY(parse_cursor(cursor, false, impl_->network.family)));
    entries.start_at(from);
  }
  std::vector<Bytes> taken;
  for (std::uint64_t examined = 0; entries.valid() && examined < kMaxBalance;) {
    taken.clear();
    for (; entries.valid() && taken.size() < kLoadedAtOnce; entries.step())
      taken.emplace_back(entries.key().begin(), entries.key().end());
    examined += taken.size();
    const std::vector<Utxo> loaded = TRY(load(snapshot, walk, taken));
    for (const Utxo& utxo : loaded) {
      ++balance.utxos;
      balance.amount += utxo.record.amount.value;
      for (const chain::Asset& asset : utxo.record.assets)
        balance
            .assets[{Hash224::from(asset.policy), Bytes(asset.name.begin(), asset.name.end())}] +=
            asset.quantity;
    }
  }
  if (entries.valid()) balance.cursor = make_cursor(entries.key(), false);
  TRY(entries.status());
  return balance;
}

}  // namespace coffer::utxo
