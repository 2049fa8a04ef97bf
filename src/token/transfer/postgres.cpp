// Lists of transfers on PostgreSQL: one wait to lock and read, one to insert and commit.
#include "sql/postgres_array.h"
#include "token/details.h"
#include "token/transfer/ledger.h"

namespace coffer::token {
namespace {

using sql::PostgresArray;
using Element = PostgresArray::Element;

// Large lists are planned anew with their arrays at hand; index scans only, because a kept plan may
// be older than most of the rows (see the mover).
// Their estimates are high enough for JIT, which costs more than it saves.
constexpr const char* kPlanWithIndexes =
    "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)";
constexpr const char* kPlanWithIndexesAndLockFor =
    "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true),"
    " set_config('lock_timeout', $1, true)";

constexpr const char* kLockAndRead =
    "SELECT id, balance, is_frozen, is_deleted, is_system, held, open_holds, per_transfer, per_day,"
    " spent_today FROM @lock_wallets($1::uuid[], $2::boolean)";

constexpr const char* kNowAndIssuance =
    "SELECT @now, (SELECT i.total FROM @issuance i WHERE i.only_row = 1)";

constexpr const char* kFindStoredAll =
    "SELECT t.id, t.from_wallet_id, t.to_wallet_id, t.amount, t.transaction_type::bigint,"
    " t.created_at, d.memo, d.metadata, d.memo_hash IS NOT NULL, d.metadata_hash IS NOT NULL,"
    " d.erased_at IS NOT NULL,"
    " (SELECT e.balance FROM @wallet_entries e"
    "   WHERE e.wallet_id = t.from_wallet_id AND e.transaction_id = t.id"
    "     AND e.booked_at >= coalesce((SELECT o.at FROM @log_outbox o WHERE o.id = t.id),"
    "                                 (SELECT l.at FROM @log_leaves l WHERE l.id = t.id), 0)"
    "   ORDER BY e.booked_at, e.version LIMIT 1)"
    " FROM unnest($1::uuid[]) AS k (id) JOIN @transactions t ON t.id = k.id"
    " LEFT JOIN @transaction_details d ON d.transaction_id = t.id";

constexpr const char* kInsertTransactions =
    "INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type,"
    " created_at) SELECT u.id, u.sender, u.recipient, u.amount, u.type::integer, u.created"
    " FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[])"
    " AS u (id, sender, recipient, amount, type, created)";

// With the database's clock where the client gave no time.
constexpr const char* kInsertTimed =
    "INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type,"
    " created_at) SELECT u.id, u.sender, u.recipient, u.amount, u.type::integer,"
    " coalesce(u.created, n.now_ms) FROM (SELECT @now AS now_ms) n, unnest($1::uuid[],"
    " $2::uuid[], $3::uuid[], $4::bigint[], $5::bigint[], $6::bigint[])"
    " AS u (id, sender, recipient, amount, type, created)";

constexpr const char* kFindTime = "SELECT t.created_at FROM @transactions t WHERE t.id = $1::uuid";

constexpr const char* kFindBalances =
    "SELECT w.id, w.balance FROM unnest($1::uuid[]) AS k (id) JOIN @wallets w ON w.id = k.id";

constexpr const char* kInsertActors =
    "INSERT INTO @transaction_details (transaction_id, actor)"
    " SELECT u.id, u.actor FROM unnest($1::uuid[], $2::text[]) AS u (id, actor)";

constexpr const char* kInsertDetails =
    "INSERT INTO @transaction_details (transaction_id, actor, memo, memo_salt, memo_hash, metadata,"
    " metadata_salt, metadata_hash) SELECT u.* FROM unnest($1::uuid[], $2::text[], $3::text[],"
    " $4::bytea[], $5::bytea[], $6::text[], $7::bytea[], $8::bytea[]) AS u";

// A text with its salt and hash, or three NULLs.
class DetailArrays {
 public:
  void add(const std::optional<std::string>& text) {
    if (!text) {
      for (PostgresArray* array : {&texts, &salts, &hashes}) array->add(nullptr);
      return;
    }
    has_any = true;
    const SealedDetail sealed = seal_detail(*text);
    texts.add(*text);
    salts.add(sealed.salt);
    hashes.add(sealed.hash);
  }

