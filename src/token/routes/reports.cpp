// Routes of reports, checks and the tamper-evident log.
#include "api/input.h"
#include "base/result.h"
#include "token/json/input.h"
#include "token/json/log.h"
#include "token/json/output.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

using http::Response;
using In = api::Parameter::In;

Result<Response> supply(const TokenCall& call) {
  TRY(require(call, Action::kReadSummary));
  const Supply found = TRY(call.store.supply());
  return http::json_response(supply_json(found));
}

Result<Response> statistics(const TokenCall& call) {
  TRY(require(call, Action::kReadSummary));
  const auto found = TRY(call.store.statistics());
  if (!found)
    return fail(Code::kUnavailable, "nothing has been counted yet: ask again in a minute");
  return http::json_response(statistics_json(*found));
}

Result<Response> last_check(const TokenCall& call) {
  TRY(require(call, Action::kCheck));
  const auto found =
      call.routes.checked ? call.routes.checked(call.store.community()) : std::nullopt;
  if (!found)
    return fail(Code::kUnavailable,
                "nothing has been checked yet: ask again in a minute, or POST to check now");
  return http::json_response(check_json(*found));
}

Result<Response> check_now(const TokenCall& call) {
  TRY(require(call, Action::kCheck));
  TRY(node::parse_empty_body(call.request.body));
  const CheckReport report = TRY(call.store.check());
  return http::json_response(check_json(report));
}

Result<Response> log_status(const TokenCall& call) {
  TRY(require(call, Action::kReadSummary));
  const LogStatus status = TRY(Log(call.store.ledger()).status());
  return http::json_response(log_status_json(status));
}

Result<Response> checkpoints(const TokenCall& call) {
  TRY(require(call, Action::kReadSummary));
  const PageOptions page = TRY(parse_page(call.request.query));
  const auto found = TRY(Log(call.store.ledger()).checkpoints(page));
  return http::json_response(checkpoints_json(found));
}

Result<std::optional<std::uint64_t>> size_in(const TokenCall& call, std::string_view name) {
  const auto text = call.request.query_param(name);
  if (!text) return std::nullopt;
  return TRY_IN(name, api::parse_whole(*text, 1, std::uint64_t{1} << 62));
}

Result<Response> prove(const TokenCall& call) {
  const Uuid id = TRY(call.id("transaction"));
  const auto size = TRY(size_in(call, "size"));
  if (!is_allowed(call.who, Action::kReadWallet)) {
    const auto found = TRY(call.store.find_transaction(id));
    Facts facts;
    if (found) facts.is_own = call.who.wallet == found->from || call.who.wallet == found->to;
    if (found && !facts.is_own) facts.is_system = TRY(is_system_wallet(call, found->from));
    TRY(require(call, Action::kReadWallet, facts));
  }
  const InclusionProof proof = TRY(Log(call.store.ledger()).prove(id, size));
  return http::json_response(proof_json(proof));
}

Result<Response> prove_consistency(const TokenCall& call) {
  TRY(require(call, Action::kReadSummary));
  const auto older = TRY(size_in(call, "older"));
  if (!older) return fail(Code::kInvalidInput, "older: missing; expected the size of a checkpoint");
  const auto newer = TRY(size_in(call, "newer"));
  const ConsistencyProof proof = TRY(Log(call.store.ledger()).prove_consistency(*older, newer));
  return http::json_response(proof_json(proof));
}

std::vector<TokenRoute> log_routes() {
  const std::string size = R"({"type":"integer","minimum":1})";
  return {
      {.path = "/log",
       .summary = "How far the tamper-evident log is, and the key that signs its checkpoints",
       .response_schema = "TokenLog",
       .answer = log_status},
      {.path = "/checkpoints",
       .summary = "Signed checkpoints of the log, newest first",
       .parameters = page_parameters(),
       .response_schema = "TokenCheckpointPage",
       .answer = checkpoints},
      {.path = "/proofs/{transaction}",
       .summary = "Proof that a transaction is in the history, for `coffer token check-proof`; 409 "
                  "not_logged_yet within seconds of the transfer",
       .parameters = {path_id("transaction", "the transaction's id"),
                      {"size", In::kQuery, "of the checkpoint; default: the newest", size}},
       .response_schema = "TokenProof",
       .answer = prove},
      {.path = "/consistency",
       .summary = "Proof that the history of a checkpoint was only appended to since an older one",
       .parameters = {{"older", In::kQuery, "size of the older checkpoint", size, true},
                      {"newer", In::kQuery, "size of the newer one; default: the newest", size}},
       .response_schema = "TokenProof",
       .answer = prove_consistency},
  };
}

}  // namespace

std::vector<TokenRoute> report_routes() {
  std::vector<TokenRoute> routes = {
      {.path = "/supply",
       .summary = "Where all tokens are",
       .response_schema = "TokenSupply",
       .answer = supply},
      {.path = "/statistics",
       .summary = "Users, transactions and tokens, as they were counted last",
       .response_schema = "TokenStatistics",
       .answer = statistics},
      {.path = "/checks",
       .summary = "What the daily check of all balances found last",
       .response_schema = "TokenCheck",
       .answer = last_check},
      {.method = http::Method::kPost,
       .path = "/checks",
       .summary = "Recompute every balance from the history, now",
       .response_schema = "TokenCheck",
       .answer = check_now},
  };
  for (TokenRoute& route : log_routes()) routes.push_back(std::move(route));
  return routes;
}

}  // namespace coffer::token
