#include "wallet/support/dump.h"
#include "base/result.h"
#include "sql/connection.h"

namespace coffer::wallet::test {
namespace {

std::string brief(const Hash256& hash) {
  return to_hex(hash.view().first(6));
}

std::string line(const Balance& b) {
  return fmt::format(
      "confirmed {} unconfirmed {} immature {} locked {} leased {} spendable {} total {} coins {} "
      "tip {}",
      b.confirmed, b.unconfirmed, b.immature, b.locked, b.leased, b.spendable, b.total, b.coins,
      b.tip_height);
}

struct TxLine {
  Hash256 id{};
  TxStatus status{};
  std::optional<std::uint64_t> height;
  std::string reason;
  bool in_mempool = false, stub = false;
  std::uint64_t received = 0, sent = 0;
  std::string text() const {
    return fmt::format("tx {} {} {} {}{}{} received {} sent {}\n", brief(id), to_string(status),
                       height ? std::to_string(*height) : "-", reason,
                       in_mempool ? " in_mempool" : "", stub ? " stub" : "", received, sent);
  }
};

std::string coin_line(const chain::Outpoint& outpoint, std::uint64_t amount, CoinState state,
                      const std::optional<Hash256>& by, const std::optional<Lease>& lease) {
  return fmt::format("coin {}#{} {} {} by {} lease {}\n", brief(outpoint.tx), outpoint.index,
                     amount, to_string(state), by ? brief(*by) : "-",
                     lease ? fmt::format("{} {}", lease->lock_id[0], lease->expires_at_ms) : "-");
}

std::string joined(std::vector<std::string> lines) {
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}", fmt::join(lines, ""));
}

// All pages of a list.
template <typename T, typename Ask>
std::vector<T> all_pages(Ask ask) {
  std::vector<T> all;
  std::string cursor;
  for (int pages = 0; pages < 10'000; ++pages) {
    auto page = ask(cursor);
    if (!page) {
      ADD_FAILURE() << page.error().message;
      return all;
    }
    for (T& item : page->items) all.push_back(std::move(item));
    cursor = page->cursor;
    if (cursor.empty()) return all;
  }
  ADD_FAILURE() << "pages without end";
  return all;
}

// Lists by age, as they came.
template <typename List, typename Text>
std::string sequence(std::string_view what, const List& list, Text text) {
  std::string line(what);
  for (const auto& item : list) line += " " + text(item);
  return line + "\n";
}
std::string coin_name(const chain::Outpoint& outpoint) {
  return fmt::format("{}#{}", brief(outpoint.tx), outpoint.index);
}
bool by_age(CoinOrder order) {
  return order == CoinOrder::kOldest || order == CoinOrder::kNewest;
}

// The unspent ones come first.
const std::vector<CoinState> kAllStates = {
    CoinState::kConfirmed, CoinState::kUnconfirmed, CoinState::kImmature, CoinState::kPending,
    CoinState::kLocked,    CoinState::kSpent,       CoinState::kDead,     CoinState::kOrphaned};

}  // namespace

