// Holds: tokens promised to a recipient. Whoever ends a hold locks both wallets before its row, as
// transfers do, so that the two never wait for each other.
#include <algorithm>

#include "token/account/accounts.h"
#include "token/hold/due.h"
#include "token/hold/row.h"
#include "token/store_impl.h"
#include "token/transfer/check.h"
#include "token/transfer/ledger.h"

namespace coffer::token {
namespace {

constexpr std::int64_t kMaxOpenHolds = 1'000;
constexpr std::size_t kExpiredAtOnce = 100;

std::unexpected<Error> refuse_hold(std::string_view reason, std::string message) {
  return std::unexpected(refusal(reason, std::move(message)));
}

std::unexpected<Error> hold_id_taken(const Uuid& id) {
  return refuse_hold(
      "id_taken", fmt::format("hold {} exists with other content; choose a new id", to_string(id)));
}

// An id that somebody took between our look and our insert.
Error explain_taken(Error error, const Uuid& id) {
  if (error.reason == "unique" || error.reason == "TK015") return hold_id_taken(id).error();
  return explain(std::move(error));
}

std::string amount_detail(std::int64_t amount) {
  return fmt::format(R"({{"amount":"{}"}})", amount);
}

Result<> check_new_hold(const NewHold& hold) {
  TRY(check_id("hold", hold.id));
  TRY(check_amount(hold.amount));
  if (hold.wallet == hold.to)
    return fail(Code::kInvalidInput, "to: a wallet cannot hold tokens for itself");
  if (hold.duration_ms < 1 || hold.duration_ms > kMaxHoldMs)
    return fail(Code::kInvalidInput, "duration: {} ms; expected 1 to {}", hold.duration_ms,
                kMaxHoldMs);
  return check_memo(hold.memo);
}

bool is_same_hold(const NewHold& wanted, const Hold& stored) {
  return wanted.wallet == stored.wallet && wanted.to == stored.to &&
         wanted.amount == stored.amount && wanted.memo == stored.memo &&
         wanted.duration_ms == stored.expires_at_ms - stored.created_at_ms;
}

// Many may ask for holds of one wallet, so each waits for its locks once. The same again is safe.
sql::TransactionOptions wait_once(const Community& community) {
  sql::TransactionOptions options = kWrite;
  options.give_up_after_ms = community.database().options().lock_timeout_ms;
  return options;
}

struct Parties {
  std::optional<WalletState> payer, recipient;
};

Result<Parties> lock_parties(sql::Transaction& sql, const Community& community, const Uuid& payer,
                             const Uuid& recipient) {
  Parties parties;
  for (const WalletState& state : TRY(lock_wallets(sql, community, std::array{payer, recipient})))
    (state.id == payer ? parties.payer : parties.recipient) = state;
  return parties;
}

const WalletState* pointer(const std::optional<WalletState>& state) {
  return state ? &*state : nullptr;
}

Result<> check_parties(const NewHold& hold, const Parties& parties) {
  TRY(check_sender(hold.wallet, pointer(parties.payer)));
  TRY(check_recipient(hold.to, pointer(parties.recipient)));
  TRY(check_funds(*parties.payer, hold.amount));
  if (parties.payer->open_holds >= kMaxOpenHolds)
    return refuse_hold("too_many_holds", fmt::format("wallet {} has {} open holds; end one first",
                                                     to_string(hold.wallet), kMaxOpenHolds));
  return {};
}

// The row as it stands in this transaction.
Result<Hold> get_hold(sql::Transaction& sql, const Community& community, const Uuid& id) {
  auto hold = TRY(find_hold_row(sql, community, id));
  if (!hold)
    return refuse_hold("hold_not_found", fmt::format("there is no hold {}", to_string(id)));
  return *std::move(hold);
}

// With both wallets locked, so that nobody who follows the order of locks ends it meanwhile.
Result<Hold> lock_hold(sql::Transaction& sql, const Community& community, const Uuid& id) {
  const Hold hold = TRY(get_hold(sql, community, id));
  TRY(lock_parties(sql, community, hold.wallet, hold.to));
  return get_hold(sql, community, id);
}

std::unexpected<Error> hold_ended(const Hold& hold) {
  return refuse_hold("hold_ended", fmt::format("hold {} is {} already", to_string(hold.id),
                                               to_string(hold.state)));
}

Result<> end_hold(sql::Transaction& sql, const Community& community, const Hold& hold,
                  HoldState state, std::int64_t captured, const std::optional<Uuid>& transaction,
                  std::int64_t now_ms) {
  const auto changed = TRY(sql.execute(
      community.sql("UPDATE @holds SET state = $2, captured = $3, ended_at = $4,"
                    " capture_transaction_id = $5::uuid WHERE id = $1::uuid AND state = 'open'"),
      {community.id(hold.id), to_string(state), captured, std::max(hold.created_at_ms, now_ms),
       community.id(transaction)}));
  return changed == 1 ? Result<>() : hold_ended(hold);
}

// A capture as it was asked for before.
bool is_same_capture(const Hold& hold, const Uuid& transaction,
                     const std::optional<std::int64_t>& amount) {
  return hold.state == HoldState::kCaptured && hold.capture_transaction == transaction &&
         hold.captured == amount.value_or(hold.amount);
}

Result<> check_capture(sql::Transaction& sql, const Community& community, const Hold& hold,
                       const Uuid& transaction, std::int64_t amount, std::int64_t now_ms) {
  if (hold.state == HoldState::kCaptured && hold.capture_transaction == transaction)
    return refuse_hold("id_taken",
                       fmt::format("hold {} was captured with {} as another amount, {}",
                                   to_string(hold.id), to_string(transaction), hold.captured));
  if (hold.state != HoldState::kOpen) return hold_ended(hold);
  if (now_ms >= hold.expires_at_ms)
    return refuse_hold("hold_expired", fmt::format("hold {} has expired", to_string(hold.id)));
  if (amount > hold.amount)
    return refuse_hold("above_hold", fmt::format("hold {}: {} is held, not {}", to_string(hold.id),
                                                 hold.amount, amount));
  if (TRY(find_stored(sql, community, transaction)))
    return refuse_hold(
        "id_taken", fmt::format("transaction {} exists; choose a new id", to_string(transaction)));
  return {};
}

}  // namespace

Result<Hold> Store::open_hold(const NewHold& hold, const Actor& actor) {
  TRY(check_actor(actor));
  TRY(check_new_hold(hold));
  const Community& community = impl_->community;
  auto opened = community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Hold> {
        Parties parties = TRY(lock_parties(sql, community, hold.wallet, hold.to));
        if (auto stored = TRY(find_hold_row(sql, community, hold.id)))
          return is_same_hold(hold, *stored) ? Result<Hold>(*std::move(stored))
                                             : hold_id_taken(hold.id);
        const std::int64_t now_ms = TRY(database_now(sql, community));
        if (parties.payer && parties.payer->open_holds > 0 &&
            TRY(expire_holds_of(sql, community, {&hold.wallet, 1}, now_ms)) > 0)
          parties = TRY(lock_parties(sql, community, hold.wallet, hold.to));
        TRY(check_parties(hold, parties));
        TRY(begin_acting(sql, community, actor));
        (void)TRY(sql.execute(
            community.sql("INSERT INTO @holds (id, wallet_id, to_wallet_id, amount, created_by,"
                          " memo, created_at, expires_at)"
                          " VALUES ($1::uuid, $2::uuid, $3::uuid, $4, $5, $6, $7, $8)"),
            {community.id(hold.id), community.id(hold.wallet), community.id(hold.to), hold.amount,
             actor.name, hold.memo, now_ms, now_ms + hold.duration_ms}));
        TRY(end_acting(sql, community));
        TRY(write_audit(sql, community, actor, "open_hold", to_string(hold.id),
                        amount_detail(hold.amount), now_ms));
        return get_hold(sql, community, hold.id);
      },
      wait_once(community));
  if (!opened) return std::unexpected(explain_taken(std::move(opened).error(), hold.id));
  return opened;
}

