// What happened: pages of transactions, newest first, and one of them put together again. Those
// that wait for a block come first, the latest met first, then the blocks downwards; an invalid one
// stands above the block that was the tip when the wallet met it, so it sinks as blocks come.
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/lifecycle/tx_view.h"
#include "wallet/query/labels.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMaxExaminedEntries = 10'000;
constexpr std::size_t kMaxEdges = 1'000;

constexpr std::string_view kEntryColumns =
    "t.id, t.tx_hash, t.status, t.reason, t.block_height, b.block_timestamp, t.received_time,"
    " t.is_coinbase, t.in_mempool, t.is_stub, y.tip_height,"
    " (SELECT CAST(coalesce(sum(u.amount), 0) AS BIGINT) FROM utxos u"
    "   WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id),"
    " (SELECT CAST(coalesce(sum(i.amount), 0) AS BIGINT) FROM tx_inputs i"
    "   WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id),"
    " (SELECT count(*) FROM tx_inputs i WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id"
    "   AND i.amount IS NULL),"
    " (SELECT count(*) FROM tx_inputs i WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id),"
    " t.chain_position,"
    " EXISTS (SELECT 1 FROM tx_replacements r WHERE r.wallet_id = t.wallet_id"
    "   AND r.replacement_tx_id = t.id),"
    " EXISTS (SELECT 1 FROM tx_replacements r WHERE r.wallet_id = t.wallet_id"
    "   AND r.replaced_tx_id = t.id)";
constexpr std::string_view kEntryJoins =
    " CROSS JOIN sync_state y LEFT JOIN blocks b ON b.block_height = t.block_height";

struct HistoryRow {
  HistoryEntry entry;
  std::int64_t chain_position = 0;
  bool inputs_known = false;  // all of them, and all are this wallet's
  bool replaces = false, is_replaced = false;
};

Result<HistoryRow> read_entry(const sql::Rows& rows) {
  HistoryRow read;
  HistoryEntry& entry = read.entry;
  entry.id = TRY(rows.get<std::uint64_t>(0));
  entry.tx = TRY(rows.get<Hash256>(1));
  entry.status = TRY(read_status(rows, 2));
  entry.reason = TRY(rows.get<std::optional<std::string>>(3)).value_or("");
  entry.height = TRY(rows.get<std::optional<std::uint64_t>>(4));
  entry.block_time_s = TRY(rows.get<std::optional<std::int64_t>>(5));
  if (entry.block_time_s == 0) entry.block_time_s.reset();  // a person did not say it
  entry.received_ms = TRY(rows.get<std::int64_t>(6));
  entry.coinbase = TRY(rows.get<bool>(7));
  entry.in_mempool = TRY(rows.get<bool>(8));
  entry.pruned = TRY(rows.get<bool>(9));
  const std::int64_t tip = TRY(rows.get<std::int64_t>(10));
  if (entry.height && static_cast<std::int64_t>(*entry.height) <= tip)
    entry.confirmations = static_cast<std::uint64_t>(tip) - *entry.height + 1;
  entry.received = TRY(rows.get<std::uint64_t>(11));
  entry.sent = TRY(rows.get<std::uint64_t>(12));
  const std::int64_t foreign = TRY(rows.get<std::int64_t>(13));
  const std::int64_t inputs = TRY(rows.get<std::int64_t>(14));
  read.inputs_known = inputs > 0 && foreign == 0;
  read.chain_position = TRY(rows.get<std::int64_t>(15));
  read.replaces = TRY(rows.get<bool>(16));
  read.is_replaced = TRY(rows.get<bool>(17));
  return read;
}

// What needs a look elsewhere, for some of them: fee and replacements.
Result<> complete(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                  HistoryRow& read) {
  HistoryEntry& entry = read.entry;
  if (read.inputs_known) {
    const auto raw = TRY(sql.value<Bytes>(
        "SELECT raw_tx FROM tx_raw WHERE wallet_id = $1 AND tx_id = $2", {wallet, entry.id}));
    if (raw) {
      const auto decoded = TRY(decode_tx(network, *raw));
      std::uint64_t paid = 0;
      for (const chain::Output& output : decoded->outputs_of(decoded->txs.front()))
        paid += output.amount.value;
      if (paid <= entry.sent) entry.fee = entry.sent - paid;
    }
  }
  const auto edges = [&](std::string_view own, std::string_view other,
                         std::vector<Hash256>& list) -> Result<> {
    sql::Rows rows = TRY(
        sql.query(fmt::format("SELECT t.tx_hash FROM tx_replacements r JOIN transactions t"
                              " ON t.wallet_id = r.wallet_id AND t.id = r.{} WHERE r.wallet_id = $1"
                              " AND r.{} = $2 ORDER BY r.id + 0 LIMIT $3",
                              other, own),
                  {wallet, entry.id, kMaxEdges}));
    while (TRY(rows.next())) list.push_back(TRY(rows.get<Hash256>(0)));
    return {};
  };
  if (read.replaces) TRY(edges("replacement_tx_id", "replaced_tx_id", entry.replaces));
  if (read.is_replaced) TRY(edges("replaced_tx_id", "replacement_tx_id", entry.replaced_by));
  return {};
}

