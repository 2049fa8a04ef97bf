#include "token/transfer/ledger.h"

#include <algorithm>

#include "sql/postgres_array.h"
#include "token/hold/due.h"
#include "token/reasons.h"

namespace coffer::token {
namespace {

Error transfer_id_taken(const Uuid& id) {
  return refusal(
      "id_taken",
      fmt::format("transaction {} exists with other content; choose a new id", to_string(id)));
}

StoredTransfer as_stored(const Transfer& transfer, const Applied& applied) {
  return {.from = transfer.from,
          .to = transfer.to,
          .amount = transfer.amount,
          .type = transfer.type,
          .created_at_ms = applied.created_at_ms,
          .balance = applied.balance,
          .has_memo = transfer.memo.has_value(),
          .has_metadata = transfer.metadata.has_value(),
          .memo = transfer.memo,
          .metadata = transfer.metadata};
}

}  // namespace

bool is_commit_unknown(const Error& error) {
  return error.code == Code::kUnavailable && !error.retryable;
}

bool is_same_transfer(const Transfer& transfer, const StoredTransfer& stored) {
  const auto is_same_text = [&](const std::optional<std::string>& given,
                                const std::optional<std::string>& kept, bool had) {
    return stored.is_erased ? given.has_value() == had : given == kept;
  };
  return transfer.from == stored.from && transfer.to == stored.to &&
         transfer.amount == stored.amount && transfer.type == stored.type &&
         transfer.created_at_ms.value_or(stored.created_at_ms) == stored.created_at_ms &&
         is_same_text(transfer.memo, stored.memo, stored.has_memo) &&
         is_same_text(transfer.metadata, stored.metadata, stored.has_metadata);
}

bool forget_unsent(std::span<Pending> pending, const Situation& situation) {
  const auto is_missing = [&](const Pending& item) {
    return item.was_sent && !situation.stored.contains(item.transfer->id);
  };
  if (std::ranges::none_of(pending, is_missing)) return false;
  for (Pending& item : pending) item.was_sent = false;
  return true;
}

Result<Situation> read_situation(sql::Transaction& sql, const Community& community,
                                 std::span<const Pending> pending, LockMode mode) {
  return community.is_sqlite() ? read_situation_sqlite(sql, community, pending)
                               : read_situation_postgres(sql, community, pending, mode);
}

Result<std::unordered_set<Uuid, HashOfHash>> find_locked_elsewhere(sql::Transaction& sql,
                                                                   const Community& community,
                                                                   std::span<const Pending> pending,
                                                                   Situation& situation) {
  std::unordered_set<Uuid, HashOfHash> missing, locked;
  for (const Pending& item : pending)
    for (const Uuid& wallet : {item.transfer->from, item.transfer->to})
      if (situation.judge.find(wallet) == nullptr) missing.insert(wallet);
  if (missing.empty() || community.is_sqlite()) return locked;
  sql::PostgresArray ids(sql::PostgresArray::Element::kUuid);
  for (const Uuid& wallet : missing) ids.add(wallet);
  sql::Rows rows = TRY(sql.query(
      community.sql("SELECT w.id FROM unnest($1::uuid[]) AS k (id) JOIN @wallets w ON w.id = k.id"),
      {ids.view()}));
  while (TRY(rows.next())) locked.insert(TRY(community.read_id(rows, 0)));
  return locked;
}

std::vector<std::size_t> decide(std::span<Pending> pending, Situation& situation,
                                bool stop_at_refusal) {
  std::vector<std::size_t> accepted;
  std::unordered_map<Uuid, std::size_t, HashOfHash> here;  // ids that this list brings
  accepted.reserve(pending.size());
  for (std::size_t i = 0; i < pending.size(); ++i) {
    Pending& item = pending[i];
    const Transfer& transfer = *item.transfer;
    const auto repeat = [&](const StoredTransfer& stored, bool is_repeat) -> Result<Applied> {
      if (!is_same_transfer(transfer, stored))
        return std::unexpected(transfer_id_taken(transfer.id));
      return Applied{transfer.id, stored.created_at_ms, stored.balance, is_repeat};
    };
    if (const auto stored = situation.stored.find(transfer.id); stored != situation.stored.end()) {
      item.answer = repeat(stored->second, !item.was_sent);
    } else if (const auto earlier = here.find(transfer.id); earlier != here.end()) {
      const Pending& first = pending[earlier->second];
      item.answer = repeat(as_stored(*first.transfer, *first.answer), true);
    } else if (auto balance = situation.judge.apply(transfer)) {
      item.answer =
          Applied{transfer.id, transfer.created_at_ms.value_or(situation.judge.now_ms()), *balance};
      here.emplace(transfer.id, i);
      accepted.push_back(i);
    } else {
      item.answer = std::unexpected(std::move(balance).error());
    }
    if (stop_at_refusal && !item.answer) break;
  }
  return accepted;
}

Result<bool> expire_holds_in_the_way(sql::Transaction& sql, const Community& community,
                                     std::span<const Pending> pending, std::int64_t now_ms) {
  std::vector<Uuid> wallets;
  for (const Pending& item : pending)
    if (!item.answer && item.answer.error().reason == "balance_held")
      wallets.push_back(item.transfer->from);
  if (wallets.empty()) return false;
  std::ranges::sort(wallets);
  wallets.erase(std::ranges::unique(wallets).begin(), wallets.end());
  return TRY(expire_holds_of(sql, community, wallets, now_ms)) > 0;
}

Result<> insert_transfers(sql::Transaction& sql, const Community& community,
                          std::span<const Pending> pending, std::span<const std::size_t> accepted) {
  if (accepted.empty()) return {};
  return community.is_sqlite() ? insert_sqlite(sql, community, pending, accepted)
                               : insert_postgres(sql, community, pending, accepted, false);
}

Result<> insert_and_commit(sql::Transaction& sql, const Community& community,
                           std::span<const Pending> pending,
                           std::span<const std::size_t> accepted) {
  if (!community.is_sqlite() && !accepted.empty())
    return insert_postgres(sql, community, pending, accepted, true);
  TRY(insert_transfers(sql, community, pending, accepted));
  return sql.commit();
}

Result<> insert_at_once(sql::Transaction& sql, const Community& community,
                        std::span<Pending> pending, std::optional<int> lock_ms) {
  return community.is_sqlite() ? insert_at_once_sqlite(sql, community, pending)
                               : insert_at_once_postgres(sql, community, pending, lock_ms);
}

void answer_backwards(std::span<Pending> pending, Balances balances, std::int64_t now_ms) {
  for (std::size_t i = pending.size(); i-- > 0;) {
    const Transfer& transfer = *pending[i].transfer;
    std::int64_t& sender = balances[transfer.from];
    pending[i].answer = Applied{transfer.id, transfer.created_at_ms.value_or(now_ms), sender};
    if (transfer.from == transfer.to) {
      sender -= transfer.amount;
      continue;
    }
    sender += transfer.amount;
    // Those who only receive are not asked for.
    if (const auto found = balances.find(transfer.to); found != balances.end())
      found->second -= transfer.amount;
  }
}

Result<WalletState> read_wallet_state(const sql::Rows& rows, const Community& community) {
  WalletState state;
  state.id = TRY(community.read_id(rows, 0));
  state.balance = TRY(rows.get<std::int64_t>(1));
  state.is_frozen = TRY(rows.get<bool>(2));
  state.is_deleted = TRY(rows.get<bool>(3));
  state.is_system = TRY(rows.get<bool>(4));
  state.held = TRY(rows.get<std::int64_t>(5));
  state.open_holds = TRY(rows.get<std::int64_t>(6));
  state.per_transfer = TRY(rows.get<std::optional<std::int64_t>>(7));
  state.per_day = TRY(rows.get<std::optional<std::int64_t>>(8));
  state.spent_today = TRY(rows.get<std::int64_t>(9));
  return state;
}

Result<StoredTransfer> read_stored(const sql::Rows& rows, const Community& community) {
  StoredTransfer stored;
  stored.from = TRY(community.read_id(rows, 1));
  stored.to = TRY(community.read_id(rows, 2));
  stored.amount = TRY(rows.get<std::int64_t>(3));
  stored.type = TRY(rows.get<int>(4));
  stored.created_at_ms = TRY(rows.get<std::int64_t>(5));
  stored.memo = TRY(rows.get<std::optional<std::string>>(6));
  stored.metadata = TRY(rows.get<std::optional<std::string>>(7));
  stored.has_memo = TRY(rows.get<bool>(8));
  stored.has_metadata = TRY(rows.get<bool>(9));
  stored.is_erased = TRY(rows.get<bool>(10));
  stored.balance = TRY(rows.get<std::int64_t>(11));
  return stored;
}

Result<std::vector<WalletState>> lock_wallets(sql::Transaction& sql, const Community& community,
                                              std::span<const Uuid> wallets) {
  std::vector<WalletState> states;
  if (!community.is_sqlite()) {
    sql::PostgresArray ids(sql::PostgresArray::Element::kUuid);
    for (const Uuid& wallet : wallets) ids.add(wallet);
    sql::Rows rows = TRY(sql.query(
        community.sql("SELECT id, balance, is_frozen, is_deleted, is_system, held, open_holds,"
                      " per_transfer, per_day, spent_today FROM @lock_wallets($1::uuid[])"),
        {ids.view()}));
    while (TRY(rows.next())) states.push_back(TRY(read_wallet_state(rows, community)));
    return states;
  }
  for (const Uuid& wallet : wallets) {
    sql::Rows rows = TRY(sql.query(
        community.sql("SELECT id, balance, is_frozen, is_deleted, is_system, held, open_holds,"
                      " per_transfer, per_day, spent_today FROM @wallet_states WHERE id = $1"),
        {community.id(wallet)}));
    while (TRY(rows.next())) states.push_back(TRY(read_wallet_state(rows, community)));
  }
  return states;
}

Result<std::optional<StoredTransfer>> find_stored(sql::Reader& sql, const Community& community,
                                                  const Uuid& id) {
  sql::Rows rows = TRY(sql.query(
      community.sql(
          "SELECT t.id, t.from_wallet_id, t.to_wallet_id, t.amount, t.transaction_type::bigint,"
          " t.created_at, d.memo, d.metadata, d.memo_hash IS NOT NULL,"
          " d.metadata_hash IS NOT NULL, d.erased_at IS NOT NULL,"
          " (SELECT e.balance FROM @wallet_entries e"
          "   WHERE e.wallet_id = t.from_wallet_id AND e.transaction_id = t.id"
          "     AND e.booked_at >= coalesce((SELECT o.at FROM @log_outbox o WHERE o.id = t.id),"
          "                                 (SELECT l.at FROM @log_leaves l WHERE l.id = t.id), 0)"
          "   ORDER BY e.booked_at, e.version LIMIT 1)"
          " FROM @transactions t LEFT JOIN @transaction_details d ON d.transaction_id = t.id"
          " WHERE t.id = $1::uuid"),
      {community.id(id)}));
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(read_stored(rows, community));
}

}  // namespace coffer::token
