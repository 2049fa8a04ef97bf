// Balances (W11, W13): from the summary, corrected by the few coins whose state the clock or the
// tip decides. Cost: the rows of the accounts, the coinbases of the last 100 blocks, the active
// leases.
#include <map>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/import/addresses_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

struct Where {
  std::optional<std::uint64_t> account, address;
};

Result<Where> resolve(sql::Reader& sql, WalletId wallet, const Scope& scope) {
  Where where;
  if (scope.account) where.account = TRY(require_account(sql, wallet, *scope.account));
  if (!scope.script) return where;
  const auto row = TRY(sql.one<std::uint64_t, std::uint64_t>(
      "SELECT id, account_id FROM addresses WHERE wallet_id = $1 AND script_hash = $2",
      {wallet, script_hash(*scope.script)}));
  if (!row) return fail(Code::kNotFound, "this wallet does not watch that address or script");
  if (where.account && *where.account != std::get<1>(*row))
    return fail(Code::kNotFound, "the address belongs to another account");
  where.address = std::get<0>(*row);
  where.account = std::get<1>(*row);
  return where;
}

// Everything a balance is made of, in one statement, each row with what it is. There is no tip
// without the wallet.
std::string parts_of(const Where& where, std::vector<sql::Param>& params) {
  std::string summary, coins;
  if (where.account) {
    params.emplace_back(*where.account);
    summary = " AND account_id = $3";
    coins = where.address ? " AND c.address_id = $2" : " AND c.account_id = $3";
  }
  return "SELECT 'tip' AS part, 0 AS coins, tip_height AS amount FROM sync_state"
         " WHERE EXISTS (SELECT 1 FROM wallets WHERE id = $1)"
         " UNION ALL SELECT kind, coins, amount FROM balance_summary"
         " WHERE wallet_id = $1 AND address_id = $2" +
         summary +
         " UNION ALL SELECT 'immature', 0, CAST(coalesce(sum(c.amount), 0) AS BIGINT)"
         " FROM transactions b CROSS JOIN coin_states c WHERE b.wallet_id = $1 AND b.is_coinbase"
         " AND c.wallet_id = b.wallet_id AND c.tx_id = b.id"
         " AND b.block_height IS NOT NULL AND b.block_height > (SELECT mature_height FROM "
         "sync_state)"
         " AND c.state = 'immature'" +
         coins +
         " UNION ALL SELECT 'leased ' || c.state, 0, CAST(sum(c.amount) AS BIGINT)"
         " FROM utxo_leases l JOIN coin_states c ON c.wallet_id = l.wallet_id AND c.id = l.utxo_id"
         " WHERE l.wallet_id = $1 AND l.expires_at > coffer_now()"
         " AND c.state IN ('confirmed', 'unconfirmed')" +
         coins + " GROUP BY c.state";
}

Result<Balance> read_balance(sql::Reader& sql, WalletId wallet, const Where& where) {
  std::vector<sql::Param> params = {wallet, where.address.value_or(0)};
  const std::string text = parts_of(where, params);
  std::map<std::string, std::int64_t, std::less<>> sums;
  Balance balance;
  sql::Rows rows = TRY(sql.query(text, params));
  while (TRY(rows.next())) {
    balance.coins += TRY(rows.get<std::uint64_t>(1));
    sums[TRY(rows.get<std::string>(0))] += TRY(rows.get<std::int64_t>(2));
  }
  if (!sums.contains("tip")) return fail(Code::kNotFound, "there is no wallet {}", wallet);
  const auto sum = [&](std::string_view part) {
    const auto found = sums.find(part);
    return found == sums.end() ? 0 : static_cast<std::uint64_t>(found->second);
  };
  balance.tip_height = sums["tip"];
  balance.immature = sum("immature");
  balance.confirmed = sum("confirmed") - balance.immature;
  balance.unconfirmed = sum("unconfirmed");
  balance.locked = sum("locked");
  balance.leased = sum("leased confirmed") + sum("leased unconfirmed");
  balance.spendable = balance.confirmed - sum("leased confirmed");
  balance.total = balance.confirmed + balance.unconfirmed + balance.immature + balance.locked;
  return balance;
}

}  // namespace

Result<Balance> Store::balance(WalletId wallet, const Scope& scope) const {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Balance> {
        const bool whole = !scope.account && !scope.script;
        if (whole) return read_balance(sql, wallet, {});
        TRY(require_wallet(sql, wallet));
        const Where where = TRY(resolve(sql, wallet, scope));
        return read_balance(sql, wallet, where);
      },
      kRead);
}

}  // namespace coffer::wallet
