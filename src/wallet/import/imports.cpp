// What a wallet watches from now on. Many addresses come in steps, each a commit of its own, so
// that nobody waits long for a turn to write. Everything that can be wrong with what was asked for
// is found within the first step; a crash between two leaves a shorter range, and the same import
// again completes it.
#include <map>
#include <set>

#include "base/check.h"
#include "base/result.h"
#include "chain/script.h"
#include "sql/connection.h"
#include "wallet/descriptor/scripts.h"
#include "wallet/import/addresses_impl.h"
#include "wallet/import/core_export.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

// One descriptor that is to be watched.
struct Wanted {
  const Descriptor* descriptor = nullptr;
  std::string text;
  std::uint32_t branch = 0, next_index = 0, watch_to = 0;
  bool is_active = true;    // false: gives out no addresses if another can
  bool any_branch = false;  // a known one keeps its own
};

struct Step {
  Imported imported;
  std::size_t done = 0;  // of the list
};

class Importer {
 public:
  Importer(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
           std::string_view account)
      : sql_(sql), network_(network), wallet_(wallet), account_(account) {}

  // Errors: those that any of the list would meet on its way.
  Result<> check(std::span<const Wanted> list) {
    TRY(begin());
    std::map<std::string_view, std::uint32_t> branches;
    std::uint64_t keys = 0;
    std::size_t added = 0;
    for (const Wanted& wanted : list) {
      const Bytes& script = wanted.descriptor->parts().script;
      if (!script.empty()) TRY(check_watchable(script));
      const auto known = TRY(find(wanted));
      const auto [other, is_new] = branches.emplace(wanted.text, wanted.branch);
      if (!is_new && other->second != wanted.branch) return elsewhere();
      if (!known) TRY(check_scripts(wanted));
      if (!known && is_new) ++added;
      const DescriptorRow row = known.value_or(DescriptorRow{});
      const std::uint32_t to = end_of(wanted, row);
      const std::uint64_t indexes = to > row.derived_to ? to - row.derived_to : 0;
      keys += indexes * std::max<std::size_t>(1, wanted.descriptor->parts().keys.size());
    }
    if (keys > kMaxDerivedAtOnce)
      return fail(Code::kTooLarge,
                  "one import derives at most {} keys, and this one would {}; watch fewer indexes",
                  kMaxDerivedAtOnce, keys);
    return added == 0 ? Result<>{} : check_room(added);
  }

  // As much of the list as fits.
  Result<Step> run(std::span<const Wanted> list, std::size_t indexes) {
    TRY(begin());
    Step step;
    for (const Wanted& wanted : list) {
      DescriptorRow row = TRY(find_or_add(wanted, step.imported));
      if (!TRY(watch(wanted, row, indexes, step.imported))) return step;
      ++step.done;
    }
    return step;
  }

  // The newest descriptor gives out. Where that is one that the list calls inactive, another one,
  // if there is any, becomes the newest.
  Result<> demote_inactive_descriptors(std::span<const Wanted> list) {
    std::set<std::string_view> inactive;
    for (const Wanted& wanted : list)
      if (!wanted.is_active) inactive.insert(wanted.text);
    if (inactive.empty()) return {};
    for (const int branch : {0, 1}) {
      std::optional<DescriptorRow> active;
      bool is_newest = true;
      {
        sql::Rows rows = TRY(sql_.query(
            fmt::format("SELECT {} FROM descriptors d JOIN wallets w ON w.id = d.wallet_id"
                        " WHERE d.wallet_id = $1 AND d.account_id = $2 AND d.branch = $3"
                        " AND d.is_ranged = $4 ORDER BY d.id DESC",
                        kDescriptorRowColumns),
            {wallet_, account_id_, branch, true}));
        while (!active && TRY(rows.next())) {
          DescriptorRow row = TRY(read_descriptor(rows));
          if (inactive.contains(row.text))
            is_newest = false;
          else
            active = std::move(row);
        }
      }
      if (active && !is_newest) TRY(renew(*active));
    }
    return {};
  }

 private:
  Result<> begin() {
    account_id_ = TRY(account_id(sql_, wallet_, account_));
    gap_ = TRY(sql_.value<std::uint32_t>("SELECT gap_limit FROM wallets WHERE id = $1", {wallet_}))
               .value_or(1);
    return {};
  }
  static std::unexpected<Error> elsewhere() {
    return fail(Code::kConflict,
                "this wallet has the descriptor in another account or for another purpose");
  }
  // The same descriptor in another spelling, or a single one of which the wallet has the script.
  Result<> check_scripts(const Wanted& wanted) {
    const bool ranged = wanted.descriptor->is_ranged();
    const std::vector<Bytes> scripts = TRY(wanted.descriptor->derive(0));
    for (const Bytes& script : scripts) {
      const auto found = TRY(find_script(sql_, wallet_, script));
      if (!found || (ranged && !found->is_ranged)) return {};
      const bool same_purpose = !ranged || wanted.any_branch || found->branch == wanted.branch;
      if (found->account_id == account_id_ && same_purpose) return {};
    }
    return elsewhere();
  }
  Result<> check_room(std::size_t added) {
    const auto known = TRY(sql_.value<std::uint64_t>(
        "SELECT count(*) FROM descriptors WHERE wallet_id = $1", {wallet_}));
    if (known.value_or(0) + added <= kMaxListed) return {};
    return fail(Code::kTooLarge, "a wallet has at most {} descriptors", kMaxListed);
  }

