// What an operator does to a transaction afterwards: send it back, or erase its details.
#include "token/account/accounts.h"
#include "token/store_impl.h"
#include "token/transfer/ledger.h"

namespace coffer::token {
namespace {

std::unexpected<Error> refuse_reversal(std::string_view reason, std::string message) {
  return std::unexpected(refusal(reason, std::move(message)));
}

std::unexpected<Error> transaction_not_found(const Uuid& transaction) {
  return refuse_reversal("transaction_not_found",
                         fmt::format("there is no transaction {}", to_string(transaction)));
}

// Which transaction reverses it, and whether it is a reversal itself.
struct ReversalState {
  std::optional<Uuid> reversed_by;
  bool is_reversal = false;
};

Result<ReversalState> read_reversal(sql::Transaction& sql, const Community& community,
                                    const Uuid& transaction) {
  ReversalState state;
  sql::Rows rows =
      TRY(sql.query(community.sql("SELECT transaction_id, reversal_id FROM @reversals"
                                  " WHERE transaction_id = $1::uuid OR reversal_id = $1::uuid"),
                    {community.id(transaction)}));
  while (TRY(rows.next())) {
    if (TRY(community.read_id(rows, 0)) == transaction)
      state.reversed_by = TRY(community.read_id(rows, 1));
    else
      state.is_reversal = true;
  }
  return state;
}

struct Reversal {
  const Uuid& transaction;
  const Uuid& id;
  const Actor& actor;
};

// With the wallets locked. Nothing if it is to be done now.
Result<std::optional<Applied>> find_earlier(sql::Transaction& sql, const Community& community,
                                            const Reversal& reversal, bool was_sent) {
  const ReversalState state = TRY(read_reversal(sql, community, reversal.transaction));
  if (state.is_reversal)
    return refuse_reversal("is_reversal", fmt::format("transaction {} is a reversal itself",
                                                      to_string(reversal.transaction)));
  const auto taken = TRY(find_stored(sql, community, reversal.id));
  if (state.reversed_by == reversal.id && taken)
    return Applied{reversal.id, taken->created_at_ms, taken->balance, !was_sent};
  if (state.reversed_by)
    return refuse_reversal("already_reversed", fmt::format("transaction {} was reversed by {}",
                                                           to_string(reversal.transaction),
                                                           to_string(*state.reversed_by)));
  if (taken)
    return refuse_reversal(
        "id_taken", fmt::format("transaction {} exists; choose a new id", to_string(reversal.id)));
  return std::nullopt;
}

Result<> write_reversal(sql::Transaction& sql, const Community& community, const Reversal& reversal,
                        std::int64_t now_ms) {
  TRY(begin_acting(sql, community, reversal.actor));
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @reversals (transaction_id, reversal_id, reason, actor,"
                    " created_at) VALUES ($1::uuid, $2::uuid, $3, $4, $5)"),
      {community.id(reversal.transaction), community.id(reversal.id), reversal.actor.reason,
       reversal.actor.name, now_ms}));
  TRY(end_acting(sql, community));
  return write_audit(sql, community, reversal.actor, "reverse_transfer",
                     to_string(reversal.transaction),
                     fmt::format(R"({{"reversal":"{}"}})", to_string(reversal.id)), now_ms);
}

Result<Applied> reverse_in(sql::Transaction& sql, const Community& community,
                           const Reversal& reversal, bool& was_sent) {
  const auto original = TRY(find_stored(sql, community, reversal.transaction));
  if (!original) return transaction_not_found(reversal.transaction);
  if (original->from == original->to)
    return refuse_reversal("is_issuance", fmt::format("transaction {} is an issuance and stays",
                                                      to_string(reversal.transaction)));
  const Transfer transfer{
      .id = reversal.id, .from = original->to, .to = original->from, .amount = original->amount};
  std::vector<Pending> pending = {{.transfer = &transfer, .actor = reversal.actor.name}};
  Situation situation = TRY(read_situation(sql, community, pending, LockMode::kWait));
  if (auto earlier = TRY(find_earlier(sql, community, reversal, was_sent))) return *earlier;
  auto accepted = decide(pending, situation);
  if (TRY(expire_holds_in_the_way(sql, community, pending, situation.judge.now_ms()))) {
    situation = TRY(read_situation(sql, community, pending, LockMode::kWait));
    accepted = decide(pending, situation);
  }
  if (!pending[0].answer) return pending[0].answer;
  TRY(insert_transfers(sql, community, pending, accepted));
  TRY(write_reversal(sql, community, reversal, situation.judge.now_ms()));
  // An attempt that surely failed was not sent: what is found then is somebody else's.
  const auto done = sql.commit();
  was_sent = !done && is_commit_unknown(done.error());
  if (!done) return std::unexpected(done.error());
  return pending[0].answer;
}

}  // namespace

Result<Applied> Store::reverse(const Uuid& transaction, const Uuid& reversal_id,
                               const Actor& actor) {
  TRY(check_reason(actor));
  TRY(check_id("reversal", reversal_id));
  if (transaction == reversal_id)
    return fail(Code::kInvalidInput, "reversal id: it must be another than the transaction's");
  const Reversal reversal{transaction, reversal_id, actor};
  bool was_sent = false;
  auto done = impl_->community.database().run_transaction(
      [&](sql::Transaction& sql) { return reverse_in(sql, impl_->community, reversal, was_sent); },
      kWrite);
  if (done) return done;
  Error error = explain(std::move(done).error());
  if (error.reason == "unique")
    return refuse_reversal(
        "id_taken", fmt::format("transaction {} exists; choose a new id", to_string(reversal_id)));
  return std::unexpected(std::move(error));
}

Result<> Store::erase_details(const Uuid& transaction, const Actor& actor) {
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  auto done = community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        if (!TRY(find_stored(sql, community, transaction)))
          return transaction_not_found(transaction);
        const std::int64_t now_ms = TRY(database_now(sql, community));
        const auto erased = TRY(sql.execute(
            community.sql("UPDATE @transaction_details SET memo = NULL, metadata = NULL,"
                          " memo_salt = NULL, metadata_salt = NULL, erased_at = $2"
                          " WHERE transaction_id = $1::uuid AND erased_at IS NULL"),
            {community.id(transaction), now_ms}));
        if (erased == 0) return {};  // there were none, or they are erased already (E3)
        return write_audit(sql, community, actor, "erase_details", to_string(transaction), "",
                           now_ms);
      },
      kWrite);
  if (!done) return std::unexpected(explain(std::move(done).error()));
  return {};
}

}  // namespace coffer::token
