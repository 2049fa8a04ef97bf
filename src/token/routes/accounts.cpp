// Routes of users, their identities and system accounts.
#include "base/result.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

using http::Method;
using http::Response;

constexpr const char* kUserId = "the user's id";

// Names are looked up by everybody who sends something; a list is for those who may see all.
Result<Response> list_users(const TokenCall& call) {
  const bool by_name = call.request.query_param("name").has_value();
  TRY(require(call, by_name ? Action::kFindUser : Action::kListUsers));
  Store::UserQuery query = TRY(parse_user_query(call.request.query));
  if (query.with_deleted) TRY(require(call, Action::kListUsers));
  const auto page = TRY(call.store.users(query));
  return http::json_response(users_json(page));
}

Result<Response> create_user(const TokenCall& call, const NewOwner& wanted) {
  TRY(require(call, Action::kManageUsers));
  const User user = TRY(call.store.create_user(*wanted.id, wanted.name, call.actor()));
  return http::json_response(user_json(user), 201);
}

Result<Response> show_user(const TokenCall& call) {
  TRY(require(call, Action::kFindUser));
  const Uuid id = TRY(call.id("user"));
  const auto user = TRY(call.store.find_user(id));
  // That somebody was deleted is for those who may list users.
  const bool hidden = user && user->deleted_at_ms && !is_allowed(call.who, Action::kListUsers) &&
                      call.who.user != id;
  if (!user || hidden)
    return fail(not_there(call, Action::kFindUser, "user_not_found",
                          fmt::format("no user {}", to_string(id))));
  return http::json_response(user_json(*user));
}

Result<Response> rename_user(const TokenCall& call, const Rename& wanted) {
  TRY(require(call, Action::kManageUsers));
  const Uuid id = TRY(call.id("user"));
  const User user = TRY(call.store.rename_user(id, wanted.name, call.actor()));
  return http::json_response(user_json(user));
}

Result<Response> delete_user(const TokenCall& call, const Because& because) {
  TRY(require(call, Action::kManageUsers));
  const Uuid id = TRY(call.id("user"));
  const User user = TRY(call.store.delete_user(id, call.actor(because.reason)));
  return http::json_response(user_json(user));
}

Result<Response> reactivate_user(const TokenCall& call, const Because& because) {
  TRY(require(call, Action::kManageUsers));
  const Uuid id = TRY(call.id("user"));
  const User user = TRY(call.store.reactivate_user(id, call.actor(because.reason)));
  return http::json_response(user_json(user));
}

Result<Response> list_identities(const TokenCall& call) {
  TRY(require(call, Action::kListUsers));
  const Uuid id = TRY(call.id("user"));
  const auto links = TRY(call.store.identities(id));
  return http::json_response(identities_json(links));
}

Result<Response> link_identity(const TokenCall& call, const IdentityRequest& wanted) {
  TRY(require(call, Action::kManageUsers));
  const Uuid id = TRY(call.id("user"));
  TRY(call.store.link_identity(id, wanted.identity(), call.actor()));
  call.routes.access->forget();
  return http::json_response(identity_json(wanted.identity(), id));
}

Result<Response> unlink_identity(const TokenCall& call, const IdentityRequest& wanted) {
  TRY(require(call, Action::kManageUsers));
  TRY(call.store.unlink_identity(wanted.identity(), call.actor()));
  call.routes.access->forget();
  return http::json_response(identity_json(wanted.identity(), std::nullopt));
}

Result<Response> list_accounts(const TokenCall& call) {
  TRY(require(call, Action::kListUsers));
  const auto accounts = TRY(call.store.system_accounts());
  return http::json_response(system_accounts_json(accounts));
}

Result<Response> create_account(const TokenCall& call, const NewOwner& wanted) {
  TRY(require(call, Action::kAdminister));
  const SystemAccount account =
      TRY(call.store.create_system_account(*wanted.id, wanted.name, call.actor()));
  return http::json_response(system_account_json(account), 201);
}

}  // namespace

std::vector<TokenRoute> account_routes() {
  const Verbs& all = verbs();
  const api::Parameter user = path_id("user", kUserId);
  return {
      {.path = "/users",
       .summary = "The users, by name; without a role that may list them, those of one name",
       .parameters = page_parameters({query_text("name", "only those of exactly this name"),
                                      {"with_deleted", api::Parameter::In::kQuery,
                                       "deleted ones as well", R"({"type":"boolean"})"}}),
       .response_schema = "TokenUserPage",
       .answer = list_users},
      making(verb_route(all.create_user, "/users",
                        "Create a user with a wallet; the same id again answers as the first time",
                        {}, "TokenUser", create_user)),
      {.path = "/users/{user}",
       .summary = "One user",
       .parameters = {user},
       .response_schema = "TokenUser",
       .answer = show_user},
      verb_route(all.rename, "/users/{user}/rename", "Give a user another name", {user},
                 "TokenUser", rename_user),
      verb_route(all.because, "/users/{user}/delete",
                 "Delete a user; the wallet and its history stay", {user}, "TokenUser",
                 delete_user),
      verb_route(all.because, "/users/{user}/reactivate", "Undo the deletion of a user", {user},
                 "TokenUser", reactivate_user),
      {.path = "/users/{user}/identities",
       .summary = "The identities of a user at providers",
       .parameters = {user},
       .response_schema = "TokenIdentities",
       .answer = list_identities},
      verb_route(all.identity, "/users/{user}/identities",
                 "Link a user to an identity of a provider", {user}, "TokenIdentityLinked",
                 link_identity),
      verb_route(all.identity, "/identities/unlink", "Remove an identity from its user", {},
                 "TokenIdentityLinked", unlink_identity),
      {.path = "/system-accounts",
       .summary = "The system accounts, which issue and distribute",
       .response_schema = "TokenSystemAccounts",
       .answer = list_accounts},
      making(verb_route(all.create_system_account, "/system-accounts",
                        "Create a system account with a wallet", {}, "TokenSystemAccount",
                        create_account)),
  };
}

}  // namespace coffer::token
