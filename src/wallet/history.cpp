// What happened: pages of transactions, newest first, and one of them put together again.
// Unconfirmed and invalid ones come first, the latest met first, then the blocks downwards.
#include "wallet/labels.h"
#include "wallet/store_impl.h"
#include "wallet/tx_view.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMaxExamined = 10'000;
constexpr std::size_t kMaxEdges = 1'000;

constexpr std::string_view kColumns =
    "t.id, t.tx_hash, t.status, t.reason, t.block_height, b.block_timestamp, t.received_time,"
    " t.is_coinbase, t.in_mempool, t.is_stub, y.tip_height,"
    " (SELECT CAST(coalesce(sum(u.amount), 0) AS BIGINT) FROM utxos u"
    "   WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id),"
    " (SELECT CAST(coalesce(sum(i.amount), 0) AS BIGINT) FROM tx_inputs i"
    "   WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id),"
    " (SELECT count(*) FROM tx_inputs i WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id"
    "   AND i.amount IS NULL),"
    " (SELECT count(*) FROM tx_inputs i WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id),"
    " t.block_index,"
    " EXISTS (SELECT 1 FROM tx_replacements r WHERE r.wallet_id = t.wallet_id"
    "   AND r.replacement_tx_id = t.id),"
    " EXISTS (SELECT 1 FROM tx_replacements r WHERE r.wallet_id = t.wallet_id"
    "   AND r.replaced_tx_id = t.id)";
constexpr std::string_view kMore =
    " CROSS JOIN sync_state y LEFT JOIN blocks b ON b.block_height = t.block_height";

struct Read {
  HistoryEntry entry;
  std::uint64_t block_index = 0;
  bool inputs_known = false;  // all of them, and all are this wallet's
  bool replaces = false, is_replaced = false;
};

Result<Read> read_entry(const sql::Rows& rows) {
  Read read;
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
  read.block_index = TRY(rows.get<std::optional<std::uint64_t>>(15)).value_or(0);
  read.replaces = TRY(rows.get<bool>(16));
  read.is_replaced = TRY(rows.get<bool>(17));
  return read;
}

