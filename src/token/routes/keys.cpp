// Routes of API keys, roles and the audit.
#include "base/result.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

using http::Response;

Result<Response> list_keys(const TokenCall& call) {
  TRY(require(call, Action::kListKeys));
  const PageOptions page = TRY(parse_page(call.request.query));
  const auto keys = TRY(call.store.api_keys(page));
  return http::json_response(api_keys_json(keys));
}

Result<Response> make_key(const TokenCall& call, const NewApiKey& wanted) {
  TRY(require(call, Action::kMakeKey));
  const std::vector<std::string> known = known_scopes();
  for (const std::string& scope : wanted.scopes)
    if (std::ranges::find(known, scope) == known.end())
      return fail(Code::kInvalidInput, "scopes: unknown scope '{}'; known are {}",
                  std::string_view(scope).substr(0, 40), fmt::join(known, ", "));
  if (const std::string excess = find_excess_scope(call.who, wanted.scopes); !excess.empty()) {
    Error error = make_error(
        Code::kForbidden,
        fmt::format("scopes: '{}' is more than you may do yourself, so a key cannot have it from "
                    "you",
                    excess));
    error.reason = "not_allowed";
    return fail(std::move(error));
  }
  const MadeApiKey made = TRY(call.store.make_api_key(wanted, call.actor()));
  return http::json_response(made_api_key_json(made), 201);
}

// Whether who asks made the key: looked up only if that decides.
Result<bool> is_maker(const TokenCall& call, const Uuid& id) {
  PageOptions page{.count = kMaxPage, .cursor = {}};
  do {
    const Page<ApiKey> part = TRY(call.store.api_keys(page));
    for (const ApiKey& key : part.items)
      if (key.id == id) return key.created_by == call.who.name;
    page.cursor = part.cursor;
  } while (!page.cursor.empty());
  return false;
}

Result<Response> revoke_key(const TokenCall& call, const Because& because) {
  const Uuid id = TRY(call.id("key"));
  Facts facts{.is_own = true};
  const bool may_own = is_allowed(call.who, Action::kRevokeKey, facts);
  facts.is_own = may_own && !is_allowed(call.who, Action::kRevokeKey) && TRY(is_maker(call, id));
  TRY(require(call, Action::kRevokeKey, facts));
  const ApiKey key = TRY(call.store.revoke_api_key(id, call.actor(because.reason)));
  call.routes.access->forget();
  return http::json_response(api_key_json(key));
}

Result<Response> list_roles(const TokenCall& call) {
  TRY(require(call, Action::kReadAudit));
  const PageOptions page = TRY(parse_page(call.request.query));
  const auto grants = TRY(call.store.role_grants(page));
  return http::json_response(roles_json(grants));
}

Result<Response> grant_role(const TokenCall& call, const RoleRequest& wanted) {
  TRY(require(call, Action::kAdminister));
  TRY(call.store.grant_role(wanted.identity, wanted.role, call.actor()));
  call.routes.access->forget();
  return http::json_response(role_json(wanted.identity, wanted.role, true));
}

Result<Response> revoke_role(const TokenCall& call, const RoleRequest& wanted) {
  TRY(require(call, Action::kAdminister));
  TRY(call.store.revoke_role(wanted.identity, wanted.role, call.actor()));
  call.routes.access->forget();
  return http::json_response(role_json(wanted.identity, wanted.role, false));
}

Result<Response> audit(const TokenCall& call) {
  TRY(require(call, Action::kReadAudit));
  const Store::AuditQuery query = TRY(parse_audit_query(call.request.query));
  const auto entries = TRY(call.store.audit(query));
  return http::json_response(audit_json(entries));
}

}  // namespace

std::vector<TokenRoute> access_routes() {
  const Verbs& all = verbs();
  return {
      {.path = "/keys",
       .summary = "The API keys, without their secrets",
       .parameters = page_parameters(),
       .response_schema = "TokenApiKeyPage",
       .answer = list_keys},
      making(verb_route(all.make_key, "/keys",
                        "Make an API key within one's own rights; its secret is shown only now", {},
                        "TokenMadeApiKey", make_key)),
      verb_route(all.because, "/keys/{key}/revoke", "Revoke an API key, for good",
                 {path_id("key", "the key's id")}, "TokenApiKey", revoke_key),
      {.path = "/roles",
       .summary = "The roles that were granted here; those of claims are with the provider",
       .parameters = page_parameters(),
       .response_schema = "TokenRolePage",
       .answer = list_roles},
      verb_route(all.role, "/roles", "Grant a role to an identity of a provider", {}, "TokenRole",
                 grant_role),
      verb_route(all.role, "/roles/revoke", "Revoke a role", {}, "TokenRole", revoke_role),
      {.path = "/audit",
       .summary = "What people changed, by whom and why, newest first",
       .parameters =
           page_parameters({query_text("from", "since then"), query_text("to", "before then")}),
       .response_schema = "TokenAuditPage",
       .answer = audit},
  };
}

}  // namespace coffer::token
