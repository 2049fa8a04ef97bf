// Balances (W11, W13): from the summary, corrected by the few coins whose state the clock or the
// tip decides. Cost: the rows of the accounts, the coinbases of the last 100 blocks, the active
// leases.
#include "wallet/addresses_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

struct Where {
  std::optional<std::uint64_t> account, address;
};

Result<Where> resolve(sql::Session& sql, WalletId wallet, const Scope& scope) {
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

Result<> add_summary(sql::Session& sql, WalletId wallet, const Where& where, Balance& balance) {
  std::string text =
      "SELECT kind, coins, amount FROM balance_summary WHERE wallet_id = $1 AND address_id = $2";
  if (where.account) text += " AND account_id = $3";
  std::vector<sql::Param> params = {wallet, where.address.value_or(0)};
  if (where.account) params.emplace_back(*where.account);
  sql::Rows rows = TRY(sql.query(text, params));
  while (TRY(rows.next())) {
    const std::string_view kind = TRY(rows.get<std::string_view>(0));
    balance.coins += TRY(rows.get<std::uint64_t>(1));
    const std::uint64_t amount = TRY(rows.get<std::uint64_t>(2));
    (kind == "confirmed" ? balance.confirmed
     : kind == "locked"  ? balance.locked
                         : balance.unconfirmed) += amount;
  }
  return {};
}

// The condition on a coin `c` of a view, and its parameters after $1.
std::string narrowed(const Where& where, std::vector<sql::Param>& params) {
  if (where.address) {
    params.emplace_back(*where.address);
    return " AND c.address_id = $2";
  }
  if (!where.account) return "";
  params.emplace_back(*where.account);
  return " AND c.account_id = $2";
}

}  // namespace

Result<Balance> Store::balance(WalletId wallet, const Scope& scope) const {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Balance> {
        TRY(require_wallet(sql, wallet));
        const Where where = TRY(resolve(sql, wallet, scope));
        Balance balance;
        balance.tip_height = TRY(sql.value<std::int64_t>("SELECT tip_height FROM sync_state"))
        .value_or(-1);
        TRY(add_summary(sql, wallet, where, balance));

        std::vector<sql::Param> params = {wallet};
        const std::string narrow = narrowed(where, params);
        const auto immature = TRY(sql.value<std::uint64_t>(
            "SELECT CAST(coalesce(sum(c.amount), 0) AS BIGINT) FROM transactions b"
            " JOIN coin_states c ON c.wallet_id = b.wallet_id AND c.tx_id = b.id"
            " WHERE b.wallet_id = $1 AND b.is_coinbase AND b.block_height IS NOT NULL"
            " AND b.block_height > (SELECT mature_height FROM sync_state)"
            " AND c.state = 'immature'" +
                narrow,
            params));
        balance.immature = immature.value_or(0);
        balance.confirmed -= balance.immature;

        sql::Rows leased =
            TRY(sql.query("SELECT c.state, CAST(sum(c.amount) AS BIGINT) FROM utxo_leases l"
                          " JOIN coin_states c ON c.wallet_id = l.wallet_id AND c.id = l.utxo_id"
                          " WHERE l.wallet_id = $1 AND l.expires_at > coffer_now()"
                          " AND c.state IN ('confirmed', 'unconfirmed')" +
                              narrow + " GROUP BY c.state",
                          params));
        std::uint64_t leased_confirmed = 0;
        while (TRY(leased.next())) {
          const CoinState state = TRY(read_state(leased, 0));
          const std::uint64_t amount = TRY(leased.get<std::uint64_t>(1));
          balance.leased += amount;
          if (state == CoinState::kConfirmed) leased_confirmed += amount;
        }
        balance.spendable = balance.confirmed - leased_confirmed;
        balance.total = balance.confirmed + balance.unconfirmed + balance.immature + balance.locked;
        return balance;
      },
      kRead);
}

}  // namespace coffer::wallet