  PostgresArray texts{Element::kText}, salts{Element::kBytea}, hashes{Element::kBytea};
  bool has_any = false;
};

// The columns of transactions and of their details.
class InsertArrays {
 public:
  void add(const Pending& item, std::optional<std::int64_t> created_at_ms) {
    const Transfer& transfer = *item.transfer;
    ids_.add(transfer.id);
    senders_.add(transfer.from);
    recipients_.add(transfer.to);
    amounts_.add(transfer.amount);
    types_.add(transfer.type);
    times_.add(created_at_ms);
    actors_.add(item.actor);
    memos_.add(transfer.memo);
    metadata_.add(transfer.metadata);
  }
  std::vector<sql::Param> rows() const {
    return {ids_.view(),     senders_.view(), recipients_.view(),
            amounts_.view(), types_.view(),   times_.view()};
  }
  std::vector<sql::Param> details() const {
    std::vector<sql::Param> columns = {ids_.view(), actors_.view()};
    if (has_details())
      columns.insert(columns.end(),
                     {memos_.texts.view(), memos_.salts.view(), memos_.hashes.view(),
                      metadata_.texts.view(), metadata_.salts.view(), metadata_.hashes.view()});
    return columns;
  }
  const char* details_statement() const { return has_details() ? kInsertDetails : kInsertActors; }

 private:
  bool has_details() const { return memos_.has_any || metadata_.has_any; }

  PostgresArray ids_{Element::kUuid}, senders_{Element::kUuid}, recipients_{Element::kUuid},
      amounts_{Element::kInt8}, types_{Element::kInt8}, times_{Element::kInt8},
      actors_{Element::kText};
  DetailArrays memos_, metadata_;
};

}  // namespace

Result<Situation> read_situation_postgres(sql::Transaction& sql, const Community& community,
                                          std::span<const Pending> pending, LockMode mode) {
  PostgresArray wallets(Element::kUuid), ids(Element::kUuid);
  std::unordered_set<Uuid, HashOfHash> seen;
  for (const Pending& item : pending) {
    ids.add(item.transfer->id);
    for (const Uuid& wallet : {item.transfer->from, item.transfer->to})
      if (seen.insert(wallet).second) wallets.add(wallet);
  }
  auto answers = TRY(
      sql.run_all({{kPlanWithIndexes, {}},
                   {community.sql(kLockAndRead), {wallets.view(), mode == LockMode::kSkipLocked}},
                   {community.sql(kNowAndIssuance), {}},
                   {community.sql(kFindStoredAll), {ids.view()}}}));
  sql::Rows& clock = answers[2];
  (void)TRY(clock.next());
  Situation situation{Judge(TRY(clock.get<std::int64_t>(0)),
                            TRY(clock.get<std::optional<std::int64_t>>(1)).value_or(0)),
                      {}};
  while (TRY(answers[1].next())) situation.judge.add(TRY(read_wallet_state(answers[1], community)));
  while (TRY(answers[3].next())) {
    const Uuid id = TRY(community.read_id(answers[3], 0));
    situation.stored.insert_or_assign(id, TRY(read_stored(answers[3], community)));
  }
  return situation;
}

Result<> insert_postgres(sql::Transaction& sql, const Community& community,
                         std::span<const Pending> pending, std::span<const std::size_t> accepted,
                         bool commit) {
  InsertArrays arrays;
  for (const std::size_t place : accepted)
    arrays.add(pending[place], pending[place].answer->created_at_ms);
  const auto rows = arrays.rows(), details = arrays.details();
  const sql::Statement statements[] = {{community.sql(kInsertTransactions), rows},
                                       {community.sql(arrays.details_statement()), details}};
  if (commit)
    TRY(sql.commit_with(statements));
  else
    TRY(sql.run_all(statements));
  return {};
}

Result<> insert_at_once_postgres(sql::Transaction& sql, const Community& community,
                                 std::span<Pending> pending, std::optional<int> lock_ms) {
  InsertArrays arrays;
  PostgresArray senders(Element::kUuid);
  std::unordered_set<Uuid, HashOfHash> seen;
  Uuid timed = pending.front().transfer->id;  // one that gets the database's time
  for (const Pending& item : pending) {
    arrays.add(item, item.transfer->created_at_ms);
    if (!item.transfer->created_at_ms) timed = item.transfer->id;
    if (seen.insert(item.transfer->from).second) senders.add(item.transfer->from);
  }
  const auto rows = arrays.rows(), details = arrays.details();
  const std::string lock_for = fmt::format("{}ms", lock_ms.value_or(0));
  auto answers =
      TRY(sql.commit_with({lock_ms ? sql::Statement{kPlanWithIndexesAndLockFor, {lock_for}}
                                   : sql::Statement{kPlanWithIndexes, {}},
                           {community.sql(kInsertTimed), rows},
                           {community.sql(arrays.details_statement()), details},
                           {community.sql(kFindTime), {timed}},
                           {community.sql(kFindBalances), {senders.view()}}}));
  (void)TRY(answers[3].next());
  const std::int64_t now_ms = TRY(answers[3].get<std::int64_t>(0));
  Balances balances;
  while (TRY(answers[4].next())) {
    const Uuid id = TRY(community.read_id(answers[4], 0));
    balances.emplace(id, TRY(answers[4].get<std::int64_t>(1)));
  }
  answer_backwards(pending, std::move(balances), now_ms);
  return {};
}

}  // namespace coffer::token
