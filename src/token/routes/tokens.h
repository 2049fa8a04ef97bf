// Routes over the communities: /api/v1/tokens. Each request is authenticated, limited and
// authorised here (api::Scope::kOwn), is bounded (E11) and, if it is refused, has changed nothing.
#pragma once

#include <functional>
#include <memory>

#include "api/routes.h"
#include "token/json/verbs.h"
#include "token/routes/access.h"
#include "token/routes/communities.h"
#include "token/routes/writes.h"

namespace coffer::token {

class CommunityEvents;

struct TokenRoutes {
  Communities* communities = nullptr;  // outlives the routes, as all here; null: switched off
  Access* access = nullptr;
  CommunityEvents* events = nullptr;
  Writes* writes = nullptr;
  // What the daily check found; nothing before the first.
  std::function<std::optional<CheckReport>(std::string_view community)> checked = nullptr;
};

// Without communities every route answers 503 and says why.
void add_token_routes(api::RouteTable& table, TokenRoutes routes);

// For the files of add_token_routes(): a request to a community that is there, by somebody who is
// known.
struct TokenCall {
  const TokenRoutes& routes;
  Store& store;
  const http::Request& request;
  Principal who;

  // A parameter in the path.
  std::string_view path(std::string_view name) const {
    return request.path_param(name).value_or("");
  }
  // An id in the path. Errors: kInvalidInput naming it.
  Result<Uuid> id(std::string_view name) const;
  Actor actor(std::string reason = {}) const { return {who.name, std::move(reason)}; }
};

// Errors of both: kForbidden.
Result<> require(const TokenCall& call, Action action, const Facts& facts = {});
// The facts are those of the wallet; whether it is a system wallet is looked up only if that
// decides.
Result<> require_on_wallet(const TokenCall& call, Action action, const Uuid& wallet);
Result<bool> is_system_wallet(const TokenCall& call, const Uuid& wallet);
// Refuses what another may not learn and what is not there with one answer.
Error not_there(const TokenCall& call, Action action, std::string_view reason, std::string message);

using TokenAnswer = std::function<Result<http::Response>(const TokenCall&)>;
// Answers later, on any thread; the call lives as long as the pointer.
using TokenLater =
    std::function<void(const std::shared_ptr<const TokenCall>&, const api::Respond&)>;

// What follows "/api/v1/tokens/{community}".
struct TokenRoute {
  http::Method method = http::Method::kGet;
  std::string path = {};
  std::string summary = {};
  std::vector<api::Parameter> parameters = {};  // besides the community
  std::string response_schema = {};
  TokenAnswer answer = nullptr;  // of what changes something: on a thread of Writes
  std::string request_schema = {};
  TokenLater later = nullptr;  // instead of `answer`
  std::size_t body_bytes = 0;  // 0: the server's own bound
  std::vector<int> successes = {200};
};

// The same route with other statuses of success: 201 for what is made, also 200 where an answer
// says that it was there before.
inline TokenRoute making(TokenRoute route, std::vector<int> successes = {201}) {
  route.successes = std::move(successes);
  return route;
}
std::vector<TokenRoute> account_routes();   // accounts.cpp
std::vector<TokenRoute> wallet_routes();    // wallets.cpp
std::vector<TokenRoute> transfer_routes();  // transfers.cpp
std::vector<TokenRoute> hold_routes();      // holds.cpp
std::vector<TokenRoute> report_routes();    // reports.cpp
std::vector<TokenRoute> access_routes();    // keys.cpp

// The route of a verb, whose request is read from the body before anything is decided.
template <typename Request>
TokenRoute verb_route(const node::Verb<Request>& verb, std::string_view path,
                      std::string_view summary, const std::vector<api::Parameter>& parameters,
                      std::string_view response_schema,
                      Result<http::Response> (*answer)(const TokenCall&, const Request&),
                      http::Method method = http::Method::kPost) {
  const auto read = [&verb, answer](const TokenCall& call) -> Result<http::Response> {
    const Request request = TRY(node::parse_body(verb, call.request.body));
    return answer(call, request);
  };
  return {.method = method,
          .path = std::string(path),
          .summary = std::string(summary),
          .parameters = parameters,
          .response_schema = std::string(response_schema),
          .answer = read,
          .request_schema = verb.schema};
}

api::Parameter path_id(const char* name, const char* description);
api::Parameter query_text(const char* name, const char* description);
std::vector<api::Parameter> page_parameters(std::vector<api::Parameter> before = {});

}  // namespace coffer::token
