// What a wallet watches from now on. Many addresses come in steps, each a commit of its own, so
// that nobody waits long for a turn to write. Everything that can be wrong with what was asked for
// is found within the first step; a crash between two leaves a shorter range, and the same import
// again completes it.
#include <map>

#include "base/check.h"
#include "chain/script.h"
#include "wallet/addresses_impl.h"
#include "wallet/ledger_impl.h"
#include "wallet/scripts.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

// One descriptor that is to be watched.
struct Wanted {
  const Descriptor* descriptor = nullptr;
  std::string text;
  std::uint32_t branch = 0, next_index = 0, watch_to = 0;
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
    for (const Wanted& wanted : list) {
      const auto known = TRY(find(wanted));
      const auto [other, is_new] = branches.emplace(wanted.text, wanted.branch);
      if (!is_new && other->second != wanted.branch) return elsewhere();
      const DescriptorRow row = known.value_or(DescriptorRow{});
      const std::uint32_t to = end_of(wanted, row);
      if (to > row.derived_to && to - row.derived_to > kMaxDerivedAtOnce)
        return fail(Code::kTooLarge, "at most {} addresses can be added at once",
                    kMaxDerivedAtOnce);
    }
    return {};
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

  Result<std::optional<DescriptorRow>> find(const Wanted& wanted) {
    const auto known =
        TRY(sql_.one<std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>(
            "SELECT id, account_id, branch, next_index, derived_to FROM descriptors"
            " WHERE wallet_id = $1 AND descriptor = $2",
            {wallet_, wanted.text}));
    if (!known) return std::nullopt;
    const auto& [id, account, branch, next, derived] = *known;
    if (account != account_id_ || branch != wanted.branch) return elsewhere();
    return DescriptorRow{id, account, branch, wanted.text, next, derived};
  }
  Result<DescriptorRow> find_or_add(const Wanted& wanted, Imported& imported) {
    if (const auto known = TRY(find(wanted))) return *known;
    const auto id = TRY(sql_.value<std::uint64_t>(
        "INSERT INTO descriptors (wallet_id, account_id, branch, descriptor, is_ranged,"
        " next_index, derived_to) VALUES ($1, $2, $3, $4, $5, 0, 0) RETURNING id",
        {wallet_, account_id_, wanted.branch, wanted.text, wanted.descriptor->is_ranged()}));
    CHECK(id.has_value());
    ++imported.descriptors;
    return DescriptorRow{*id, account_id_, wanted.branch, wanted.text, 0, 0};
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
      std::uint32_t next = ranged ? wanted.next_index : 0;
      // Never further than the gap after it is watched.
      if (adding < missing) next = std::min(next, to > gap_ ? to - gap_ : 0);
      // Addresses that were imported by themselves and are the descriptor's now may be in use.
      if (ranged && adding > 0)
        if (const auto used = TRY(last_used(sql_, wallet_, row.id, from)))
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

  sql::Transaction& sql_;
  const chain::Network& network_;
  const WalletId wallet_;
  const std::string_view account_;
  std::uint64_t account_id_ = 0;
  std::uint32_t gap_ = 1;
};

Result<Imported> import_all(sql::Database& database, const chain::Network& network, WalletId wallet,
                            std::string_view account, std::span<const Wanted> list,
                            std::size_t at_once) {
  Imported sum;
  for (bool first = true; first || !list.empty(); first = false) {
    const auto step = database.run_transaction(
        [&](sql::Transaction& sql) -> Result<Step> {
          TRY(share_writing(sql));
          TRY(Ledger(sql, wallet).lock());
          Importer importer(sql, network, wallet, account);
          if (first) TRY(importer.check(list));
          return importer.run(list, at_once);
        },
        kWrite);
    if (!step) return fail(Error(step.error()));
    sum.descriptors += step->imported.descriptors;
    sum.addresses += step->imported.addresses;
    list = list.subspan(step->done);
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
  if (options.next_index.value_or(0) > kMaxIndex || options.watch_to.value_or(0) > kMaxIndex)
    return fail(Code::kInvalidInput, "an index is below 2^31");
  std::vector<Wanted> list;
  for (std::size_t i = 0; i < alternatives.size(); ++i)
    list.push_back({&alternatives[i], alternatives[i].canonical(),
                    options.internal || i == 1 ? 1u : 0u, options.next_index.value_or(0),
                    options.watch_to.value_or(0)});
  return import_all(database_, network_, wallet, options.account, list, options_.step);
}

Result<Imported> Store::import_core(WalletId wallet, const CoreExport& core) {
  std::vector<Wanted> list;
  for (const CoreDescriptor& entry : core.descriptors) {
    Wanted wanted{&entry.descriptor, entry.descriptor.canonical(), entry.internal ? 1u : 0u, 0, 0};
    if (entry.descriptor.is_ranged()) wanted.next_index = entry.next_index.value_or(0);
    if (entry.range) wanted.watch_to = std::min(entry.range->last, kMaxIndex - 1) + 1;
    list.push_back(std::move(wanted));
  }
  return import_all(database_, network_, wallet, ImportOptions().account, list, options_.step);
}

Result<Imported> Store::import_script(WalletId wallet, ByteView script,
                                      const ImportOptions& options) {
  TRY(check_watchable(script));
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Imported> {
        TRY(share_writing(sql));
        TRY(Ledger(sql, wallet).lock());
        const std::uint64_t account = TRY(account_id(sql, wallet, options.account));
        const std::int64_t added = TRY(
            sql.execute("INSERT INTO addresses (wallet_id, account_id, script_type, script_pub_key,"
                        " script_hash, given_out_at) VALUES ($1, $2, $3, $4, $5, coffer_now())"
                        " ON CONFLICT (wallet_id, script_hash) DO NOTHING",
                        {wallet, account, chain::to_string(chain::output_type(script)), script,
                         script_hash(script)}));
        return Imported{0, static_cast<std::size_t>(added)};
      },
      kWrite);
}

}  // namespace coffer::wallet