// The last transaction that was looked at: a cursor is both numbers.
struct HistoryCursor {
  std::int64_t chain_position = 0, id = 0;
};

// The history downwards, into a page.
class Walk {
 public:
  Walk(sql::Transaction& sql, WalletId wallet, const HistoryQuery& query)
      : sql_(sql), wallet_(wallet), query_(query) {}

  // True when there may be more.
  Result<bool> run(std::optional<HistoryCursor> after) {
    std::size_t wanted = query_.page.count + 1;
    for (std::size_t examined = 0;;) {
      wanted = rows_to_read(std::min(wanted, kMaxExaminedEntries - examined));
      std::vector<HistoryRow> rows = TRY(read_rows(after, wanted));
      for (HistoryRow& read : rows) {
        if (found_.size() == query_.page.count) return true;
        after = HistoryCursor{read.chain_position, static_cast<std::int64_t>(read.entry.id)};
        last_ = fmt::format("{}.{}", after->chain_position, after->id);
        if (accepts(read.entry.status)) found_.push_back(std::move(read));
      }
      examined += rows.size();
      if (rows.size() < wanted) return false;
      if (examined >= kMaxExaminedEntries) return true;
      wanted = std::min<std::size_t>(4 * wanted, 2'000);
    }
  }

  std::vector<HistoryRow>& found() { return found_; }
  const std::string& last() const { return last_; }

 private:
  bool accepts(TxStatus status) const {
    return query_.statuses.empty() || std::find(query_.statuses.begin(), query_.statuses.end(),
                                                status) != query_.statuses.end();
  }

  // Each part follows an index, and of all parts the newest are taken.
  Result<std::vector<HistoryRow>> read_rows(const std::optional<HistoryCursor>& after,
                                            std::size_t limit) {
    std::vector<sql::Param> params = {wallet_};
    std::vector<std::string> parts;
    if (query_.confirmed.value_or(true)) parts.push_back(in_blocks(after, limit, params));
    if (!query_.confirmed.value_or(false)) add_outside_blocks(after, limit, params, parts);
    sql::Rows rows = TRY(sql_.query(
        fmt::format("SELECT {0} FROM (SELECT * FROM ({1}) p ORDER BY chain_position DESC, id DESC"
                    " LIMIT {2}) t{3} ORDER BY t.chain_position DESC, t.id DESC",
                    kEntryColumns, fmt::join(parts, " UNION ALL "), limit, kEntryJoins),
        params));
    std::vector<HistoryRow> read;
    while (TRY(rows.next())) read.push_back(TRY(read_entry(rows)));
    return read;
  }
  std::string in_blocks(const std::optional<HistoryCursor>& after, std::size_t limit,
                        std::vector<sql::Param>& params) const {
    std::string where = " WHERE wallet_id = $1 AND block_height IS NOT NULL";
    if (after) {
      // As the migration puts them together.
      const std::int64_t height = after->chain_position >> 32;
      const std::int64_t index = after->chain_position & 0xffffffff;
      where += fmt::format(" AND (block_height, block_index, id) < (${}, ${}, ${})",
                           params.size() + 1, params.size() + 2, params.size() + 3);
      params.insert(params.end(), {height, index, after->id});
    }
    // The id is not in the index, and PostgreSQL would sort the whole history by it: so it takes
    // what is at one place of a block together.
    const bool lite = sql_.dialect() == sql::Dialect::kSqlite;
    return fmt::format(
        "SELECT * FROM (SELECT * FROM transactions{} ORDER BY block_height DESC,"
        " block_index DESC{}) b",
        where,
        lite ? fmt::format(", id DESC LIMIT {}", limit)
             : fmt::format(" FETCH FIRST {} ROWS WITH TIES", limit));
  }
  // Many may have one position: a comparison of both columns would make SQLite read all of them.
  void add_outside_blocks(const std::optional<HistoryCursor>& after, std::size_t limit,
                          std::vector<sql::Param>& params, std::vector<std::string>& parts) const {
    const auto part = [&](std::string_view condition) {
      return fmt::format(
          "SELECT * FROM (SELECT * FROM transactions WHERE wallet_id = $1"
          " AND block_height IS NULL{} ORDER BY chain_position DESC, id DESC"
          " LIMIT {}) u{}",
          condition, limit, parts.size());
    };
    if (!after) {
      parts.push_back(part(""));
      return;
    }
    const std::size_t position = params.size() + 1, id = position + 1;
    params.insert(params.end(), {after->chain_position, after->id});
    parts.push_back(part(fmt::format(" AND chain_position = ${} AND id < ${}", position, id)));
    parts.push_back(part(fmt::format(" AND chain_position < ${}", position)));
  }

  sql::Transaction& sql_;
  const WalletId wallet_;
  const HistoryQuery& query_;
  std::vector<HistoryRow> found_;
  std::string last_;
};

}  // namespace

