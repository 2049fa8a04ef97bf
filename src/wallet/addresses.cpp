// Giving out addresses, and lists of what a wallet watches.
#include "chain/address.h"
#include "wallet/addresses_impl.h"
#include "wallet/labels.h"
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

}  // namespace

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
      if (!TRY(rows.next())) continue;
      AddressInfo made = TRY(read_address(network_, rows));
      TRY(add_labels(sql, network_, wallet, {&made, 1}));
      return made;
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
