// Giving out addresses, and lists of what a wallet watches.
#include <coffer/chain/address.h>
#include "base/result.h"
#include "chain/script.h"
#include "sql/connection.h"
#include "wallet/descriptor/descriptor.h"
#include "wallet/import/addresses_impl.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/query/labels.h"
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
  address.given_out = TRY(rows.get<std::int64_t>(6)) != 0;
  address.used = TRY(rows.get<std::int64_t>(7)) != 0;
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

// The descriptor that an account gives out from: the newest one.
Result<std::optional<DescriptorRow>> giving_out(sql::Transaction& sql, WalletId wallet,
                                                std::uint64_t account, bool internal) {
  sql::Rows rows = TRY(sql.query(
      fmt::format(
          "SELECT {} FROM descriptors d JOIN wallets w ON w.id = d.wallet_id"
          " WHERE d.wallet_id = $1 AND d.account_id = $2 AND d.branch = $3 AND d.is_ranged = $4"
          " ORDER BY d.id DESC LIMIT 1",
          kDescriptorRowColumns),
      {wallet, account, internal ? 1 : 0, true}));
  if (!TRY(rows.next())) return std::nullopt;
  return read_descriptor(rows);
}

struct Fresh {
  WatchedScript row;
  Bytes script;
};
// What can be given out of a descriptor's scripts at an index, which may belong to another
// descriptor for the same purpose: nothing if one of them is in use. combo has several; the newest
// kind is the one to show.
Result<std::optional<Fresh>> fresh_at(sql::Transaction& sql, WalletId wallet,
                                      const DescriptorRow& descriptor,
                                      const std::vector<Bytes>& scripts) {
  const auto rank = [](const Bytes& script) {
    switch (chain::output_type(script)) {
      case chain::OutputType::kP2wpkh: return 0;
      case chain::OutputType::kP2sh: return 1;
      case chain::OutputType::kP2pkh: return 2;
      default: return 3;
    }
  };
  std::optional<Fresh> best;
  for (const Bytes& script : scripts) {
    const auto found = TRY(find_script(sql, wallet, script));
    if (!found) continue;
    if (found->in_use) return std::nullopt;
    if (found->account_id != descriptor.account_id || found->branch != descriptor.branch) continue;
    if (!best || rank(script) < rank(best->script)) best = Fresh{*found, script};
  }
  return best;
}

}  // namespace

Result<AddressInfo> Store::new_address(WalletId wallet, std::string_view account, bool internal) {
  return database_.run_transaction([&](sql::Transaction& sql) -> Result<AddressInfo> {
    TRY(lock_writers_shared(sql));
    TRY(TxLifecycle(sql, wallet).lock());
    const std::uint64_t account_row = TRY(require_account(sql, wallet, account));
    auto row = TRY(giving_out(sql, wallet, account_row, internal));
    if (!row)
      return fail(Code::kNotFound,
                  "account {} has no ranged descriptor for {} addresses; import one first", account,
                  internal ? "change" : "receiving");
    const Descriptor descriptor = TRY(parse_descriptor(network_, row->text));
    const std::uint32_t first = row->next_index;
    for (std::uint32_t index = first; index < kMaxIndex && index - first < kMaxPassedOver;
         ++index) {
      if (index >= row->derived_to)
        (void)TRY(
            derive_to(sql, network_, wallet, *row, std::min(index + 1 + row->gap, kMaxIndex)));
      const std::vector<Bytes> scripts = TRY(descriptor.derive(index));
      const auto fresh = TRY(fresh_at(sql, wallet, *row, scripts));
      if (!fresh) continue;
      (void)TRY(set_in_use(sql, network_, wallet, fresh->row, fresh->script));
      sql::Rows rows =
          TRY(sql.query(std::string(kAddressQuery) + "WHERE a.wallet_id = $1 AND a.id = $2",
                        {wallet, fresh->row.id}));
      if (!TRY(rows.next())) continue;
      AddressInfo made = TRY(read_address(network_, rows));
      TRY(add_labels(sql, network_, wallet, {&made, 1}));
      return made;
    }
    return fail(Code::kTooLarge, "the descriptor has no more addresses that are free");
  });
}

Result<Page<AddressInfo>> Store::addresses(WalletId wallet, const PageOptions& page) const {
  TRY(check_page(page));
  const std::int64_t after = TRY(number_cursor(page.cursor)).value_or(0);
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
  TRY(add_labels(connection, network_, wallet, answer.items));
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
    info.internal = TRY(rows.get<std::int64_t>(3)) == 1;
    info.is_ranged = TRY(rows.get<bool>(4));
    info.next_index = TRY(rows.get<std::uint32_t>(5));
    info.derived_to = TRY(rows.get<std::uint32_t>(6));
    list.push_back(std::move(info));
  }
  return list;
}

}  // namespace coffer::wallet
