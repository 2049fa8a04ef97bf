#include "token/commands/open_ledger.h"

#include "base/file.h"
#include "base/result.h"
#include "sql/connection.h"
#include "token/settings.h"

namespace coffer::token {
namespace {

Error no_community(const config::Config& config, std::string_view where) {
  const std::string& name = config.of<Settings>().community;
  return make_error(Code::kNotFound,
                    fmt::format("there is no community '{}' in {}; create it with 'coffer token "
                                "init {}', or name another with --community",
                                name, where, name));
}

Result<bool> has_schema(sql::Database& database, const std::string& name) {
  sql::Connection connection = TRY(database.acquire());
  const auto found = TRY(
      connection.value<bool>("SELECT to_regclass($1::text) IS NOT NULL", {name + ".log_outbox"}));
  return found.value_or(false);
}

Result<std::unique_ptr<Store>> open_store(sql::Database& database, const std::string& name,
                                          sql::Schema schema) {
  StoreOptions options;
  options.community = name;
  options.schema = schema;
  return Store::open(database, std::move(options));
}

Result<Party> party_by_id(const Store& store, const Uuid& id) {
  if (const auto wallet = TRY(store.find_wallet(id))) {
    const std::string name = wallet->owner_name.empty() ? to_string(id) : wallet->owner_name;
    return Party{id, name, wallet->owner_type == OwnerType::kUser ? wallet->owner : std::nullopt};
  }
  if (const auto user = TRY(store.find_user(id))) return Party{user->wallet, user->name, user->id};
  for (const SystemAccount& account : TRY(store.system_accounts()))
    if (account.id == id) return Party{account.wallet, account.name};
  return fail(Code::kNotFound, "no wallet, user or system account {}; see 'coffer token wallets'",
              to_string(id));
}

}  // namespace

Result<OpenLedger> OpenLedger::open(const config::Config& config) {
  const std::string& name = config.of<Settings>().community;
  sql::DatabaseOptions options = TRY(database_options(config, name));
  options.create_if_missing = false;
  auto database = sql::Database::open(std::move(options));
  if (!database && database.error().code == Code::kNotFound && has_files(config))
    return fail(no_community(config, config.data_dir));
  if (!database) return fail(database.error());
  OpenLedger ledger{*std::move(database), nullptr};
  if (!has_files(config) && !TRY(has_schema(*ledger.database, name)))
    return fail(no_community(config, ledger.database->name()));
  const auto schema = has_files(config) ? sql::Schema::kMigrate : sql::Schema::kMustBeCurrent;
  ledger.store = TRY(open_store(*ledger.database, name, schema));
  return ledger;
}

Result<OpenLedger> OpenLedger::make(const config::Config& config) {
  const std::string& name = config.of<Settings>().community;
  sql::DatabaseOptions options = TRY(database_options(config, name));
  TRY(make_directory(config.data_dir, 0700));  // also for the key of the log
  if (has_files(config)) TRY(make_directory(community_directory(config), 0700));
  OpenLedger ledger{TRY(sql::Database::open(std::move(options))), nullptr};
  ledger.store = TRY(open_store(*ledger.database, name, sql::Schema::kMigrate));
  return ledger;
}

Result<Party> find_party(const Store& store, const WalletName& name) {
  if (name.id) return party_by_id(store, *name.id);
  std::vector<Party> found;
  const Store::UserQuery query{.name = name.text, .with_deleted = false, .page = {.count = 2}};
  for (const User& user : TRY(store.users(query)).items)
    found.push_back({user.wallet, user.name, user.id});
  for (const SystemAccount& account : TRY(store.system_accounts()))
    if (account.name == name.text) found.push_back({account.wallet, account.name});
  if (found.size() == 1) return found.front();
  if (found.empty())
    return fail(Code::kNotFound,
                "no user or system account '{}'; see 'coffer token user list' and 'coffer token "
                "system list'",
                name.text);
  return fail(Code::kConflict,
              "several owners are called '{}'; name one by its id, see 'coffer token user list "
              "--name {}'",
              name.text, name.text);
}

Result<Party> find_party(const Store& store, const std::string& name) {
  const auto id = parse_uuid(name);
  return find_party(store, WalletName{name, id ? std::optional(*id) : std::nullopt});
}

Result<User> find_user(const Store& store, const std::string& name) {
  if (const auto id = parse_uuid(name)) {
    const auto user = TRY(store.find_user(*id));
    if (user) return *user;
    return fail(Code::kNotFound, "no user {}; see 'coffer token user list'", name);
  }
  const Store::UserQuery query{.name = name, .with_deleted = true, .page = {.count = 2}};
  const Page<User> found = TRY(store.users(query));
  if (found.items.size() == 1) return found.items.front();
  if (found.items.empty())
    return fail(Code::kNotFound, "no user '{}'; see 'coffer token user list'", name);
  return fail(Code::kConflict,
              "several users are called '{}'; name one by its id, see 'coffer token user list "
              "--name {}'",
              name, name);
}

Result<SystemAccount> find_account(const Store& store, const std::string& name) {
  const std::vector<SystemAccount> all = TRY(store.system_accounts());
  if (name.empty() && all.size() == 1) return all.front();
  for (const SystemAccount& account : all)
    if (!name.empty() && account.name == name) return account;
  if (name.empty())
    return fail(Code::kConflict, "there are {} system accounts; name one with --account",
                all.size());
  return fail(Code::kNotFound, "no system account '{}'; see 'coffer token system list'", name);
}

}  // namespace coffer::token
