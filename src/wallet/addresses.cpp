// Which scripts a wallet watches, and giving out addresses.
#include "base/check.h"
#include "chain/address.h"
#include "chain/script.h"
#include "wallet/addresses_impl.h"
#include "wallet/ledger_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

Result<AddressInfo> read_address(const chain::Network& network, const sql::Rows& rows) {
  AddressInfo address;
  address.id = TRY(rows.get<std::uint64_t>(0));
  address.account = TRY(rows.get<std::string>(1));
  address.script = TRY(rows.get<Bytes>(2));
  address.type = TRY(rows.get<std::string>(3));
  address.branch = TRY(rows.get<std::optional<std::uint32_t>>(4));
  address.index = TRY(rows.get<std::optional<std::uint32_t>>(5));
  address.given_out = TRY(rows.get<std::int64_t>(6))
  != 0;
  address.used = TRY(rows.get<std::int64_t>(7))
  != 0;
  address.text = chain::address_text(network, address.script).value_or("");
  return address;
}

constexpr std::string_view kAddressQuery =
    "SELECT a.id, c.name, a.script_pub_key, a.script_type, a.branch, a.address_index,"
    " CASE WHEN a.given_out_at IS NULL THEN 0 ELSE 1 END,"
    " CASE WHEN EXISTS (SELECT 1 FROM utxos u WHERE u.wallet_id = a.wallet_id"
    "   AND u.address_id = a.id) THEN 1 ELSE 0 END"
    " FROM addresses a JOIN accounts c ON c.wallet_id = a.wallet_id AND c.id = a.account_id ";

constexpr std::uint32_t kMaxPassedOver = 10'000;

// The row of a descriptor, new or known.
struct Added {
  DescriptorRow row;
  bool is_new = false;
};
Result<Added> add_descriptor_row(sql::Transaction& sql, WalletId wallet, std::uint64_t account,
                                 const Descriptor& descriptor, std::uint32_t branch,
                                 std::uint32_t next_index) {
  const std::string text = descriptor.canonical();
  auto known =
      TRY(sql.one<std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t>(
          "SELECT id, account_id, branch, next_index, derived_to FROM descriptors"
          " WHERE wallet_id = $1 AND descriptor = $2",
          {wallet, text}));
  if (known) {
    const auto& [id, its_account, its_branch, next, derived] = *known;
    if (its_account != account || its_branch != branch)
      return fail(Code::kConflict,
                  "this wallet has the descriptor in another account or for another purpose");
    if (next_index > next)
      (void)TRY(
          sql.execute("UPDATE descriptors SET next_index = $3 WHERE wallet_id = $1 AND id = $2",
                      {wallet, id, next_index}));
    return Added{{id, account, branch, text, std::max(next, next_index), derived}, false};
  }
  const auto id = TRY(sql.value<std::uint64_t>(
      "INSERT INTO descriptors (wallet_id, account_id, branch, descriptor, is_ranged, next_index,"
      " derived_to) VALUES ($1, $2, $3, $4, $5, $6, 0) RETURNING id",
      {wallet, account, branch, text, descriptor.is_ranged(), next_index}));
  CHECK(id.has_value());
  return Added{{*id, account, branch, text, next_index, 0}, true};
}

}  // namespace

Result<Imported> Store::add_descriptors(sql::Transaction& sql, WalletId wallet,
                                        std::span<const Descriptor> alternatives,
                                        const ImportOptions& options) {
  const std::uint64_t account = TRY(account_id(sql, wallet, options.account));
  const auto gap =
      TRY(sql.value<std::uint32_t>("SELECT gap_limit FROM wallets WHERE id = $1", {wallet}));
  Imported imported;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    const std::uint32_t branch = options.internal || i == 1 ? 1 : 0;
    const bool ranged = alternatives[i].is_ranged();
    const std::uint32_t next = ranged ? options.next_index.value_or(0) : 0;
    Added added = TRY(add_descriptor_row(sql, wallet, account, alternatives[i], branch, next));
    imported.descriptors += added.is_new ? 1 : 0;
    const std::uint64_t wanted = std::max<std::uint64_t>(std::uint64_t{added.row.next_index} + *gap,
                                                         options.watch_to.value_or(0));
    const std::uint64_t to = ranged ? std::min<std::uint64_t>(wanted, kMaxIndex) : 1;
    imported.addresses +=
        TRY(derive_to(sql, network_, wallet, added.row, static_cast<std::uint32_t>(to)));
    if (!ranged) continue;
    // Addresses that were imported by themselves and are the descriptor's now may be in use.
    if (const auto last = TRY(last_used(sql, wallet, added.row.id, 0)))
      (void)TRY(use_index(sql, network_, wallet, added.row.id, *last));
  }
  return imported;
}

Result<Imported> Store::import_descriptor(WalletId wallet, std::string_view text,
                                          const ImportOptions& options) {
  const std::vector<Descriptor> alternatives = TRY(parse_descriptors(network_, text));
  if (alternatives.size() > 2)
    return fail(Code::kInvalidInput,
                "a wallet takes receiving and change addresses: at most two alternatives, not {}",
                alternatives.size());
  if (options.next_index.value_or(0) > kMaxIndex || options.watch_to.value_or(0) > kMaxIndex)
    return fail(Code::kInvalidInput, "an index is below 2^31");
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Imported> {
        TRY(share_writing(sql));
        TRY(Ledger(sql, wallet).lock());
        return add_descriptors(sql, wallet, alternatives, options);
      },
      kWrite);
}

