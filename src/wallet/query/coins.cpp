// Lists of coins. Unspent ones come from partial indexes, so spent history costs nothing; a page
// looks at a bounded number of rows (E11) and may be short then, with a cursor to go on.
#include <array>
#include <map>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/import/addresses_impl.h"
#include "wallet/query/coin_state.h"
#include "wallet/query/labels.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMaxExaminedCoins = 10'000;

constexpr std::string_view kCoinColumns =
    "u.id, t.tx_hash, u.output_index, u.amount, t.status, u.account_id, u.address_id,"
    " d.script_pub_key, t.block_height, t.is_coinbase, s.tx_hash, s.status, l.external_lock_id,"
    " l.expires_at, y.tip_height, y.mature_height, u.chain_position, u.tx_id";
// What a coin u is asked for besides. Its transaction and address are always there; LEFT tells that
// to PostgreSQL, which otherwise expects few rows and walks through the wallet for each.
constexpr std::string_view kCoinJoins =
    " LEFT JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.tx_id"
    " LEFT JOIN addresses d ON d.wallet_id = u.wallet_id AND d.id = u.address_id"
    " CROSS JOIN sync_state y"
    " LEFT JOIN transactions s ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id"
    " LEFT JOIN utxo_leases l ON l.wallet_id = u.wallet_id AND l.utxo_id = u.id"
    "  AND l.expires_at > coffer_now()";

struct CoinScanRow {
  Coin coin;
  std::uint64_t account_id = 0;
  std::int64_t chain_position = 0, tx_id = 0;
};

Result<CoinScanRow> read_coin(const sql::Rows& rows) {
  CoinScanRow read;
  Coin& coin = read.coin;
  coin.id = TRY(rows.get<std::uint64_t>(0));
  coin.outpoint.tx = TRY(rows.get<Hash256>(1));
  coin.outpoint.index = TRY(rows.get<std::uint32_t>(2));
  coin.amount = TRY(rows.get<Amount>(3));
  const TxStatus made = TRY(read_status(rows, 4));
  read.account_id = TRY(rows.get<std::uint64_t>(5));
  coin.address_id = TRY(rows.get<std::uint64_t>(6));
  coin.script = TRY(rows.get<Bytes>(7));
  coin.height = TRY(rows.get<std::optional<std::uint64_t>>(8));
  coin.coinbase = TRY(rows.get<bool>(9));
  coin.spent_by = TRY(rows.get<std::optional<Hash256>>(10));
  std::optional<TxStatus> spent;
  if (coin.spent_by) spent = TRY(read_status(rows, 11));
  if (const auto lock = TRY(rows.get<std::optional<LockId>>(12))) {
    const std::int64_t expires = TRY(rows.get<std::int64_t>(13));
    coin.lease = Lease{*lock, expires};
  }
  const std::int64_t tip = TRY(rows.get<std::int64_t>(14));
  const std::int64_t mature = TRY(rows.get<std::int64_t>(15));
  coin.state = coin_state({made, spent, coin.height, coin.coinbase, mature});
  read.chain_position = TRY(rows.get<std::int64_t>(16));
  read.tx_id = TRY(rows.get<std::int64_t>(17));
  if (coin.height && static_cast<std::int64_t>(*coin.height) <= tip)
    coin.confirmations = static_cast<std::uint64_t>(tip) - *coin.height + 1;
  return read;
}

bool is_unspent(CoinState state) {
  return state == CoinState::kConfirmed || state == CoinState::kUnconfirmed ||
         state == CoinState::kImmature || state == CoinState::kPending;
}

// The question, with its names looked up.
class Filter {
 public:
  Filter(const CoinQuery& query, std::optional<std::uint64_t> account)
      : query_(query), account_(account) {}

