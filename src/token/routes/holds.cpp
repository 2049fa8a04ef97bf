// Routes of tokens that are reserved for a recipient.
#include "base/result.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

using http::Response;
using In = api::Parameter::In;

// All are false for a hold that is not there.
Facts facts_of(const TokenCall& call, const std::optional<Hold>& hold) {
  if (!hold) return {};
  Facts facts;
  facts.is_payer = call.who.wallet == hold->wallet;
  facts.is_recipient = call.who.wallet == hold->to;
  facts.is_creator = call.who.name == hold->created_by;
  facts.is_own = facts.is_payer || facts.is_recipient;
  return facts;
}

// The hold of the path, if this may be done with it.
Result<Hold> get_hold(const TokenCall& call, Action action) {
  const Uuid id = TRY(call.id("hold"));
  const auto hold = TRY(call.store.find_hold(id));
  TRY(require(call, action, facts_of(call, hold)));
  if (hold) return *hold;
  Error error = make_error(Code::kNotFound, fmt::format("no hold {}", to_string(id)));
  error.reason = "hold_not_found";
  return fail(std::move(error));
}

Result<Response> open(const TokenCall& call, const HoldRequest& wanted) {
  TRY(require_on_wallet(call, Action::kOpenHold, *wanted.wallet.id));
  const NewHold hold{.id = *wanted.id,
                     .wallet = *wanted.wallet.id,
                     .to = *wanted.to.id,
                     .amount = wanted.amount,
                     .duration_ms = wanted.duration_ms,
                     .memo = wanted.memo};
  const Hold opened = TRY(call.store.open_hold(hold, call.actor()));
  return http::json_response(hold_json(opened), 201);
}

Result<Response> list_holds(const TokenCall& call) {
  const Store::HoldQuery query = TRY(parse_hold_query(call.request.query));
  TRY(require_on_wallet(call, Action::kReadWallet,
                        query.wallet ? *query.wallet : *query.recipient));
  const auto page = TRY(call.store.holds(query));
  return http::json_response(holds_json(page));
}

Result<Response> show_hold(const TokenCall& call) {
  const Hold hold = TRY(get_hold(call, Action::kReadWallet));
  return http::json_response(hold_json(hold));
}

Result<Response> capture(const TokenCall& call, const Capture& wanted) {
  const Hold hold = TRY(get_hold(call, Action::kCaptureHold));
  const Hold captured =
      TRY(call.store.capture_hold(hold.id, *wanted.transaction, wanted.amount, call.actor()));
  return http::json_response(hold_json(captured));
}

Result<Response> release(const TokenCall& call, const Because& because) {
  const Hold hold = TRY(get_hold(call, Action::kReleaseHold));
  const Hold released = TRY(call.store.release_hold(hold.id, call.actor(because.reason)));
  return http::json_response(hold_json(released));
}

}  // namespace

std::vector<TokenRoute> hold_routes() {
  const Verbs& all = verbs();
  const api::Parameter id = path_id("hold", "the hold's id");
  const std::string uuid = R"({"type":"string","format":"uuid"})";
  return {
      making(verb_route(all.hold, "/holds",
                        "Reserve tokens of a wallet for a recipient; the same id again answers as "
                        "the first time",
                        {}, "TokenHold", open)),
      {.path = "/holds",
       .summary = "The holds of a wallet, or those for a recipient",
       .parameters =
           page_parameters({{"wallet", In::kQuery, "whose tokens are held", uuid},
                            {"recipient", In::kQuery, "who may get them", uuid},
                            {"open", In::kQuery, "only open ones", R"({"type":"boolean"})"}}),
       .response_schema = "TokenHoldPage",
       .answer = list_holds},
      {.path = "/holds/{hold}",
       .summary = "One hold",
       .parameters = {id},
       .response_schema = "TokenHold",
       .answer = show_hold},
      verb_route(all.capture, "/holds/{hold}/capture",
                 "Move the tokens to their recipient, all or a part; the rest is free again", {id},
                 "TokenHold", capture),
      verb_route(all.because, "/holds/{hold}/release", "Free the tokens", {id}, "TokenHold",
                 release),
  };
}

}  // namespace coffer::token