Result<Imported> Store::import_core(WalletId wallet, const CoreExport& core) {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Imported> {
        TRY(share_writing(sql));
        TRY(Ledger(sql, wallet).lock());
        Imported sum;
        for (const CoreDescriptor& entry : core.descriptors) {
          ImportOptions options;
          options.internal = entry.internal;
          options.next_index = entry.next_index;
          if (entry.range) options.watch_to = std::min(entry.range->last, kMaxIndex - 1) + 1;
          const Imported one = TRY(add_descriptors(sql, wallet, {&entry.descriptor, 1}, options));
          sum.descriptors += one.descriptors;
          sum.addresses += one.addresses;
        }
        return sum;
      },
      kWrite);
}

Result<Imported> Store::import_script(WalletId wallet, ByteView script,
                                      const ImportOptions& options) {
  if (script.empty() || script.size() > 10'000)
    return fail(Code::kInvalidInput, "a script has 1 to 10000 bytes");
  if (chain::is_unspendable(script))
    return fail(Code::kInvalidInput, "nobody can spend from this script");
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

Result<AddressInfo> Store::new_address(WalletId wallet, std::string_view account, bool internal) {
  return database_.run_transaction([&](sql::Transaction& sql) -> Result<AddressInfo> {
    TRY(share_writing(sql));
    TRY(Ledger(sql, wallet).lock());
    const std::uint64_t account_row = TRY(require_account(sql, wallet, account));
    const auto descriptor = TRY(sql.one<std::uint64_t, std::uint32_t>(
        "SELECT id, next_index FROM descriptors WHERE wallet_id = $1 AND account_id = $2"
        " AND branch = $3 AND is_ranged = $4 ORDER BY id DESC LIMIT 1",
        {wallet, account_row, internal ? 1 : 0, true}));
    if (!descriptor)
      return fail(Code::kNotFound,
                  "account {} has no ranged descriptor for {} addresses; import one first", account,
                  internal ? "change" : "receiving");
    const auto [id, first] = *descriptor;
    // What belongs to this wallet by another descriptor is passed over.
    for (std::uint32_t index = first; index < kMaxIndex && index - first < kMaxPassedOver;
         ++index) {
      (void)TRY(use_index(sql, network_, wallet, id, index));
      (void)TRY(
          sql.execute("UPDATE addresses SET given_out_at = coffer_now() WHERE wallet_id = $1"
                      " AND descriptor_id = $2 AND address_index = $3",
                      {wallet, id, index}));
      // combo has several scripts; the newest kind that is its own is the one to show.
      sql::Rows rows = TRY(sql.query(std::string(kAddressQuery) +
                                         "WHERE a.wallet_id = $1 AND a.descriptor_id = $2"
                                         " AND a.address_index = $3 ORDER BY CASE a.script_type"
                                         " WHEN 'p2wpkh' THEN 0 WHEN 'p2sh' THEN 1"
                                         " WHEN 'p2pkh' THEN 2 ELSE 3 END, a.id LIMIT 1",
                                     {wallet, id, index}));
      if (TRY(rows.next())) return read_address(network_, rows);
    }
    return fail(Code::kTooLarge, "the descriptor has no more addresses of its own");
  });
}

Result<Page<AddressInfo>> Store::addresses(WalletId wallet, const PageOptions& page) const {
  TRY(check_page(page));
  const std::int64_t after = TRY(number_cursor(page.cursor))
  .value_or(0);
  auto connection = TRY(database_.acquire());
  TRY(require_wallet(connection, wallet));
  sql::Rows rows = TRY(connection.query(
      std::string(kAddressQuery) + "WHERE a.wallet_id = $1 AND a.id > $2 ORDER BY a.id LIMIT $3",
      {wallet, after, page.count + 1}));
  Page<AddressInfo> answer;
  while (TRY(rows.next())) {
    if (answer.items.size() == page.count) {
      answer.cursor = std::to_string(answer.items.back().id);
      break;
    }
    answer.items.push_back(TRY(read_address(network_, rows)));
  }
  return answer;
}

Result<std::vector<DescriptorInfo>> Store::descriptors(WalletId wallet) const {
  auto connection = TRY(database_.acquire());
  TRY(require_wallet(connection, wallet));
  sql::Rows rows = TRY(connection.query(
      "SELECT d.id, c.name, d.descriptor, d.branch, d.is_ranged, d.next_index, d.derived_to"
      " FROM descriptors d JOIN accounts c ON c.wallet_id = d.wallet_id AND c.id = d.account_id"
      " WHERE d.wallet_id = $1 ORDER BY d.id LIMIT 100000",
      {wallet}));
  std::vector<DescriptorInfo> list;
  while (TRY(rows.next())) {
    DescriptorInfo info;
    info.id = TRY(rows.get<std::uint64_t>(0));
    info.account = TRY(rows.get<std::string>(1));
    info.text = TRY(rows.get<std::string>(2));
    info.internal = TRY(rows.get<std::int64_t>(3))
    == 1;
    info.is_ranged = TRY(rows.get<bool>(4));
    info.next_index = TRY(rows.get<std::uint32_t>(5));
    info.derived_to = TRY(rows.get<std::uint32_t>(6));
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace coffer::wallet