// What needs a look elsewhere, for some of them: fee and replacements.
Result<> complete(sql::Session& sql, const chain::Network& network, WalletId wallet, Read& read) {
  HistoryEntry& entry = read.entry;
  if (read.inputs_known) {
    const auto raw = TRY(sql.value<Bytes>(
        "SELECT raw_tx FROM tx_raw WHERE wallet_id = $1 AND tx_id = $2", {wallet, entry.id}));
    if (raw) {
      const auto decoded = TRY(decode_tx(network, *raw));
      std::uint64_t paid = 0;
      for (const chain::Output& output : decoded->outputs_of(decoded->txs.front()))
        paid += output.coin.value;
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

// A cursor: u.ID among the unconfirmed, c.HEIGHT.INDEX.ID among the confirmed.
struct After {
  bool confirmed = false;
  std::int64_t height = 0, index = 0, id = 0;
};
std::string make_cursor(const Read& read) {
  if (!read.entry.height) return fmt::format("u.{}", read.entry.id);
  return fmt::format("c.{}.{}.{}", *read.entry.height, read.block_index, read.entry.id);
}
Result<After> parse_cursor(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t dot = std::min(text.find('.', from), text.size());
    parts.push_back(text.substr(from, dot - from));
    from = dot + 1;
  }
  After after;
  after.confirmed = parts[0] == "c";
  if (parts.size() != (after.confirmed ? 4 : 2) || (!after.confirmed && parts[0] != "u"))
    return bad_cursor();
  std::vector<std::int64_t> numbers;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const auto number = TRY(number_cursor(parts[i]));
    if (!number) return bad_cursor();
    numbers.push_back(*number);
  }
  if (after.confirmed) after.height = numbers[0], after.index = numbers[1];
  after.id = numbers.back();
  return after;
}

// One half of the history into the page. True when there may be more of this half.
class Walk {
 public:
  Walk(sql::Transaction& sql, WalletId wallet, const HistoryQuery& query)
      : sql_(sql), wallet_(wallet), query_(query) {}

  Result<bool> run(bool confirmed, std::optional<After> after) {
    if (after && after->confirmed != confirmed) after.reset();
    std::size_t look = query_.page.count + 1;
    for (std::size_t examined = 0;;) {
      look = rows_to_read(std::min(look, kMaxExamined - examined));
      std::vector<Read> rows = TRY(read_rows(confirmed, after, look));
      for (Read& read : rows) {
        if (found_.size() == query_.page.count) return true;
        last_ = make_cursor(read);
        after = After{confirmed, static_cast<std::int64_t>(read.entry.height.value_or(0)),
                      static_cast<std::int64_t>(read.block_index),
                      static_cast<std::int64_t>(read.entry.id)};
        if (accepts(read.entry.status)) found_.push_back(std::move(read));
      }
      examined += rows.size();
      if (rows.size() < look) return false;
      if (examined >= kMaxExamined) return true;
      look = std::min<std::size_t>(4 * look, 2'000);
    }
  }

  std::vector<Read>& found() { return found_; }
  const std::string& last() const { return last_; }

 private:
  bool accepts(TxStatus status) const {
    return query_.statuses.empty() || std::find(query_.statuses.begin(), query_.statuses.end(),
                                                status) != query_.statuses.end();
  }
  Result<std::vector<Read>> read_rows(bool confirmed, const std::optional<After>& after,
                                      std::size_t limit) {
    std::string where = confirmed ? " WHERE t.wallet_id = $1 AND t.block_height IS NOT NULL"
                                  : " WHERE t.wallet_id = $1 AND t.block_height IS NULL";
    std::vector<sql::Param> params = {wallet_};
    if (after && confirmed) {
      where += " AND (t.block_height, t.block_index, t.id) < ($2, $3, $4)";
      params.insert(params.end(), {after->height, after->index, after->id});
    } else if (after) {
      where += " AND t.id < $2";
      params.emplace_back(after->id);
    }
    const std::string order = confirmed
                                  ? " ORDER BY t.block_height DESC, t.block_index DESC, t.id DESC"
                                  : " ORDER BY t.id DESC";
    std::string from = "transactions t";
    if (confirmed && sql_.dialect() == sql::Dialect::kPostgres) {
      // The id is not in its index, and it would sort the whole history by it: so it takes what is
      // at one place of a block together, and these few are sorted.
      from = fmt::format(
          "(SELECT * FROM transactions t{} ORDER BY t.block_height DESC, t.block_index DESC"
          " FETCH FIRST {} ROWS WITH TIES) t",
          where, limit);
      where.clear();
    }
    sql::Rows rows = TRY(sql_.query(
        fmt::format("SELECT {} FROM {}{}{}{} LIMIT {}", kColumns, from, kMore, where, order, limit),
        params));
    std::vector<Read> read;
    while (TRY(rows.next())) read.push_back(TRY(read_entry(rows)));
    return read;
  }

  sql::Transaction& sql_;
  const WalletId wallet_;
  const HistoryQuery& query_;
  std::vector<Read> found_;
  std::string last_;
};

}  // namespace

Result<Page<HistoryEntry>> Store::history(WalletId wallet, const HistoryQuery& query) const {
  TRY(check_page(query.page));
  std::optional<After> after;
  if (!query.page.cursor.empty()) after = TRY(parse_cursor(query.page.cursor));
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<Page<HistoryEntry>> {
        TRY(require_wallet(sql, wallet));
        Walk walk(sql, wallet, query);
        bool more = false;
        if (!query.confirmed.value_or(false) && !(after && after->confirmed))
          more = TRY(walk.run(false, after));
        if (!more && query.confirmed.value_or(true)) more = TRY(walk.run(true, after));
        Page<HistoryEntry> page;
        if (more) page.cursor = walk.last();
        for (Read& read : walk.found()) {
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
                                        kColumns, kMore),
                            {wallet, tx}));
          if (!TRY(rows.next()))
            return fail(Code::kNotFound, "this wallet has no transaction {}", shown(tx));
          Read read = TRY(read_entry(rows));
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
          made.amount = output.coin;
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
