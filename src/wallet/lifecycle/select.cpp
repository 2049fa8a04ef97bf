// Choosing coins and leasing them as one unit (W8).
//
// Who chooses has the wallet's turn to write, so that two never choose the same. Those who lease by
// name, and the follower, do not wait for it: each coin is locked and looked at again before it is
// taken, and one that was lost meanwhile is replaced by another. Cost: the coins that are looked at
// in the order asked for, and three statements for each that is taken.
#include "base/result.h"
#include "chain/bitcoin_limits.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

constexpr int kMaxRounds = 10;
constexpr int kMaxPages = 100;  // each looks at 10,000 coins at most (E11)

class Selection {
 public:
  Selection(sql::Transaction& sql, WalletId wallet, const LeaseSelection& wanted)
      : sql_(sql), wallet_(wallet), wanted_(wanted) {
    query_.account = wanted.account;
    query_.order = wanted.order;
    query_.chain_pending = wanted.chain_pending;
    query_.page.count = kMaxPage;
  }

  Result<SelectedCoins> run() {
    TRY(TxLifecycle(sql_, wallet_).lock());
    SelectedCoins selected;
    const auto until = TRY(sql_.value<std::int64_t>("SELECT coffer_now() + CAST($1 AS BIGINT)",
                                                    {wanted_.duration_ms}));
    until_ = until.value_or(0);
    selected.expires_at_ms = std::numeric_limits<std::int64_t>::max();
    std::vector<Coin> mine = TRY(held());
    TRY(take(std::move(mine), selected));
    for (int round = 0; selected.amount < wanted_.amount; ++round) {
      if (round == kMaxRounds)
        return fail(Error{Code::kUnavailable, true, "others were faster; try again"});
      std::vector<Coin> chosen = TRY(choose(selected));
      TRY(take(std::move(chosen), selected));
    }
    return selected;
  }

 private:
  // What the lock id has leased and may still spend.
  Result<std::vector<Coin>> held() {
    std::vector<Coin> coins = TRY(coins_leased_by(sql_, wallet_, wanted_.lock_id));
    std::erase_if(coins, [&](const Coin& coin) {
      return !fits(coin.state) || (wanted_.account && coin.account != *wanted_.account);
    });
    return coins;
  }
  bool fits(CoinState state) const {
    const bool may_wait = state == CoinState::kUnconfirmed || state == CoinState::kPending;
    return state == CoinState::kConfirmed || (wanted_.chain_pending && may_wait);
  }

  // Coins that are worth what is missing. Errors: kConflict, kTooLarge.
  Result<std::vector<Coin>> choose(const SelectedCoins& selected) {
    CoinQuery free = query_;
    free.spendable = true;
    std::vector<Coin> chosen;
    std::uint64_t sum = selected.amount;
    TRY(each_page(free, [&](Coin& coin) {
      sum += coin.amount.value;
      chosen.push_back(std::move(coin));
      return sum < wanted_.amount && selected.coins.size() + chosen.size() < kMaxLeasedAtOnce;
    }));
    if (sum >= wanted_.amount) return chosen;
    if (selected.coins.size() + chosen.size() >= kMaxLeasedAtOnce)
      return fail(Code::kTooLarge, "it takes more than {} coins", kMaxLeasedAtOnce);
    return fail(Code::kConflict, "only {} satoshi may be spent now, not {}", sum, wanted_.amount);
  }

  // Leases those that are still free, in the order of their ids.
  Result<> take(std::vector<Coin> coins, SelectedCoins& selected) {
    std::sort(coins.begin(), coins.end(), [](auto& a, auto& b) { return a.id < b.id; });
    for (Coin& coin : coins) {
      if (!TRY(is_still_free(coin))) continue;
      const auto taken =
          TRY(sql_.value<std::int64_t>(kTakeLease, {wallet_, coin.id, wanted_.lock_id, until_}));
      if (!taken) continue;
      coin.lease = Lease{wanted_.lock_id, *taken};
      selected.expires_at_ms = std::min(selected.expires_at_ms, *taken);
      selected.amount += coin.amount.value;
      selected.coins.push_back(std::move(coin));
    }
    return {};
  }
  Result<bool> is_still_free(Coin& coin) {
    if (sql_.dialect() == sql::Dialect::kSqlite) return true;  // nobody else writes
    TRY(lock_coin(sql_, wallet_, coin.id));
    const auto state = TRY(sql_.value<std::string>(
        "SELECT state FROM coin_states WHERE wallet_id = $1 AND id = $2", {wallet_, coin.id}));
    if (!state) return false;
    coin.state = TRY(parse_state(*state));
    return fits(coin.state);
  }

  // Until it has had enough.
  template <typename Each>
  Result<> each_page(CoinQuery query, Each each) {
    for (int pages = 0; pages < kMaxPages; ++pages) {
      Page<Coin> page = TRY(find_coins(sql_, wallet_, query));
      for (Coin& coin : page.items)
        if (!each(coin)) return {};
      if (page.cursor.empty()) return {};
      query.page.cursor = page.cursor;
    }
    return fail(Code::kTooLarge, "too many coins do not fit; choose by another order or account");
  }

  sql::Transaction& sql_;
  const WalletId wallet_;
  const LeaseSelection& wanted_;
  CoinQuery query_;
  std::int64_t until_ = 0;
};

}  // namespace

Result<SelectedCoins> Store::select_and_lease(WalletId wallet, const LeaseSelection& selection) {
  TRY(check_duration(selection.duration_ms));
  if (selection.amount < 1 || selection.amount > chain::kMaxMoney)
    return fail(Code::kInvalidInput, "an amount is from 1 to {} satoshi", chain::kMaxMoney);
  return database_.run_transaction(
      [&](sql::Transaction& sql) { return Selection(sql, wallet, selection).run(); }, kWrite);
}

}  // namespace coffer::wallet
