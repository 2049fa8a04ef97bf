// The history of a wallet, of a type, or of all, in pages (T7). A wallet has an index on each side;
// a page merges both. What is left is chosen after rows were read, so each page examines a bounded
// number of them (E11).
#include "token/query/by_index.h"
#include "token/query/page.h"
#include "token/query/transaction_rows.h"

namespace coffer::token {
namespace {

constexpr std::int64_t kEndOfTime = std::numeric_limits<std::int64_t>::max();

// A page begins at $2, $3 and goes on up to the time $4; $1 is the wallet or the type. Times may be
// equal for many, so rows are ordered by id within one.
#define COFFER_COLUMNS "id, from_wallet_id, to_wallet_id, amount, transaction_type, created_at"
#define COFFER_NEWEST                                        \
  " created_at >= $4 AND (created_at, id) <= ($2, $3::uuid)" \
  " ORDER BY created_at DESC, id DESC LIMIT $5"
#define COFFER_OLDEST                                       \
  " created_at < $4 AND (created_at, id) >= ($2, $3::uuid)" \
  " ORDER BY created_at, id LIMIT $5"
#define COFFER_BOTH_SIDES(range, order)                                                        \
  "SELECT " COFFER_COLUMNS " FROM (SELECT * FROM (SELECT " COFFER_COLUMNS                      \
  " FROM @transactions WHERE from_wallet_id = $1::uuid AND" range                              \
  ") a UNION ALL SELECT * FROM (SELECT " COFFER_COLUMNS                                        \
  " FROM @transactions WHERE to_wallet_id = $1::uuid AND from_wallet_id <> $1::uuid AND" range \
  ") b) t ORDER BY " order " LIMIT $5"
// The parameter $1 is a type, or 0 for all.
#define COFFER_OF_TYPE \
  "SELECT " COFFER_COLUMNS " FROM @transactions WHERE transaction_type = $1 AND"
#define COFFER_OF_ALL "SELECT " COFFER_COLUMNS " FROM @transactions WHERE 0 = $1 AND"

constexpr char kWalletNewest[] = COFFER_BOTH_SIDES(COFFER_NEWEST, "created_at DESC, id DESC");
constexpr char kWalletOldest[] = COFFER_BOTH_SIDES(COFFER_OLDEST, "created_at, id");
constexpr char kTypeNewest[] = COFFER_OF_TYPE COFFER_NEWEST;
constexpr char kTypeOldest[] = COFFER_OF_TYPE COFFER_OLDEST;
constexpr char kAllNewest[] = COFFER_OF_ALL COFFER_NEWEST;
constexpr char kAllOldest[] = COFFER_OF_ALL COFFER_OLDEST;
constexpr char kByTransactionId[] =
    "SELECT " COFFER_COLUMNS " FROM @transactions WHERE id = $1::uuid";

#undef COFFER_OF_ALL
#undef COFFER_OF_TYPE
#undef COFFER_BOTH_SIDES
#undef COFFER_OLDEST
#undef COFFER_NEWEST
#undef COFFER_COLUMNS

Result<> check_history_query(const HistoryQuery& query) {
  TRY(check_page(query.page));
  if (query.counterparty && !query.wallet)
    return fail(Code::kInvalidInput, "counterparty: name the wallet as well");
  if (query.type && (*query.type < 1 || *query.type > 99))
    return fail(Code::kInvalidInput, "type: {}; expected 1 to 99", *query.type);
  return {};
}

CursorSeal seal_of(const HistoryQuery& query) {
  CursorSeal seal("history");
  seal.add(query.wallet).add(query.counterparty).add(std::int64_t{query.type.value_or(0)});
  seal.add(query.from_ms).add(query.to_ms).add(std::int64_t{query.newest_first});
  return seal;
}

class HistoryWalk {
 public:
  HistoryWalk(const Community& community, const HistoryQuery& query)
      : community_(community),
        query_(query),
        from_ms_(std::max<std::int64_t>(query.from_ms.value_or(0), 0)),
        to_ms_(std::max<std::int64_t>(query.to_ms.value_or(kEndOfTime), 0)) {}

  Place start() const {
    if (!query_.newest_first) return {.number = from_ms_};
    Place newest{.number = to_ms_ - 1};
    newest.id.fill(0xff);
    return newest;
  }

  Result<std::vector<Transaction>> fetch(sql::Transaction& sql, const Place& from,
                                         std::size_t limit) const {
    const std::int64_t until = query_.newest_first ? from_ms_ : to_ms_;
    const auto id = community_.id(from.id);
    sql::Rows rows =
        query_.wallet
            ? TRY(query_by_index(sql, community_, text(kWalletNewest, kWalletOldest),
                                 {community_.id(*query_.wallet), from.number, id, until, limit}))
            : TRY(query_by_index(
                  sql, community_,
                  query_.type ? text(kTypeNewest, kTypeOldest) : text(kAllNewest, kAllOldest),
                  {query_.type.value_or(0), from.number, id, until, limit}, IndexOrder::kWithTies));
    std::vector<Transaction> found;
    while (TRY(rows.next())) found.push_back(TRY(read_transaction(community_, rows)));
    return found;
  }

  bool accepts(const Transaction& each) const {
    if (query_.type && each.type != *query_.type) return false;
    if (!query_.counterparty) return true;
    return (each.from == *query_.wallet && each.to == *query_.counterparty) ||
           (each.to == *query_.wallet && each.from == *query_.counterparty);
  }

 private:
  std::string_view text(const char* newest, const char* oldest) const {
    return community_.sql(query_.newest_first ? newest : oldest);
  }

  const Community& community_;
  const HistoryQuery& query_;
  const std::int64_t from_ms_, to_ms_;
};

}  // namespace

Result<Page<Transaction>> Store::history(const HistoryQuery& query) const {
  TRY(check_history_query(query));
  const Community& community = impl_->community;
  const CursorSeal seal = seal_of(query);
  const HistoryWalk walk(community, query);
  const Place start = TRY(seal.open(query.page.cursor)).value_or(walk.start());
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Page<Transaction>> {
        auto page = TRY(walk_page<Transaction>(
            query.page.count, start, seal,
            [&](const Place& from, std::size_t limit) { return walk.fetch(sql, from, limit); },
            [&](const Transaction& each) { return walk.accepts(each); },
            [](const Transaction& each) {
              return Place{.number = each.created_at_ms, .id = each.id};
            }));
        TRY(describe_transactions(sql, community, page.items));
        return page;
      },
      kRead);
}

Result<std::optional<Transaction>> Store::find_transaction(const Uuid& transaction) const {
  const Community& community = impl_->community;
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<std::optional<Transaction>> {
        sql::Rows rows =
            TRY(sql.query(community.sql(kByTransactionId), {community.id(transaction)}));
        if (!TRY(rows.next())) return std::nullopt;
        Transaction found = TRY(read_transaction(community, rows));
        TRY(describe_transactions(sql, community, {&found, 1}));
        return found;
      },
      kRead);
}

}  // namespace coffer::token
