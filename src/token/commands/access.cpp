// API keys of services, and roles of people.
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/authority.h"

namespace coffer::token {
namespace {

Result<> run_key_create(const TokenCommand& on, const NewApiKey& given) {
  const std::vector<std::string> known = known_scopes();
  for (const std::string& scope : given.scopes)
    if (std::ranges::find(known, scope) == known.end())
      return fail(Code::kUsage, "--scopes: unknown scope '{}'; known are {}", scope,
                  fmt::join(known, ", "));
  const MadeApiKey made = TRY(cli::as_usage_error(on.store.make_api_key(given, on.actor())));
  return print_result(on.context, made_api_key_json(made),
                      row_text("key", made.key.name) + row_text("id", to_string(made.key.id)) +
                          row_text("expires", time_text(made.key.expires_at_ms)) +
                          row_text("secret", made.secret) +
                          "It is not shown again. Send it as 'Authorization: Bearer SECRET'.\n");
}

Result<> run_key_list(const Context& context, const Store& store, const TokenQuery& given) {
  const PageOptions page = TRY(cli::as_usage_error(parse_page(given.query)));
  const Page<ApiKey> found = TRY(store.api_keys(page));
  return print_result(context, api_keys_json(found), render_keys(found));
}

Result<> run_key_revoke(const TokenCommand& on, const Because& given) {
  const Uuid id = TRY(cli::as_usage_error(parse_id("key", on.argument("key"))));
  const ApiKey key = TRY(cli::as_usage_error(on.store.revoke_api_key(id, on.actor(given.reason))));
  return print_result(on.context, api_key_json(key),
                      fmt::format("key {} is revoked\n", cli::printable(key.name)));
}

Result<> change_role(const TokenCommand& on, const RoleRequest& given, bool grant) {
  TRY(cli::as_usage_error(grant ? on.store.grant_role(given.identity, given.role, on.actor())
                                : on.store.revoke_role(given.identity, given.role, on.actor())));
  return print_result(
      on.context, role_json(given.identity, given.role, grant),
      fmt::format("{} at {} is {} {}\n", cli::printable(given.subject),
                  cli::printable(given.issuer), to_string(given.role), grant ? "now" : "no more"));
}
Result<> run_grant(const TokenCommand& on, const RoleRequest& given) {
  return change_role(on, given, true);
}
Result<> run_revoke(const TokenCommand& on, const RoleRequest& given) {
  return change_role(on, given, false);
}

Result<> run_role_list(const Context& context, const Store& store, const TokenQuery& given) {
  const PageOptions page = TRY(cli::as_usage_error(parse_page(given.query)));
  const Page<RoleGrant> found = TRY(store.role_grants(page));
  return print_result(context, roles_json(found), render_roles(found));
}

}  // namespace

std::vector<cli::Command> access_commands() {
  return {
      token_group("keys", "API keys of services"),
      token_verb(token_command({"keys", "create"}, "Create an API key; its secret is shown once",
                               "  coffer token keys create shop --scopes read,hold --for 90d\n"),
                 {}, verbs().make_key, run_key_create),
      token_query(
          token_command({"keys", "list"}, "List the API keys", "  coffer token keys list\n"),
          {page_count_option(), page_cursor_option()}, run_key_list),
      token_verb(token_command({"keys", "revoke"}, "Revoke an API key, for good",
                               "  coffer token keys revoke KEY --reason leaked\n"),
                 {node::required("key", "Its id")}, verbs().because, run_key_revoke),
      token_group("roles", "Roles of people: member, operator, issuer, auditor"),
      token_verb(token_command({"roles", "grant"}, "Grant a role to an identity of a provider",
                               "  coffer token roles grant operator --issuer "
                               "https://id.example.org --subject 248289761001\n"),
                 {}, verbs().role, run_grant),
      token_verb(token_command({"roles", "revoke"}, "Revoke a role",
                               "  coffer token roles revoke operator --issuer "
                               "https://id.example.org --subject 248289761001\n"),
                 {}, verbs().role, run_revoke),
      token_query(token_command({"roles", "list"}, "List the roles that were granted",
                                "  coffer token roles list\n"),
                  {page_count_option(), page_cursor_option()}, run_role_list),
  };
}

}  // namespace coffer::token
