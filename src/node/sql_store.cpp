#include "node/sql_store.h"

#include <filesystem>

#include "base/file.h"
#include "base/result.h"
#include "config/keys.h"
#include "node/database.h"

namespace coffer::node {

bool is_sql_location(std::string_view text) {
  return text.empty() || sql::describe_location(text).has_value();
}

sql::DatabaseOptions sql_database_options(const config::Config& config, std::string_view location,
                                          std::string_view file_name, std::size_t max_connections) {
  sql::DatabaseOptions options;
  options.location = location.empty()
                         ? "sqlite:" + (std::filesystem::path(config.data_dir) / file_name).string()
                         : std::string(location);
  options.max_connections = max_connections;
  options.statement_timeout_ms = static_cast<int>(config.sql.statement_timeout_ms);
  return options;
}

Result<config::Config> stored_network_config(const config::Config& config) {
  const auto found = TRY(data_identity(config));
  if (!found) return config;
  if ((config.is_given("chain") && config.chain != found->chain) ||
      (config.is_given("network") && config.network != found->network))
    return fail(Code::kConflict, "{} belongs to {} {}, not to {} {}; choose another --data",
                config.data_dir, found->chain, found->network, config.chain, config.network);
  config::Config stored = config;
  stored.chain = found->chain;
  stored.network = found->network;
  for (const char* key : {"chain", "network"})
    stored.given.insert({key, {"store", config.data_dir}});
  return stored;
}

bool SqlDatabase::is_in_data_dir() const {
  const config::Key* key = config::find_key(store().setting);
  if (key == nullptr) return true;
  config::Config copy = config;  // a slot is for writing
  const config::Slot slot = key->slot(copy);
  return std::get<std::string*>(slot)->empty();
}

Result<> make_place(const SqlDatabase& database) {
  if (!database.is_in_data_dir() || database.where.path.empty()) return {};
  TRY(make_directory(database.config.data_dir, 0700));
  return make_directory(database.where.path.parent_path(), 0700);
}

Result<SqlDatabase> find_sql_database(const config::Config& config, const Module& module) {
  SqlDatabase found;
  found.module = &module;
  found.config = TRY(stored_network_config(config));
  found.options = TRY(module.sql->database(found.config));
  found.where = TRY(sql::describe_location(found.options.location));
  found.network = TRY(chain::find_network(found.config.chain, found.config.network));
  found.migrations = module.sql->migrations(found.network);
  if (module.sql->schema != nullptr) found.migrations.schema = module.sql->schema(found.config);
  return found;
}

Result<std::vector<SqlDatabase>> find_sql_databases(const config::Config& config) {
  std::vector<SqlDatabase> all;
  const config::Config stored = TRY(stored_network_config(config));
  for (const Module* module : modules()) {
    if (!module->sql || !module->sql->database(stored)) continue;
    all.push_back(TRY(find_sql_database(config, *module)));
  }
  return all;
}

Result<> check_sql_network(const config::Config& config, const Module& module,
                           const sql::StopSignal& stop) {
  auto options = module.sql->database(config);
  if (!options) return {};  // none with these settings
  const chain::Network network = TRY(chain::find_network(config.chain, config.network));
  options->create_if_missing = false;
  options->stop = &stop;
  const auto database = sql::Database::open(*options);
  if (!database && database.error().code == Code::kNotFound) return {};
  if (!database) return fail(database.error());
  sql::MigrateOptions anybody = module.sql->reusing_migrations(network);
  if (module.sql->schema != nullptr) anybody.schema = module.sql->schema(config);
  anybody.identity.reset();
  const auto status = TRY_IN((*database)->name(), sql::migration_status(**database, anybody));
  if (!status.identity || !status.is_in_use || status.identity->network == config.network)
    return {};
  return fail(Code::kConflict, "{} holds {} of {} {}; add --network {}, or choose another --data",
              (*database)->name(), module.sql->content, status.identity->chain,
              status.identity->network, status.identity->network);
}

Result<> resolve_network(sql::Database& database, SqlDatabase& wanted, bool may_reuse) {
  sql::MigrateOptions anybody =
      may_reuse ? wanted.store().reusing_migrations(wanted.network) : wanted.migrations;
  anybody.schema = wanted.migrations.schema;
  anybody.identity.reset();
  const auto status = TRY_IN(database.name(), sql::migration_status(database, anybody));
  if (!status.identity || !status.is_in_use) return {};
  const sql::Identity& found = *status.identity;
  if (wanted.config.is_given("network") && wanted.network.name != found.network)
    return fail(Code::kConflict,
                "{} holds {} of {} {}, but the settings or {} say {}; remove --network, or choose "
                "another --data",
                wanted.where.name, wanted.store().content, found.chain, found.network,
                wanted.config.data_dir, wanted.network.name);
  wanted.network = TRY(chain::find_network(found.chain, found.network));
  wanted.migrations = wanted.store().migrations(wanted.network);
  return {};
}

Result<> resolve_restore(SqlDatabase& wanted) {
  if (wanted.config.is_given("network")) return {};
  // Not opened: that would change it, or lose what is damaged.
  if (!TRY(file_exists(wanted.where.path))) wanted.migrations.identity.reset();
  return {};
}

}  // namespace coffer::node
