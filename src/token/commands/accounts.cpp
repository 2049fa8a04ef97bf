// Communities, users, system accounts and what is decided about their wallets.
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/log/key.h"
#include "token/partitions.h"
#include "token/settings.h"

namespace coffer::token {
namespace {

struct InitArguments {
  std::string community;
  std::string account = Seed().system_account;
  std::uint64_t issuance = static_cast<std::uint64_t>(Seed().issuance);
  bool partition_by_month = false;
};

Result<> run_init(const Context& context, const InitArguments& given) {
  config::Config config = context.config;
  if (!given.community.empty()) config.edit<Settings>().community = given.community;
  if (given.partition_by_month && has_files(config))
    return fail(Code::kUsage,
                "--partition-by-month: SQLite has no partitions; set token.database to a "
                "PostgreSQL database");
  const OpenLedger ledger = TRY(OpenLedger::make(config));
  if (given.partition_by_month) TRY(partition_by_month(ledger.store->ledger()));
  const Seed seed{given.account, static_cast<std::int64_t>(given.issuance)};
  const Seeded seeded = TRY(cli::as_usage_error(ledger.store->seed(seed, {"cli"})));
  // The key that signs the log: made with the community, kept beside the other data.
  TRY(init_log_key(ledger.store->ledger(), config.data_dir));
  const std::string& name = ledger.store->community();
  const std::string text =
      seeded.is_new ? fmt::format("community {} is ready: {} tokens in {}\n", name,
                                  cli::with_thousands(given.issuance), seeded.account.name)
                    : fmt::format("community {} was there already; nothing was changed\n", name);
  return print_result(context, seeded_json(name, seeded), text);
}

Result<> run_user_create(const TokenCommand& on, const NewOwner& given) {
  const User user = TRY(cli::as_usage_error(
      on.store.create_user(given.id.value_or(random_uuid()), given.name, on.actor())));
  return print_result(on.context, user_json(user),
                      row_text("user", user.name) + row_text("id", to_string(user.id)) +
                          row_text("wallet", to_string(user.wallet)));
}

Result<> run_system_create(const TokenCommand& on, const NewOwner& given) {
  const SystemAccount account = TRY(cli::as_usage_error(
      on.store.create_system_account(given.id.value_or(random_uuid()), given.name, on.actor())));
  return print_result(on.context, system_account_json(account),
                      row_text("system account", account.name) +
                          row_text("id", to_string(account.id)) +
                          row_text("wallet", to_string(account.wallet)));
}

Result<> run_rename(const TokenCommand& on, const Rename& given) {
  const User user = TRY(find_user(on.store, on.argument("user")));
  const User renamed =
      TRY(cli::as_usage_error(on.store.rename_user(user.id, given.name, on.actor())));
  return print_result(on.context, user_json(renamed),
                      fmt::format("{} is called {} now\n", user.name, renamed.name));
}

Result<> run_delete(const TokenCommand& on, const Because& given) {
  const User user = TRY(find_user(on.store, on.argument("user")));
  const User deleted =
      TRY(cli::as_usage_error(on.store.delete_user(user.id, on.actor(given.reason))));
  return print_result(
      on.context, user_json(deleted),
      fmt::format("{} is deleted; to undo that, run 'coffer token user reactivate {}'\n",
                  deleted.name, to_string(deleted.id)));
}

Result<> run_reactivate(const TokenCommand& on, const Because& given) {
  const User user = TRY(find_user(on.store, on.argument("user")));
  const User active =
      TRY(cli::as_usage_error(on.store.reactivate_user(user.id, on.actor(given.reason))));
  return print_result(on.context, user_json(active),
                      fmt::format("{} is active again\n", active.name));
}

Result<> run_link(const TokenCommand& on, const IdentityRequest& given) {
  const User user = TRY(find_user(on.store, on.argument("user")));
  TRY(cli::as_usage_error(on.store.link_identity(user.id, given.identity(), on.actor())));
  return print_result(on.context, identity_json(given.identity(), user.id),
                      fmt::format("{} is {} at {}\n", user.name, cli::printable(given.subject),
                                  cli::printable(given.issuer)));
}

Result<> run_unlink(const TokenCommand& on, const IdentityRequest& given) {
  TRY(cli::as_usage_error(on.store.unlink_identity(given.identity(), on.actor())));
  return print_result(on.context, identity_json(given.identity(), std::nullopt),
                      fmt::format("{} at {} is nobody here any more\n",
                                  cli::printable(given.subject), cli::printable(given.issuer)));
}

Result<> change_frozen(const TokenCommand& on, const Because& given, bool freeze) {
  const Party party = TRY(find_party(on.store, on.argument("wallet")));
  const Actor actor = on.actor(given.reason);
  const bool changed = TRY(cli::as_usage_error(freeze ? on.store.freeze(party.wallet, actor)
                                                      : on.store.unfreeze(party.wallet, actor)));
  return print_result(on.context, frozen_json(party.wallet, freeze, changed),
                      fmt::format("the wallet of {} {}{}\n", party.name, changed ? "is " : "was ",
                                  freeze ? "frozen" : "not frozen"));
}
Result<> run_freeze(const TokenCommand& on, const Because& given) {
  return change_frozen(on, given, true);
}
Result<> run_unfreeze(const TokenCommand& on, const Because& given) {
  return change_frozen(on, given, false);
}

Result<> run_limits(const TokenCommand& on, const WalletLimits& given) {
  const Party party = TRY(find_party(on.store, on.argument("wallet")));
  const WalletLimits set =
      TRY(cli::as_usage_error(on.store.set_limits(party.wallet, given, on.actor())));
  const auto text = [](const std::optional<std::int64_t>& limit) {
    return limit ? tokens_text(*limit) : std::string("no limit");
  };
  return print_result(on.context, limits_json(party.wallet, set),
                      row_text("wallet of", party.name) +
                          row_text("per transfer", text(set.per_transfer)) +
                          row_text("per day", text(set.per_day)));
}

Result<> run_user_list(const Context& context, const Store& store, const TokenQuery& given) {
  const Store::UserQuery query = TRY(cli::as_usage_error(parse_user_query(given.query)));
  const Page<User> page = TRY(store.users(query));
  return print_result(context, users_json(page), render_users(page));
}

Result<> run_user_show(const Context& context, const Store& store, const TokenQuery& given) {
  const User user = TRY(find_user(store, given.name));
  const std::vector<IdentityLink> links = TRY(store.identities(user.id));
  std::string text = row_text("user", user.name) + row_text("id", to_string(user.id)) +
                     row_text("wallet", to_string(user.wallet)) +
                     row_text("made", time_text(user.created_at_ms));
  if (user.deleted_at_ms) text += row_text("deleted", time_text(*user.deleted_at_ms));
  if (!links.empty()) text += "\n" + render_identities(links);
  return print_result(context, user_json(user), text);
}

Result<> run_identities(const Context& context, const Store& store, const TokenQuery& given) {
  const User user = TRY(find_user(store, given.name));
  const std::vector<IdentityLink> links = TRY(store.identities(user.id));
  return print_result(context, identities_json(links), render_identities(links));
}

Result<> run_system_list(const Context& context, const Store& store, const TokenQuery&) {
  const std::vector<SystemAccount> accounts = TRY(store.system_accounts());
  return print_result(context, system_accounts_json(accounts), render_system_accounts(accounts));
}

cli::Command init_command() {
  using A = InitArguments;
  return node::command<A>(
      token_command({"init"}, "Create a community, with its first system account and tokens",
                    "  coffer token init\n"
                    "  coffer token init chess_club --issuance 500 --account bank\n"),
      {{"community",
        &A::community,
        "Its name: 3 to 41 lower-case letters, digits and _ (default: that of the settings)",
        {.optional = true}},
       {"--account",
        &A::account,
        "Name of the system account",
        {.value = "NAME", .show_default = true}},
       {"--issuance",
        &A::issuance,
        "Tokens to issue to it",
        {.value = "AMOUNT",
         .show_default = true,
         .range = {0, std::numeric_limits<std::int64_t>::max()}}},
       {"--partition-by-month", &A::partition_by_month,
        "Divide the transactions by months, for very many of them (PostgreSQL)"}},
      run_init);
}

const cli::Option kUser = node::required("user", "Name or id");
const cli::Option kWallet = node::required("wallet", "Name or id of its owner, or its own id");

std::vector<cli::Command> user_commands() {
  const TokenQueryField user = {"user", &TokenQuery::name, "Name or id"};
  return {
      token_group("user", "Users and their identities"),
      token_verb(token_command({"user", "create"}, "Create a user with a wallet",
                               "  coffer token user create alice\n"),
                 {}, with_optional_id(verbs().create_user), run_user_create),
      token_query(token_command({"user", "list"}, "List users, those that are not deleted",
                                "  coffer token user list\n"
                                "  coffer token user list --with-deleted --json\n"),
                  {token_option("--name", "NAME", "Only those of exactly this name"),
                   node::query_flag<TokenQuery>("--with-deleted", {"with_deleted", "true"},
                                                "Deleted ones as well"),
                   page_count_option(), page_cursor_option()},
                  run_user_list),
      token_query(token_command({"user", "show"}, "Show a user with its identities",
                                "  coffer token user show alice\n"),
                  {user}, run_user_show),
      token_verb(token_command({"user", "rename"}, "Give a user another name",
                               "  coffer token user rename alice alice-b\n"),
                 {kUser}, verbs().rename, run_rename),
      token_verb(token_command({"user", "delete"}, "Delete a user; the wallet and its history stay",
                               "  coffer token user delete alice --reason 'moved away'\n"),
                 {kUser}, verbs().because, run_delete),
      token_verb(token_command({"user", "reactivate"}, "Undo the deletion of a user",
                               "  coffer token user reactivate alice\n"),
                 {kUser}, verbs().because, run_reactivate),
      token_verb(token_command({"user", "link"}, "Link a user to an identity of a provider",
                               "  coffer token user link alice --issuer https://id.example.org "
                               "--subject 248289761001\n"),
                 {kUser}, verbs().identity, run_link),
      token_verb(token_command({"user", "unlink"}, "Remove an identity from its user",
                               "  coffer token user unlink --issuer https://id.example.org "
                               "--subject 248289761001\n"),
                 {}, verbs().identity, run_unlink),
      token_query(token_command({"user", "identities"}, "List the identities of a user",
                                "  coffer token user identities alice\n"),
                  {user}, run_identities),
  };
}

}  // namespace

std::vector<cli::Command> account_commands() {
  std::vector<cli::Command> all = {init_command()};
  for (cli::Command& command : user_commands()) all.push_back(std::move(command));
  for (cli::Command& command : std::vector<cli::Command>{
           token_group("system", "System accounts, which issue and distribute"),
           token_verb(token_command({"system", "create"}, "Create a system account with a wallet",
                                    "  coffer token system create prizes\n"),
                      {}, with_optional_id(verbs().create_system_account), run_system_create),
           token_query(token_command({"system", "list"}, "List the system accounts",
                                     "  coffer token system list\n"),
                       {}, run_system_list),
           token_verb(token_command({"freeze"}, "Freeze a wallet: it neither sends nor receives",
                                    "  coffer token freeze alice --reason 'lost phone'\n"),
                      {kWallet}, verbs().with_reason, run_freeze),
           token_verb(token_command({"unfreeze"}, "Unfreeze a wallet",
                                    "  coffer token unfreeze alice --reason 'phone found'\n"),
                      {kWallet}, verbs().with_reason, run_unfreeze),
           token_verb(token_command({"limits"}, "Set what a wallet may send; without: no limit",
                                    "  coffer token limits alice --per-transfer 50 --per-day 200\n"
                                    "  coffer token limits alice\n"),
                      {kWallet}, verbs().limits, run_limits)})
    all.push_back(std::move(command));
  return all;
}

}  // namespace coffer::token