  bool walks_history() const {
    return std::any_of(query_.states.begin(), query_.states.end(),
                       [](CoinState state) { return !is_unspent(state); });
  }
  bool accepts(const CoinScanRow& read) const {
    const Coin& coin = read.coin;
    if (account_ && read.account_id != *account_) return false;
    if (query_.spendable && !is_spendable(coin)) return false;
    if (query_.states.empty() ? !is_unspent(coin.state) && !query_.spendable
                              : std::find(query_.states.begin(), query_.states.end(), coin.state) ==
                                    query_.states.end())
      return false;
    if (query_.leased && *query_.leased != coin.lease.has_value()) return false;
    return within(coin.amount.value, query_.min_amount, query_.max_amount) &&
           within(coin.confirmations, query_.min_confirmations, query_.max_confirmations);
  }

 private:
  static bool within(std::uint64_t value, const std::optional<std::uint64_t>& min,
                     const std::optional<std::uint64_t>& max) {
    return (!min || value >= *min) && (!max || value <= *max);
  }
  bool is_spendable(const Coin& coin) const {
    if (coin.lease) return false;
    if (coin.state == CoinState::kConfirmed) return true;
    return query_.chain_pending &&
           (coin.state == CoinState::kUnconfirmed || coin.state == CoinState::kPending);
  }

  const CoinQuery& query_;
  const std::optional<std::uint64_t> account_;
};

bool by_amount(CoinOrder order) {
  return order == CoinOrder::kLargest || order == CoinOrder::kSmallest;
}
bool descends(CoinOrder order) {
  return order == CoinOrder::kLargest || order == CoinOrder::kNewest;
}

// By what a list goes: the amount and the id, or the place of the transaction in the chain, its id
// (of those that wait for a block, and where persons named one place for several) and the output.
using CoinCursor = std::array<std::int64_t, 3>;
CoinCursor key_of(CoinOrder order, const CoinScanRow& read) {
  const auto whole = [](std::uint64_t number) { return static_cast<std::int64_t>(number); };
  if (by_amount(order)) return {whole(read.coin.amount.value), whole(read.coin.id), 0};
  return {read.chain_position, read.tx_id, whole(read.coin.outpoint.index)};
}
std::size_t parts_of_key(CoinOrder order) {
  return by_amount(order) ? 2 : 3;
}

// A cursor: the order, then the key of the last coin that was looked at.
std::string make_cursor(CoinOrder order, const CoinCursor& after) {
  std::string text = std::to_string(static_cast<int>(order));
  for (std::size_t i = 0; i < parts_of_key(order); ++i) text += fmt::format(".{}", after[i]);
  return text;
}
Result<CoinCursor> parse_cursor(CoinOrder order, std::string_view text) {
  const std::vector<std::int64_t> parts = TRY(cursor_parts(text, 1 + parts_of_key(order)));
  if (parts[0] != static_cast<int>(order) || (by_amount(order) && parts[1] < 0))
    return bad_cursor();
  CoinCursor after{};
  std::copy(parts.begin() + 1, parts.end(), after.begin());
  return after;
}