  Result<std::optional<DescriptorRow>> find(const Wanted& wanted) {
    sql::Rows rows = TRY(
        sql_.query(fmt::format("SELECT {} FROM descriptors d JOIN wallets w ON w.id = d.wallet_id"
                               " WHERE d.wallet_id = $1 AND d.descriptor = $2",
                               kDescriptorRowColumns),
                   {wallet_, wanted.text}));
    if (!TRY(rows.next())) return std::nullopt;
    DescriptorRow known = TRY(read_descriptor(rows));
    if (known.account_id != account_id_ || (known.branch != wanted.branch && !wanted.any_branch))
      return elsewhere();
    return known;
  }
  Result<DescriptorRow> find_or_add(const Wanted& wanted, Imported& imported) {
    if (const auto known = TRY(find(wanted))) return *known;
    DescriptorRow row{0, account_id_, wanted.branch, wanted.text, 0, 0, gap_};
    row.id = TRY(add(row, wanted.descriptor->is_ranged()));
    ++imported.descriptors;
    return row;
  }
  Result<std::uint64_t> add(const DescriptorRow& row, bool is_ranged) {
    const auto id = TRY(sql_.value<std::uint64_t>(
        "INSERT INTO descriptors (wallet_id, account_id, branch, descriptor, is_ranged,"
        " next_index, derived_to) VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id",
        {wallet_, row.account_id, row.branch, row.text, is_ranged, row.next_index,
         row.derived_to}));
    CHECK(id.has_value());
    return *id;
  }
  // The same ranged descriptor with a new id. Cost: its addresses.
  Result<> renew(const DescriptorRow& row) {
    constexpr std::string_view kFreeText =
        "UPDATE descriptors SET descriptor = '' WHERE wallet_id = $1 AND id = $2";
    (void)TRY(sql_.execute(kFreeText, {wallet_, row.id}));
    const std::uint64_t id = TRY(add(row, true));
    (void)TRY(
        sql_.execute("UPDATE addresses SET descriptor_id = $3 WHERE wallet_id = $1"
                     " AND descriptor_id = $2",
                     {wallet_, row.id, id}));
    (void)TRY(sql_.execute("DELETE FROM descriptors WHERE wallet_id = $1 AND id = $2",
                           {wallet_, row.id}));
    return {};
  }

  // The first index that need not be watched.
  std::uint32_t end_of(const Wanted& wanted, const DescriptorRow& row) const {
    if (!wanted.descriptor->is_ranged()) return 1;
    const std::uint64_t next = std::max(row.next_index, wanted.next_index);
    const std::uint64_t end = std::max<std::uint64_t>(next + gap_, wanted.watch_to);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(end, kMaxIndex));
  }

  // Takes from `indexes`, the number that this step may still add. True once all is watched.
  Result<bool> watch(const Wanted& wanted, DescriptorRow& row, std::size_t& indexes,
                     Imported& imported) {
    const bool ranged = wanted.descriptor->is_ranged();
    for (;;) {
      const std::uint32_t from = row.derived_to, end = end_of(wanted, row);
      const std::size_t missing = end > from ? end - from : 0;
      const std::size_t adding = std::min(missing, indexes);
      const auto to = static_cast<std::uint32_t>(from + adding);
      imported.addresses += TRY(derive_to(sql_, network_, wallet_, row, to));
      indexes -= adding;
      if (!ranged && adding > 0) TRY(set_single_in_use(wanted, row));
      std::uint32_t next = ranged ? wanted.next_index : 0;
      // Never further than the gap after it is watched.
      if (adding < missing) next = std::min(next, to > gap_ ? to - gap_ : 0);
      // What the wallet has without this descriptor may be in use.
      if (ranged && adding > 0)
        if (const auto used = TRY(last_used(sql_, network_, wallet_, row, from)))
          next = std::max(next, *used + 1);
      if (next > row.next_index) {
        (void)TRY(
            sql_.execute("UPDATE descriptors SET next_index = $3 WHERE wallet_id = $1 AND id = $2",
                         {wallet_, row.id, next}));
        row.next_index = next;
      }
      if (end_of(wanted, row) <= row.derived_to) return true;
      if (indexes == 0) return false;
    }
  }
  // Whoever imports one script of a ranged descriptor by itself has a use for it.
  Result<> set_single_in_use(const Wanted& wanted, const DescriptorRow& row) {
    const std::vector<Bytes> scripts = TRY(wanted.descriptor->derive(0));
    for (const Bytes& script : scripts) {
      const auto found = TRY(find_script(sql_, wallet_, script));
      if (found && found->descriptor_id != row.id)
        (void)TRY(set_in_use(sql_, network_, wallet_, *found, script));
    }
    return {};
  }

  sql::Transaction& sql_;
  const chain::Network& network_;
  const WalletId wallet_;
  const std::string_view account_;
  std::uint64_t account_id_ = 0;
  std::uint32_t gap_ = 1;
};

