// Routes of wallets, their history and statements.
#include "base/result.h"
#include "token/json/csv.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

using http::Response;
using In = api::Parameter::In;

Result<Uuid> readable_wallet(const TokenCall& call) {
  const Uuid id = TRY(call.id("wallet"));
  TRY(require_on_wallet(call, Action::kReadWallet, id));
  return id;
}

Error no_wallet(const Uuid& id) {
  Error error = make_error(Code::kNotFound, fmt::format("no wallet {}", to_string(id)));
  error.reason = "wallet_not_found";
  return error;
}

Result<Response> list_wallets(const TokenCall& call) {
  TRY(require(call, Action::kListUsers));
  const PageOptions page = TRY(parse_page(call.request.query));
  const auto found = TRY(call.store.wallets(page));
  return http::json_response(wallets_json(found));
}

Result<Response> show_wallet(const TokenCall& call) {
  const Uuid id = TRY(readable_wallet(call));
  const auto wallet = TRY(call.store.find_wallet(id));
  if (!wallet) return fail(no_wallet(id));
  return http::json_response(wallet_json(*wallet));
}

Result<Response> balance(const TokenCall& call) {
  const Uuid id = TRY(readable_wallet(call));
  const auto at = TRY(parse_moment(call.request.query));
  if (at) {
    const std::int64_t then = TRY(call.store.balance_at(id, *at));
    return http::json_response(balance_json(id, then, at));
  }
  const auto wallet = TRY(call.store.find_wallet(id));
  if (!wallet) return fail(no_wallet(id));
  return http::json_response(balance_json(id, wallet->balance, std::nullopt));
}

Result<Response> freeze(const TokenCall& call, const Because& because) {
  TRY(require(call, Action::kFreeze));
  const Uuid id = TRY(call.id("wallet"));
  const bool changed = TRY(call.store.freeze(id, call.actor(because.reason)));
  return http::json_response(frozen_json(id, true, changed));
}

Result<Response> unfreeze(const TokenCall& call, const Because& because) {
  TRY(require(call, Action::kFreeze));
  const Uuid id = TRY(call.id("wallet"));
  const bool changed = TRY(call.store.unfreeze(id, call.actor(because.reason)));
  return http::json_response(frozen_json(id, false, changed));
}

Result<Response> set_limits(const TokenCall& call, const WalletLimits& limits) {
  TRY(require(call, Action::kManageUsers));
  const Uuid id = TRY(call.id("wallet"));
  const WalletLimits set = TRY(call.store.set_limits(id, limits, call.actor()));
  return http::json_response(limits_json(id, set));
}

Result<Response> history(const TokenCall& call) {
  const HistoryQuery query = TRY(parse_history_query(call.request.query));
  if (query.wallet)
    TRY(require_on_wallet(call, Action::kReadWallet, *query.wallet));
  else
    TRY(require(call, Action::kReadHistory));
  const auto page = TRY(call.store.history(query));
  return http::json_response(history_json(page));
}

// ?format=, or else what Accept asks for.
Result<bool> wants_csv(const TokenCall& call) {
  if (const auto format = call.request.query_param("format")) {
    if (*format == "csv" || *format == "json") return *format == "csv";
    return fail(Code::kInvalidInput, "format: expected json or csv");
  }
  return call.request.header("Accept").value_or("").starts_with("text/csv");
}

Result<Response> statement(const TokenCall& call) {
  const Store::StatementQuery query = TRY(parse_statement_query(call.request.query));
  const bool csv = TRY(wants_csv(call));
  TRY(require_on_wallet(call, Action::kReadWallet, query.wallet));
  const auto found = TRY(call.store.statement(query));
  if (!csv) return http::json_response(statement_json(query.wallet, found));
  Response answer = http::text_response(statement_csv(found, query.page.cursor.empty()));
  answer.content_type = "text/csv; charset=utf-8";
  if (!found.lines.cursor.empty()) answer.headers.push_back({"Next-Cursor", found.lines.cursor});
  return answer;
}

api::Parameter from_parameter(const char* what) {
  return query_text("from", what);
}

std::vector<TokenRoute> history_routes() {
  const api::Parameter wallet{"wallet", In::kQuery, "the wallet's id",
                              R"({"type":"string","format":"uuid"})", true};
  const std::string id = R"({"type":"string","format":"uuid"})";
  return {
      {.path = "/history",
       .summary = "Transactions, newest first; without a wallet those of the whole community",
       .parameters = page_parameters(
           {{"wallet", In::kQuery, "only of this wallet", id},
            {"counterparty", In::kQuery, "of the wallet, only with this one", id},
            {"type", In::kQuery, "only of this type",
             R"({"type":"integer","minimum":1,"maximum":99})"},
            from_parameter("since then, by the time they were made: milliseconds since 1970, "
                           "2026-01-31 or 2026-01-31T12:30:00Z"),
            query_text("to", "before then"),
            {"order", In::kQuery, "which come first", R"({"enum":["newest","oldest"]})"}}),
       .response_schema = "TokenHistory",
       .answer = history},
      {.path = "/statements",
       .summary = "Each change of a wallet with the balance after it, oldest first; as CSV with "
                  "?format=csv or Accept: text/csv, the next cursor in Next-Cursor",
       .parameters =
           page_parameters({wallet,
                            from_parameter("since then, by the time they were booked"),
                            query_text("to", "before then"),
                            {"format", In::kQuery, "json or csv", R"({"enum":["json","csv"]})"}}),
       .response_schema = "TokenStatement",
       .answer = statement},
  };
}

}  // namespace

std::vector<TokenRoute> wallet_routes() {
  const Verbs& all = verbs();
  const api::Parameter wallet = path_id("wallet", "the wallet's id");
  std::vector<TokenRoute> routes = {
      {.path = "/wallets",
       .summary = "All wallets with their balances and owners",
       .parameters = page_parameters(),
       .response_schema = "TokenWalletPage",
       .answer = list_wallets},
      {.path = "/wallets/{wallet}",
       .summary = "One wallet",
       .parameters = {wallet},
       .response_schema = "TokenWallet",
       .answer = show_wallet},
      {.path = "/wallets/{wallet}/balance",
       .summary = "What a wallet has, now or at the end of a moment, by the database's clock",
       .parameters = {wallet, query_text("at",
                                         "milliseconds since 1970, 2026-01-31 or "
                                         "2026-01-31T12:30:00Z; default: now")},
       .response_schema = "TokenBalance",
       .answer = balance},
      verb_route(all.with_reason, "/wallets/{wallet}/freeze",
                 "Freeze a wallet: it neither sends nor receives", {wallet}, "TokenFrozen", freeze),
      verb_route(all.with_reason, "/wallets/{wallet}/unfreeze", "Unfreeze a wallet", {wallet},
                 "TokenFrozen", unfreeze),
      verb_route(all.limits, "/wallets/{wallet}/limits",
                 "Set what a wallet may send; what is not given has no limit", {wallet},
                 "TokenLimits", set_limits, http::Method::kPut),
  };
  for (TokenRoute& route : history_routes()) routes.push_back(std::move(route));
  return routes;
}

}  // namespace coffer::token
