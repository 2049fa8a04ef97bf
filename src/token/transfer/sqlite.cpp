// Lists of transfers on SQLite, row by row: the transaction has locked everything, and a statement
// costs no wait.
#include "token/details.h"
#include "token/transfer/ledger.h"

namespace coffer::token {
namespace {

sql::Param optional_text(const std::optional<std::string>& text) {
  return text ? sql::Param(*text) : sql::Param(nullptr);
}

}  // namespace

Result<Situation> read_situation_sqlite(sql::Transaction& sql, const Community& community,
                                        std::span<const Pending> pending) {
  const auto first = TRY((sql.one<std::int64_t, std::optional<std::int64_t>>(community.sql(
      "SELECT now_ms, (SELECT total FROM issuance WHERE only_row = 1) FROM token_clock"))));
  if (!first)
    return fail(Code::kCorrupt, "'{}' has lost its clock; restore a backup", community.name());
  Situation situation{Judge(std::get<0>(*first), std::get<1>(*first).value_or(0)), {}};
  std::unordered_set<Uuid, HashOfHash> seen;
  for (const Pending& item : pending) {
    const Transfer& transfer = *item.transfer;
    for (const Uuid& wallet : {transfer.from, transfer.to}) {
      if (!seen.insert(wallet).second) continue;
      for (const WalletState& state : TRY(lock_wallets(sql, community, {&wallet, 1})))
        situation.judge.add(state);
    }
    if (auto stored = TRY(find_stored(sql, community, transfer.id)))
      situation.stored.insert_or_assign(transfer.id, *std::move(stored));
  }
  return situation;
}

Result<> insert_sqlite(sql::Transaction& sql, const Community& community,
                       std::span<const Pending> pending, std::span<const std::size_t> accepted) {
  {
    sql::Batch rows = TRY(sql.batch(community.sql(
        "INSERT INTO transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type,"
        " created_at) VALUES ($1, $2, $3, $4, $5, $6)")));
    for (const std::size_t place : accepted) {
      const Transfer& transfer = *pending[place].transfer;
      TRY(rows.add({community.id(transfer.id), community.id(transfer.from),
                    community.id(transfer.to), transfer.amount, transfer.type,
                    pending[place].answer->created_at_ms}));
    }
    (void)TRY(rows.finish());
  }
  sql::Batch details = TRY(sql.batch(community.sql(
      "INSERT INTO transaction_details (transaction_id, actor, memo, memo_salt, memo_hash,"
      " metadata, metadata_salt, metadata_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")));
  for (const std::size_t place : accepted) {
    const Transfer& transfer = *pending[place].transfer;
    std::optional<SealedDetail> memo, metadata;
    if (transfer.memo) memo = seal_detail(*transfer.memo);
    if (transfer.metadata) metadata = seal_detail(*transfer.metadata);
    const auto salt = [](const std::optional<SealedDetail>& sealed) {
      return sealed ? sql::Param(sealed->salt) : sql::Param(nullptr);
    };
    const auto hash = [](const std::optional<SealedDetail>& sealed) {
      return sealed ? sql::Param(sealed->hash) : sql::Param(nullptr);
    };
    TRY(details.add({community.id(transfer.id), pending[place].actor, optional_text(transfer.memo),
                     salt(memo), hash(memo), optional_text(transfer.metadata), salt(metadata),
                     hash(metadata)}));
  }
  (void)TRY(details.finish());
  return {};
}

Result<> insert_at_once_sqlite(sql::Transaction& sql, const Community& community,
                               std::span<Pending> pending) {
  const std::int64_t now_ms = TRY(database_now(sql, community));
  std::vector<std::size_t> all(pending.size());
  for (std::size_t i = 0; i < pending.size(); ++i) {
    all[i] = i;
    pending[i].answer =
        Applied{.created_at_ms = pending[i].transfer->created_at_ms.value_or(now_ms)};
  }
  TRY(insert_sqlite(sql, community, pending, all));
  Balances balances;
  for (const Pending& item : pending) {
    const Uuid& sender = item.transfer->from;
    if (balances.contains(sender)) continue;
    const auto balance = TRY(sql.value<std::int64_t>(
        community.sql("SELECT balance FROM wallets WHERE id = $1"), {community.id(sender)}));
    balances.emplace(sender, balance.value_or(0));
  }
  TRY(sql.commit());
  answer_backwards(pending, std::move(balances), now_ms);
  return {};
}

}  // namespace coffer::token
