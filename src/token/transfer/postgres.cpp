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
constexpr const char* kPlanWithIndexes = "SELECT set_config('enable_seqscan', 'off', true)";

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
  PostgresArray ids(Element::kUuid), senders(Element::kUuid), recipients(Element::kUuid),
      amounts(Element::kInt8), types(Element::kInt8), times(Element::kInt8), actors(Element::kText);
  DetailArrays memos, metadata;
  for (const std::size_t place : accepted) {
    const Transfer& transfer = *pending[place].transfer;
    ids.add(transfer.id);
    senders.add(transfer.from);
    recipients.add(transfer.to);
    amounts.add(transfer.amount);
    types.add(transfer.type);
    times.add(pending[place].answer->created_at_ms);
    actors.add(pending[place].actor);
    memos.add(transfer.memo);
    metadata.add(transfer.metadata);
  }
  const std::vector<sql::Param> rows = {ids.view(),     senders.view(), recipients.view(),
                                        amounts.view(), types.view(),   times.view()};
  std::vector<sql::Param> details = {ids.view(), actors.view()};
  const bool has_details = memos.has_any || metadata.has_any;
  if (has_details)
    details.insert(details.end(),
                   {memos.texts.view(), memos.salts.view(), memos.hashes.view(),
                    metadata.texts.view(), metadata.salts.view(), metadata.hashes.view()});
  const sql::Statement statements[] = {
      {community.sql(kInsertTransactions), rows},
      {community.sql(has_details ? kInsertDetails : kInsertActors), details}};
  if (commit)
    TRY(sql.commit_with(statements));
  else
    TRY(sql.run_all(statements));
  return {};
}

}  // namespace coffer::token