Result<Imported> import_all(sql::Database& database, const chain::Network& network, WalletId wallet,
                            std::string_view account, const std::vector<Wanted>& all,
                            const StoreOptions& options) {
  Imported sum;
  std::span<const Wanted> list = all;
  for (bool first = true; first || !list.empty(); first = false) {
    const auto step = database.run_transaction(
        [&](sql::Transaction& sql) -> Result<Step> {
          TRY(lock_writers_shared(sql));
          TRY(TxLifecycle(sql, wallet).lock());
          Importer importer(sql, network, wallet, account);
          if (first) TRY(importer.check(list));
          Step made = TRY(importer.run(list, options.step));
          TRY(importer.demote_inactive_descriptors(all));
          return made;
        },
        kWrite);
    if (!step) return fail(Error(step.error()));
    sum.descriptors += step->imported.descriptors;
    sum.addresses += step->imported.addresses;
    list = list.subspan(step->done);
    if (!list.empty() && options.go_on && !options.go_on())
      return fail(Code::kCancelled,
                  "stopped after {} new addresses, which are kept; the same import again does the "
                  "rest",
                  sum.addresses);
  }
  return sum;
}

}  // namespace

Result<Imported> Store::import_descriptor(WalletId wallet, std::string_view text,
                                          const ImportOptions& options) {
  const std::vector<Descriptor> alternatives = TRY(parse_descriptors(network_, text));
  if (alternatives.size() > 2)
    return fail(Code::kInvalidInput,
                "a wallet takes receiving and change addresses: at most two alternatives, not {}",
                alternatives.size());
  if (options.internal && alternatives.size() == 2)
    return fail(Code::kInvalidInput, "the alternatives say themselves which is change");
  if (options.next_index.value_or(0) > kMaxIndex || options.watch_to.value_or(0) > kMaxIndex)
    return fail(Code::kInvalidInput, "an index is below 2^31");
  std::vector<Wanted> list;
  list.reserve(alternatives.size());
  for (std::size_t i = 0; i < alternatives.size(); ++i)
    list.push_back({&alternatives[i], alternatives[i].canonical(),
                    options.internal || i == 1 ? 1u : 0u, options.next_index.value_or(0),
                    options.watch_to.value_or(0)});
  return import_all(database_, network_, wallet, options.account, list, options_);
}

Result<Imported> Store::import_core(WalletId wallet, const CoreExport& core) {
  // The last one gives out: an active one, and of those Core's default kind.
  const auto place = [](const CoreDescriptor& entry) {
    const Descriptor::Parts& parts = entry.descriptor.parts();
    const bool is_default =
        parts.wrap == DescriptorWrap::kNone && parts.function == DescriptorFunction::kWpkh;
    return !entry.active ? 0 : is_default ? 2 : 1;
  };
  std::vector<const CoreDescriptor*> entries;
  for (const int next : {0, 1, 2})
    for (const CoreDescriptor& entry : core.descriptors)
      if (place(entry) == next) entries.push_back(&entry);
  std::vector<Wanted> list;
  for (const CoreDescriptor* entry : entries) {
    Wanted wanted{&entry->descriptor, entry->descriptor.canonical(), entry->internal ? 1u : 0u, 0,
                  0};
    wanted.is_active = entry->active;
    // Core says of active ones only what they are for.
    wanted.any_branch = !entry->active && !entry->internal;
    if (entry->descriptor.is_ranged()) wanted.next_index = entry->next_index.value_or(0);
    if (entry->range) wanted.watch_to = std::min(entry->range->last, kMaxIndex - 1) + 1;
    list.push_back(std::move(wanted));
  }
  return import_all(database_, network_, wallet, ImportOptions().account, list, options_);
}

Result<Imported> Store::import_script(WalletId wallet, ByteView script,
                                      const ImportOptions& options) {
  TRY(check_watchable(script));
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Imported> {
        TRY(lock_writers_shared(sql));
        TRY(TxLifecycle(sql, wallet).lock());
        const std::uint64_t account = TRY(account_id(sql, wallet, options.account));
        if (const auto known = TRY(find_script(sql, wallet, script))) {
          if (known->account_id != account || (options.internal && known->branch != 1u))
            return fail(Code::kConflict,
                        "this wallet has the script in another account or for another purpose");
          (void)TRY(set_in_use(sql, network_, wallet, *known, script));
          return Imported{};
        }
        const std::optional<std::uint32_t> branch =
            options.internal ? std::optional<std::uint32_t>(1) : std::nullopt;
        (void)TRY(
            sql.execute("INSERT INTO addresses (wallet_id, account_id, branch, script_type,"
                        " script_pub_key, script_hash, given_out_at)"
                        " VALUES ($1, $2, $3, $4, $5, $6, coffer_now())",
                        {wallet, account, branch, chain::to_string(chain::output_type(script)),
                         script, script_hash(script)}));
        return Imported{0, 1};
      },
      kWrite);
}

}  // namespace coffer::wallet