// Which coins, in which order: $1 wallet, then the rest. They are chosen before anything else is
// looked up, so that no plan reads more of the wallet.
std::string coin_sql(sql::Dialect dialect, const CoinQuery& query, bool history, bool has_address,
                     bool goes_on, std::size_t rows) {
  std::string from = "SELECT * FROM utxos";
  // SQLite would walk through the spent coins too, by the index of all of them.
  if (dialect == sql::Dialect::kSqlite && !history && !by_amount(query.order))
    from +=
        has_address ? " INDEXED BY idx_utxos_unspent_by_address" : " INDEXED BY idx_utxos_unspent";
  from += " WHERE wallet_id = $1";
  int next = 2;
  if (!history) from += " AND spent_by_tx_id IS NULL";
  if (has_address) from += fmt::format(" AND address_id = ${}", next++);
  const std::string_view sign = descends(query.order) ? "<" : ">";
  const std::string_view direction = descends(query.order) ? " DESC" : "";
  std::string chosen;
  if (by_amount(query.order)) {
    if (query.min_amount) from += fmt::format(" AND amount >= ${}", next++);
    if (query.max_amount) from += fmt::format(" AND amount <= ${}", next++);
    const std::string tail = fmt::format(" ORDER BY amount{0}, id{0} LIMIT {1}", direction, rows);
    // In two parts: a comparison of both columns would make SQLite read all coins of one amount.
    chosen = !goes_on ? from + tail
                      : fmt::format(
                            "SELECT * FROM ({0} AND amount = ${1} AND id {3} ${2}{4}) e"
                            " UNION ALL SELECT * FROM ({0} AND amount {3} ${1}{4}) r{4}",
                            from, next, next + 1, sign, tail);
  } else {
    // Of an address SQLite would look for history in the whole wallet, in its order.
    const std::string_view position =
        history && has_address ? "chain_position + 0" : "chain_position";
    if (goes_on)
      from += fmt::format(" AND ({}, tx_id, output_index) {} (${}, ${}, ${})", position, sign, next,
                          next + 1, next + 2);
    chosen = fmt::format("{0} ORDER BY {1}{2}, tx_id{2}, output_index{2} LIMIT {3}", from, position,
                         direction, rows);
  }
  return fmt::format("SELECT {} FROM ({}) u{}", kCoinColumns, chosen, kCoinJoins);
}

struct CoinScan {
  WalletId wallet;
  std::size_t rows = 0;
  std::optional<std::uint64_t> address;
  std::optional<CoinCursor> after;
};
Result<std::vector<CoinScanRow>> read_coins(sql::Transaction& sql, const CoinQuery& query,
                                            const Filter& filter, const CoinScan& scan) {
  std::vector<sql::Param> params = {scan.wallet};
  if (scan.address) params.emplace_back(*scan.address);
  if (by_amount(query.order)) {
    if (query.min_amount) params.emplace_back(*query.min_amount);
    if (query.max_amount) params.emplace_back(*query.max_amount);
  }
  for (std::size_t i = 0; scan.after && i < parts_of_key(query.order); ++i)
    params.emplace_back((*scan.after)[i]);
  sql::Rows rows =
      TRY(sql.query(coin_sql(sql.dialect(), query, filter.walks_history(), scan.address.has_value(),
                             scan.after.has_value(), scan.rows),
                    params));
  std::vector<CoinScanRow> read;
  while (TRY(rows.next())) read.push_back(TRY(read_coin(rows)));
  std::sort(read.begin(), read.end(), [&](const CoinScanRow& a, const CoinScanRow& b) {
    const CoinCursor left = key_of(query.order, a), right = key_of(query.order, b);
    return descends(query.order) ? right < left : left < right;
  });
  return read;
}

// Names of the accounts that a list met.
class AccountNames {
 public:
  AccountNames(sql::Reader& sql, WalletId wallet) : sql_(sql), wallet_(wallet) {}
  Result<std::string> name(std::uint64_t id) {
    if (const auto known = names_.find(id); known != names_.end()) return known->second;
    auto name = TRY(sql_.value<std::string>(
        "SELECT name FROM accounts WHERE wallet_id = $1 AND id = $2", {wallet_, id}));
    return names_[id] = name.value_or("");
  }

 private:
  sql::Reader& sql_;
  const WalletId wallet_;
  std::map<std::uint64_t, std::string> names_;
};

}  // namespace