Result<Page<HistoryEntry>> Store::history(WalletId wallet, const HistoryQuery& query) const {
  TRY(check_page(query.page));
  std::optional<HistoryCursor> after;
  if (!query.page.cursor.empty()) {
    const std::vector<std::int64_t> parts = TRY(cursor_parts(query.page.cursor, 2));
    after = HistoryCursor{parts[0], parts[1]};
  }
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Page<HistoryEntry>> {
        TRY(require_wallet(sql, wallet));
        Walk walk(sql, wallet, query);
        Page<HistoryEntry> page;
        if (TRY(walk.run(after))) page.cursor = walk.last();
        for (HistoryRow& read : walk.found()) {
          TRY(complete(sql, network_, wallet, read));
          page.items.push_back(std::move(read.entry));
        }
        TRY(add_labels(sql, wallet, page.items));
        return page;
      },
      kRead);
}

Result<TxDetail> Store::transaction(WalletId wallet, const Hash256& tx) const {
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<TxDetail> {
        TRY(require_wallet(sql, wallet));
        TxDetail detail;
        {
          sql::Rows rows =
              TRY(sql.query(fmt::format("SELECT {} FROM transactions t{} WHERE t.wallet_id = $1"
                                        " AND t.tx_hash = $2",
                                        kEntryColumns, kEntryJoins),
                            {wallet, tx}));
          if (!TRY(rows.next()))
            return fail(Code::kNotFound, "this wallet has no transaction {}", to_display(tx));
          HistoryRow read = TRY(read_entry(rows));
          TRY(complete(sql, network_, wallet, read));
          TRY(add_labels(sql, wallet, {&read.entry, 1}));
          detail.entry = std::move(read.entry);
        }
        sql::Rows inputs = TRY(sql.query(
            "SELECT prev_tx_hash, prev_output_index, amount FROM tx_inputs WHERE wallet_id = $1"
            " AND tx_id = $2 ORDER BY input_index",
            {wallet, detail.entry.id}));
        while (TRY(inputs.next())) {
          TxInputInfo input;
          input.prev.tx = TRY(inputs.get<Hash256>(0));
          input.prev.index = TRY(inputs.get<std::uint32_t>(1));
          input.amount = TRY(inputs.get<std::optional<Amount>>(2));
          detail.inputs.push_back(input);
        }
        detail.raw =
            TRY(sql.value<Bytes>("SELECT raw_tx FROM tx_raw WHERE wallet_id = $1 AND tx_id = $2",
                                 {wallet, detail.entry.id}))
                .value_or(Bytes());
        if (detail.raw.empty()) return detail;
        const auto decoded = TRY(decode_tx(network_, detail.raw));
        std::uint32_t index = 0;
        for (const chain::Output& output : decoded->outputs_of(decoded->txs.front())) {
          TxOutputInfo made;
          made.index = index++;
          made.amount = output.amount;
          made.script.assign(output.address.begin(), output.address.end());
          const auto state = TRY(sql.value<std::string>(
              "SELECT state FROM coin_states WHERE wallet_id = $1 AND tx_id = $2"
              " AND output_index = $3",
              {wallet, detail.entry.id, made.index}));
          if (state) {
            made.mine = true;
            made.state = TRY(parse_state(*state));
          }
          detail.outputs.push_back(std::move(made));
        }
        TRY(add_labels(sql, network_, wallet, detail));
        return detail;
      },
      kRead);
}

}  // namespace coffer::wallet
