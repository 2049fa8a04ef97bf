#include "token/routes/tokens.h"

#include "base/result.h"
#include "config/switched_off.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/events.h"

namespace coffer::token {
namespace {

using http::Request;
using http::Response;
using In = api::Parameter::In;
using Shared = std::shared_ptr<const TokenRoutes>;

constexpr const char* kTokens = "/api/v1/tokens";

Error switched_off() {
  return config::switched_off("the token ledger", "token.enabled");
}

// Those that authenticate and authorise are answered here, so that all refusals are counted.
Response refused(const TokenRoutes& routes, const Error& error, const Request& request,
                 std::string_view who) {
  const bool too_often = error.reason == "rate_limited";
  if (too_often || error.code == Code::kUnauthorized || error.code == Code::kForbidden)
    routes.access->note_refusal(error, request, who);
  if (!too_often) return http::problem(error, request.path);
  Response answer = http::problem(429, "rate_limited", error.message, request.path);
  answer.headers.push_back({"Retry-After", "1"});
  return answer;
}

struct Admitted {
  Principal who;
  Store* store = nullptr;
};

// Who it is, before what there is: only the host and who has a role in a community learn that it is
// there.
Result<Admitted> admit(const TokenRoutes& routes, const Request& request) {
  const auto community = request.path_param("community").value_or("");
  auto store = routes.communities->find(community);
  if (!store && store.error().code != Code::kNotFound) return fail(store.error());
  Principal who = TRY(routes.access->identify(request, community, store ? *store : nullptr));
  TRY(routes.access->limit(who));
  const bool is_nobody = who.kind == Principal::Kind::kPerson && who.roles.empty();
  if (is_nobody) return fail(forbidden(who, Action::kReadSummary));
  if (!store) return fail(store.error());
  return Admitted{std::move(who), *store};
}

// The call of a request that was admitted and has no parameter that is not known.
Result<TokenCall> make_call(const TokenRoutes& routes, const Request& request,
                            std::span<const std::string> known) {
  if (routes.communities == nullptr) return fail(switched_off());
  Admitted admitted = TRY(admit(routes, request));
  TRY(check_known(request.query, known));
  return TokenCall{routes, *admitted.store, request, std::move(admitted.who)};
}

std::vector<std::string> query_names(const std::vector<api::Parameter>& parameters) {
  std::vector<std::string> names;
  for (const api::Parameter& parameter : parameters)
    if (parameter.in == In::kQuery) names.push_back(parameter.name);
  return names;
}

api::Handler answer_now(const Shared& routes, std::vector<std::string> known, TokenAnswer answer) {
  return [routes, known = std::move(known),
          answer = std::move(answer)](const Request& request) -> Result<Response> {
    const auto call = make_call(*routes, request, known);
    if (!call && routes->communities == nullptr) return fail(call.error());
    if (!call) return refused(*routes, call.error(), request, "");
    auto done = answer(*call);
    if (!done) return refused(*routes, done.error(), request, call->who.name);
    return done;
  };
}

api::AsyncHandler answer_later(const Shared& routes, std::vector<std::string> known,
                               TokenLater later) {
  return [routes, known = std::move(known), later = std::move(later)](const Request& request,
                                                                      const api::Respond& respond) {
    auto call = make_call(*routes, request, known);
    if (!call && routes->communities == nullptr) return respond(fail(call.error()));
    if (!call) return respond(refused(*routes, call.error(), request, ""));
    const auto shared = std::make_shared<const TokenCall>(*std::move(call));
    later(shared, [routes, shared, respond](Result<Response> done) {
      if (done) return respond(std::move(done));
      respond(refused(*routes, done.error(), shared->request, shared->who.name));
    });
  };
}

// What changes something may wait for locks, which no worker of the server shall do.
TokenLater on_writes(TokenAnswer answer) {
  return [answer = std::move(answer)](const std::shared_ptr<const TokenCall>& call,
                                      const api::Respond& respond) {
    call->routes.writes->submit([call, answer] { return answer(*call); }, respond);
  };
}

void add_route(api::RouteTable& table, const Shared& routes, TokenRoute given) {
  std::vector<std::string> known = query_names(given.parameters);
  given.parameters.insert(given.parameters.begin(),
                          api::Parameter{"community", In::kPath, "the community's name"});
  api::Route route{.method = given.method,
                   .pattern = std::string(kTokens) + "/{community}" + given.path,
                   .summary = std::move(given.summary),
                   .scope = api::Scope::kOwn,
                   .parameters = std::move(given.parameters),
                   .response_schema = std::move(given.response_schema),
                   .request_schema = std::move(given.request_schema),
                   .body_bytes = given.body_bytes};
  if (given.answer && given.method != http::Method::kGet)
    given.later = on_writes(std::move(given.answer));
  if (given.later)
    route.async = answer_later(routes, std::move(known), std::move(given.later));
  else
    route.handler = answer_now(routes, std::move(known), std::move(given.answer));
  table.add(std::move(route));
}

// The communities, for the host; others name theirs.
void add_list(api::RouteTable& table, const Shared& routes) {
  table.add({.pattern = kTokens,
             .summary = "The communities that are served here; for the host's administrator",
             .scope = api::Scope::kOwn,
             .response_schema = "TokenCommunities",
             .handler = [routes](const Request& request) -> Result<Response> {
               if (routes->communities == nullptr) return fail(switched_off());
               const auto who = routes->access->identify(request, "", nullptr);
               if (!who) return refused(*routes, who.error(), request, "");
               if (who->kind != Principal::Kind::kHost)
                 return refused(*routes, forbidden(*who, Action::kAdminister), request, who->name);
               TRY(check_known(request.query, {}));
               const auto names = TRY(routes->communities->refresh());
               return http::json_response(communities_json(names));
             }});
}

void add_events(api::RouteTable& table, const Shared& routes) {
  const char* number = R"({"type":"integer","minimum":0})";
  table.add(
      {.pattern = std::string(kTokens) + "/{community}/events",
       .summary = "Stream what happens as Server-Sent Events, by position in the log; reset "
                  "when the stream goes on elsewhere",
       .scope = api::Scope::kOwn,
       .parameters = {{"community", In::kPath, "the community's name"},
                      {"after", In::kQuery,
                       "Start after the event with this id; default: only new events", number},
                      {"last", In::kQuery, "Start this many events back", number},
                      {"Last-Event-ID", In::kHeader,
                       "As `after`, and takes precedence; browsers send it", number}},
       .content_type = "text/event-stream",
       .stream = [routes](const Request& request, const std::shared_ptr<http::EventStream>& stream)
           -> std::optional<Response> {
         const std::vector<std::string> known = {"after", "last"};
         const auto call = make_call(*routes, request, known);
         if (!call && routes->communities == nullptr)
           return http::problem(call.error(), request.path);
         if (!call) return refused(*routes, call.error(), request, "");
         if (const auto may = require(*call, Action::kReadHistory); !may)
           return refused(*routes, may.error(), request, call->who.name);
         return routes->events->subscribe(call->store, request, stream);
       }});
}

}  // namespace

Result<Uuid> TokenCall::id(std::string_view name) const {
  return parse_id(name, path(name));
}

Result<> require(const TokenCall& call, Action action, const Facts& facts) {
  if (is_allowed(call.who, action, facts)) return {};
  return fail(forbidden(call.who, action));
}

Result<bool> is_system_wallet(const TokenCall& call, const Uuid& wallet) {
  for (const SystemAccount& account : TRY(call.store.system_accounts()))
    if (account.wallet == wallet) return true;
  return false;
}

Result<> require_on_wallet(const TokenCall& call, Action action, const Uuid& wallet) {
  Facts facts{.is_own = call.who.wallet == wallet};
  if (is_allowed(call.who, action, facts)) return {};
  facts.is_system = true;
  if (is_allowed(call.who, action, facts) && TRY(is_system_wallet(call, wallet))) return {};
  return fail(forbidden(call.who, action));
}

Error not_there(const TokenCall& call, Action action, std::string_view reason,
                std::string message) {
  if (!is_allowed(call.who, action)) return forbidden(call.who, action);
  Error error = make_error(Code::kNotFound, std::move(message));
  error.reason = reason;
  return error;
}

api::Parameter path_id(const char* name, const char* description) {
  return {name, In::kPath, description, R"({"type":"string","format":"uuid"})"};
}

api::Parameter query_text(const char* name, const char* description) {
  return {name, In::kQuery, description};
}

std::vector<api::Parameter> page_parameters(std::vector<api::Parameter> before) {
  before.push_back({"count", In::kQuery, "items on a page",
                    R"({"type":"integer","minimum":1,"maximum":1000,"default":100})"});
  before.push_back({"cursor", In::kQuery, "next_cursor of the page before"});
  return before;
}

void add_token_routes(api::RouteTable& table, TokenRoutes given) {
  if (given.access != nullptr) given.access->set_identify(table.identify());
  const Shared routes = std::make_shared<const TokenRoutes>(std::move(given));
  add_token_schemas(table);
  add_list(table, routes);
  for (const auto& declared : {account_routes(), wallet_routes(), transfer_routes(), hold_routes(),
                               report_routes(), access_routes()})
    for (const TokenRoute& route : declared) add_route(table, routes, route);
  add_events(table, routes);
}

}  // namespace coffer::token