Result<Page<Coin>> find_coins(sql::Transaction& sql, WalletId wallet, const CoinQuery& query) {
  TRY(check_page(query.page));
  std::optional<CoinCursor> at;
  if (!query.page.cursor.empty()) at = TRY(parse_cursor(query.order, query.page.cursor));
  TRY(require_wallet(sql, wallet));
  std::optional<std::uint64_t> account, address;
  if (query.account) account = TRY(require_account(sql, wallet, *query.account));
  if (query.script) {
    address = TRY(sql.value<std::uint64_t>(
        "SELECT id FROM addresses WHERE wallet_id = $1 AND script_hash = $2",
        {wallet, script_hash(*query.script)}));
    if (!address) return fail(Code::kNotFound, "this wallet does not watch that address or script");
  }
  const Filter filter(query, account);
  if (filter.walks_history() && by_amount(query.order))
    return fail(Code::kInvalidInput,
                "coins that are not unspent are listed by age: oldest or newest first");
  AccountNames names(sql, wallet);
  Page<Coin> page;
  // Without filters the first look is enough; with them it goes on in larger steps.
  std::size_t wanted = query.page.count + 1;
  for (std::size_t examined = 0;;) {
    wanted = rows_to_read(std::min(wanted, kMaxExaminedCoins - examined));
    const std::vector<CoinScanRow> rows =
        TRY(read_coins(sql, query, filter, {wallet, wanted, address, at}));
    for (const CoinScanRow& read : rows) {
      if (page.items.size() == query.page.count) {
        page.cursor = make_cursor(query.order, *at);
        return page;
      }
      at = key_of(query.order, read);
      if (!filter.accepts(read)) continue;
      page.items.push_back(read.coin);
      page.items.back().account = TRY(names.name(read.account_id));
    }
    examined += rows.size();
    if (rows.size() < wanted) return page;
    if (examined >= kMaxExaminedCoins) {
      page.cursor = make_cursor(query.order, *at);
      return page;
    }
    wanted = std::min<std::size_t>(4 * wanted, 2'000);
  }
}

Result<std::vector<Coin>> coins_leased_by(sql::Transaction& sql, WalletId wallet,
                                          const LockId& lock_id) {
  const std::string text = fmt::format(
      "SELECT {} FROM (SELECT c.* FROM utxo_leases x{} CROSS JOIN utxos c WHERE x.wallet_id = $1"
      " AND x.external_lock_id = $2 AND x.expires_at > coffer_now() AND c.wallet_id = x.wallet_id"
      " AND c.id = x.utxo_id ORDER BY c.id LIMIT {}) u{}",
      kCoinColumns, by_lock_id(sql), kMaxLeasedAtOnce, kCoinJoins);
  std::vector<CoinScanRow> found;
  {
    sql::Rows rows = TRY(sql.query(text, {wallet, lock_id}));
    while (TRY(rows.next())) found.push_back(TRY(read_coin(rows)));
  }
  AccountNames names(sql, wallet);
  std::vector<Coin> coins;
  for (CoinScanRow& read : found) {
    coins.push_back(std::move(read.coin));
    coins.back().account = TRY(names.name(read.account_id));
  }
  return coins;
}

Result<Page<Coin>> Store::coins(WalletId wallet, const CoinQuery& query) const {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Page<Coin>> {
        Page<Coin> page = TRY(find_coins(sql, wallet, query));
        TRY(add_labels(sql, network_, wallet, page.items));
        return page;
      },
      kRead);
}

Result<Coin> Store::coin(WalletId wallet, const chain::Outpoint& outpoint) const {
  // One snapshot: its account and labels are of the same moment as its state.
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Coin> {
        TRY(require_wallet(sql, wallet));
        CoinScanRow read;
        {
          sql::Rows rows = TRY(sql.query(
              fmt::format("SELECT {} FROM utxos u{} WHERE u.wallet_id = $1 AND t.tx_hash = $2"
                          " AND u.output_index = $3",
                          kCoinColumns, kCoinJoins),
              {wallet, outpoint.tx, outpoint.index}));
          if (!TRY(rows.next()))
            return fail(Code::kNotFound, "this wallet has no coin {}", to_display(outpoint));
          read = TRY(read_coin(rows));
        }
        read.coin.account = TRY(AccountNames(sql, wallet).name(read.account_id));
        TRY(add_labels(sql, network_, wallet, {&read.coin, 1}));
        return std::move(read.coin);
      },
      kRead);
}

}  // namespace coffer::wallet