std::string dump(const ModelWallet& wallet, const DumpOptions& options) {
  std::string text = line(wallet.balance()) + "\n";
  if (options.script) {
    ModelWallet one = wallet;
    for (auto& [id, entry] : one.txs)
      std::erase_if(entry.coins, [&, &tx = entry.tx](std::uint32_t index) {
        return tx.outputs[index].script != *options.script;
      });
    text += line(one.balance()) + "\n";
  }
  std::vector<std::string> txs, coins, edges, leases;
  for (const auto& [id, entry] : wallet.txs) {
    std::uint64_t received = 0, sent = 0;
    for (const std::uint32_t index : entry.coins) received += entry.tx.outputs[index].amount;
    for (const auto& [input, amount] : entry.amounts) sent += amount;
    txs.push_back(TxLine{id, entry.status, entry.height, entry.reason,
                         entry.in_mempool && options.mempool, entry.stub, received, sent}
                      .text());
  }
  for (const chain::Outpoint& coin : wallet.all_coins()) {
    coins.push_back(coin_line(coin, wallet.amount(coin), wallet.state(coin), wallet.spender(coin),
                              wallet.active_lease(coin)));
    if (options.leases && wallet.active_lease(coin))
      leases.push_back(fmt::format("lease {}#{}\n", brief(coin.tx), coin.index));
  }
  for (const auto& [replaced, replacement] : wallet.edges)
    edges.push_back(fmt::format("edge {} {}\n", brief(replaced), brief(replacement)));
  std::vector<Hash256> history = wallet.by_age();
  std::ranges::reverse(history);
  text += sequence("history", history, brief);
  std::vector<chain::Outpoint> ages = wallet.coins_by_age();
  if (options.order == CoinOrder::kNewest) std::ranges::reverse(ages);
  if (by_age(options.order)) text += sequence("coins", ages, coin_name);
  return text + joined(txs) + joined(coins) + joined(edges) + joined(leases);
}

std::string dump_tables(sql::Database& database) {
  static const std::string statement =
      "SELECT w.name, 'coin' AS what, c.tx_hash AS hash, c.output_index AS number, c.amount AS "
      "value,"
      " c.state AS state, c.spent_by_hash AS other"
      " FROM coin_states c JOIN wallets w ON w.id = c.wallet_id"
      " UNION ALL SELECT w.name, 'tx', t.tx_hash, coalesce(t.block_height, -1),"
      " CASE WHEN t.in_mempool THEN 1 ELSE 0 END + CASE WHEN t.is_stub THEN 2 ELSE 0 END,"
      " t.status || ' ' || coalesce(t.reason, ''), NULL"
      " FROM transactions t JOIN wallets w ON w.id = t.wallet_id"
      " UNION ALL SELECT w.name, 'input', i.prev_tx_hash, i.prev_output_index,"
      " coalesce(i.amount, -1), '', t.tx_hash FROM tx_inputs i JOIN transactions t"
      " ON t.wallet_id = i.wallet_id AND t.id = i.tx_id JOIN wallets w ON w.id = t.wallet_id"
      " UNION ALL SELECT w.name, 'lease', t.tx_hash, u.output_index, l.expires_at, '',"
      " l.external_lock_id FROM utxo_leases l JOIN utxos u"
      " ON u.wallet_id = l.wallet_id AND u.id = l.utxo_id JOIN transactions t"
      " ON t.wallet_id = u.wallet_id AND t.id = u.tx_id JOIN wallets w ON w.id = l.wallet_id"
      " UNION ALL SELECT w.name, 'edge', a.tx_hash, 0, 0, '', b.tx_hash FROM tx_replacements r"
      " JOIN transactions a ON a.wallet_id = r.wallet_id AND a.id = r.replaced_tx_id"
      " JOIN transactions b ON b.wallet_id = r.wallet_id AND b.id = r.replacement_tx_id"
      " JOIN wallets w ON w.id = r.wallet_id"
      " UNION ALL SELECT w.name, 'pruned', p.tx_hash, p.height, 0, p.outputs, NULL"
      " FROM pruned_transactions p JOIN wallets w ON w.id = p.wallet_id"
      " UNION ALL SELECT w.name, 'sum', a.script_hash, s.coins, s.amount, s.kind, NULL"
      " FROM balance_summary s JOIN wallets w ON w.id = s.wallet_id"
      " LEFT JOIN addresses a ON a.wallet_id = s.wallet_id AND a.id = s.address_id"
      " WHERE s.coins <> 0"
      " UNION ALL SELECT w.name, 'prunings', NULL, p.transactions, p.coins, p.received || ' '"
      " || p.spent || ' ' || p.lowest_height || ' ' || p.highest_height || ' ' || p.fixed_height,"
      " NULL FROM pruned_summary p JOIN wallets w ON w.id = p.wallet_id"
      " UNION ALL SELECT '', 'block', header_hash, block_height, 0, '', NULL FROM blocks"
      " UNION ALL SELECT '', 'tip', NULL, tip_height, 0, '', NULL FROM sync_state";
  std::vector<std::string> lines;
  const auto read = [&]() -> Result<> {
    auto connection = TRY(database.acquire());
    sql::Rows rows = TRY(connection.query(statement));
    while (TRY(rows.next())) {
      std::string text = TRY(rows.get<std::string>(0));
      text += ' ';
      text += TRY(rows.get<std::string_view>(1));
      const auto hash = TRY(rows.get<std::optional<Bytes>>(2));
      const std::int64_t number = TRY(rows.get<std::int64_t>(3));
      const std::int64_t value = TRY(rows.get<std::int64_t>(4));
      const std::string state = TRY(rows.get<std::string>(5));
      const auto other = TRY(rows.get<std::optional<Bytes>>(6));
      lines.push_back(fmt::format("{} {} {} {} {} {}\n", text, hash ? to_hex(*hash) : "-", number,
                                  value, state, other ? to_hex(*other) : "-"));
    }
    return {};
  };
  const Result<> done = read();
  if (!done) ADD_FAILURE() << done.error().message;
  return joined(std::move(lines));
}

