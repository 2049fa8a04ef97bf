#include "token/reasons.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "token/community.h"

namespace coffer::token {
namespace {

using enum Code;

constexpr std::array kReasons = {
    Reason{"TK001", "created_in_future", kInvalidInput},
    Reason{"TK002", "sender_not_found", kNotFound},
    Reason{"TK003", "sender_frozen", kConflict},
    Reason{"TK004", "sender_deleted", kConflict},
    Reason{"TK005", "not_a_system_wallet", kConflict},
    Reason{"TK006", "recipient_not_found", kNotFound},
    Reason{"TK007", "recipient_frozen", kConflict},
    Reason{"TK008", "recipient_deleted", kConflict},
    Reason{"TK009", "insufficient_balance", kConflict},
    Reason{"TK010", "balance_held", kConflict},
    Reason{"TK011", "issuance_overflow", kConflict},
    Reason{"TK012", "balance_overflow", kConflict},
    Reason{"TK013", "above_transfer_limit", kConflict},
    Reason{"TK014", "above_daily_limit", kConflict},
    Reason{"TK015", "id_taken", kConflict},
    Reason{"TK020", "immutable", kConflict},
    Reason{"TK021", "balance_is_derived", kConflict},
    Reason{"TK022", "written_by_triggers", kConflict},
    Reason{"TK023", "immutable", kConflict},
    Reason{"TK024", "has_history", kConflict},
    Reason{"TK025", "truncate_refused", kConflict},
    Reason{"TK026", "mover_disabled", kUnavailable},
    Reason{"TK030", "wallet_has_owner", kConflict},
    Reason{"TK031", "wallet_not_found", kNotFound},
    Reason{"TK032", "wallet_frozen", kConflict},
    Reason{"TK033", "system_wallet", kConflict},
    Reason{"TK034", "already_deleted", kConflict},
    Reason{"TK040", "too_many_holds", kConflict},
    Reason{"TK041", "hold_ended", kConflict},
    Reason{"TK042", "hold_expired", kConflict},
    Reason{"TK050", "transaction_not_found", kNotFound},
    Reason{"TK051", "not_a_reversal", kConflict},
    Reason{"TK052", "is_issuance", kConflict},
    Reason{"TK053", "is_reversal", kConflict},
    Reason{"TK054", "already_logged", kConflict},
    Reason{"TK060", "details_erased", kConflict},
    Reason{"TK061", "key_immutable", kConflict},
    Reason{"TK070", "log_order", kConflict},
    Reason{"TK071", "log_order", kConflict},
    Reason{"TK072", "log_order", kConflict},
    Reason{"TK073", "log_order", kConflict},
    // What the store refuses before the schema could.
    Reason{"", "user_not_found", kNotFound},
    Reason{"", "hold_not_found", kNotFound},
    Reason{"", "key_not_found", kNotFound},
    Reason{"", "above_hold", kConflict},
    Reason{"", "already_reversed", kConflict},
    Reason{"", "name_taken", kConflict},
    Reason{"", "identity_taken", kConflict},
    Reason{"", "not_logged_yet", kConflict},
    Reason{"", "too_many_waiting", kUnavailable},
    Reason{"", "already_seeded", kConflict},
};

}  // namespace

std::span<const Reason> reasons() {
  return kReasons;
}

const Reason* find_reason(std::string_view state) {
  if (state.empty()) return nullptr;
  const auto* found = std::ranges::find(kReasons, state, &Reason::state);
  return found == kReasons.end() ? nullptr : found;
}

Error refusal(std::string_view reason_name, std::string message) {
  const auto* found = std::ranges::find(kReasons, reason_name, &Reason::name);
  CHECK(found != kReasons.end());
  Error error = make_error(found->code, std::move(message));
  error.reason = found->name;
  return error;
}

Error explain(Error error) {
  if (const Reason* reason = find_reason(error.reason)) {
    error.reason = reason->name;
    error.code = reason->code;
    error.retryable = info(reason->code).retryable;
  }
  return error;
}

}  // namespace coffer::token