Result<Hold> Store::capture_hold(const Uuid& hold, const Uuid& transaction_id,
                                 std::optional<std::int64_t> amount, const Actor& actor) {
  TRY(check_actor(actor));
  TRY(check_id("capture", transaction_id));
  if (amount) TRY(check_amount(*amount));
  const Community& community = impl_->community;
  auto captured = community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Hold> {
        Hold found = TRY(lock_hold(sql, community, hold));
        if (is_same_capture(found, transaction_id, amount)) return found;
        const std::int64_t now_ms = TRY(database_now(sql, community));
        const std::int64_t taken = amount.value_or(found.amount);
        TRY(check_capture(sql, community, found, transaction_id, taken, now_ms));
        TRY(begin_acting(sql, community, actor));
        TRY(end_hold(sql, community, found, HoldState::kCaptured, taken, transaction_id, now_ms));
        (void)TRY(
            sql.execute(community.sql("INSERT INTO @transaction_details (transaction_id, actor)"
                                      " VALUES ($1::uuid, $2)"),
                        {community.id(transaction_id), actor.name}));
        TRY(end_acting(sql, community));
        TRY(write_audit(sql, community, actor, "capture_hold", to_string(hold),
                        amount_detail(taken), now_ms));
        return get_hold(sql, community, hold);
      },
      wait_once(community));
  if (!captured) return std::unexpected(explain_taken(std::move(captured).error(), transaction_id));
  return captured;
}

Result<Hold> Store::release_hold(const Uuid& hold, const Actor& actor) {
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  auto released = community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Hold> {
        Hold found = TRY(lock_hold(sql, community, hold));
        if (found.state == HoldState::kReleased) return found;
        if (found.state != HoldState::kOpen) return hold_ended(found);
        const std::int64_t now_ms = TRY(database_now(sql, community));
        TRY(begin_acting(sql, community, actor));
        TRY(end_hold(sql, community, found, HoldState::kReleased, 0, std::nullopt, now_ms));
        TRY(end_acting(sql, community));
        TRY(write_audit(sql, community, actor, "release_hold", to_string(hold), "", now_ms));
        return get_hold(sql, community, hold);
      },
      wait_once(community));
  if (!released) return std::unexpected(explain(std::move(released).error()));
  return released;
}

Result<std::size_t> Store::expire_holds(std::size_t limit) {
  const Community& community = impl_->community;
  std::size_t ended = 0;
  while (ended < limit) {
    const std::size_t most = std::min(kExpiredAtOnce, limit - ended);
    auto done = community.database().run_transaction(
        [&](sql::Transaction& sql) -> Result<std::size_t> {
          const std::int64_t now_ms = TRY(database_now(sql, community));
          const auto due = TRY(find_due_holds(sql, community, now_ms, most));
          return expire_due(sql, community, due, now_ms);
        },
        kWrite);
    if (!done) return std::unexpected(explain(std::move(done).error()));
    ended += *done;
    // What is left is locked elsewhere, or there is nothing left.
    if (*done < most) break;
  }
  return ended;
}

}  // namespace coffer::token