std::string dump(Store& store, WalletId wallet, const DumpOptions& options) {
  std::string text;
  const auto add_balance = [&](const Scope& scope) {
    const auto balance = store.balance(wallet, scope);
    if (!balance) ADD_FAILURE() << balance.error().message;
    if (balance) text += line(*balance) + "\n";
  };
  add_balance({});
  if (options.script) add_balance({.script = options.script});
  std::vector<std::string> txs, coins, edges, leases;
  const auto history = all_pages<HistoryEntry>([&](const std::string& cursor) {
    HistoryQuery query;
    query.page = {options.page, cursor};
    return store.history(wallet, query);
  });
  text += sequence("history", history, [](const HistoryEntry& entry) { return brief(entry.tx); });
  for (const HistoryEntry& entry : history) {
    txs.push_back(TxLine{entry.tx, entry.status, entry.height, entry.reason,
                         entry.in_mempool && options.mempool, entry.pruned, entry.received,
                         entry.sent}
                      .text());
    for (const Hash256& other : entry.replaced_by)
      edges.push_back(fmt::format("edge {} {}\n", brief(entry.tx), brief(other)));
  }
  const auto add_coins = [&](std::vector<CoinState> states, CoinOrder order) {
    CoinQuery query;
    query.states = std::move(states);
    query.order = order;
    const auto list = all_pages<Coin>([&](const std::string& cursor) {
      query.page = {options.page, cursor};
      return store.coins(wallet, query);
    });
    for (const Coin& coin : list)
      coins.push_back(
          coin_line(coin.outpoint, coin.amount.value, coin.state, coin.spent_by, coin.lease));
    if (by_age(options.order))
      text += sequence("coins", list, [](const Coin& coin) { return coin_name(coin.outpoint); });
  };
  if (by_age(options.order)) {
    add_coins(kAllStates, options.order);
  } else {
    add_coins({kAllStates.begin(), kAllStates.begin() + 4}, options.order);
    add_coins({kAllStates.begin() + 4, kAllStates.end()}, CoinOrder::kOldest);
  }
  const auto ask_leases = [&](const std::string& cursor) {
    return store.leases(wallet, {options.page, cursor});
  };
  if (options.leases)
    for (const LeasedCoin& coin : all_pages<LeasedCoin>(ask_leases))
      leases.push_back(fmt::format("lease {}#{}\n", brief(coin.outpoint.tx), coin.outpoint.index));
  return text + joined(txs) + joined(coins) + joined(edges) + joined(leases);
}

}  // namespace coffer::wallet::test
