#include "app/wallet_setup.h"

#include "app/database_setup.h"
#include "app/utxo_reader.h"
#include "base/file.h"

namespace coffer::app {
namespace {

namespace fs = std::filesystem;

}  // namespace

bool has_wallet(const config::Config& config) {
  return config.of<wallet::Settings>().enabled && config.chain == "bitcoin";
}

Result<sql::DatabaseOptions> wallet_database(const config::Config& config) {
  if (!config.of<wallet::Settings>().enabled)
    return fail(Code::kUnavailable, "the wallet is off: wallet.enabled is false in the settings");
  if (!has_wallet(config))
    return fail(Code::kUnavailable, "there is no wallet on {}: it works on bitcoin only",
                config.chain);
  sql::DatabaseOptions options;
  options.location = config.of<wallet::Settings>().database.empty()
                         ? "sqlite:" + (fs::path(config.data_dir) / "wallet.db").string()
                         : config.of<wallet::Settings>().database;
  options.max_connections = config.of<wallet::Settings>().max_connections;
  return options;
}

wallet::StoreOptions wallet_store_options(const config::Config& config,
                                          const chain::Network& network) {
  wallet::StoreOptions options;
  options.gap_limit = static_cast<std::uint32_t>(config.of<wallet::Settings>().gap_limit);
  options.prune_window =
      std::max({options.prune_window, network.rollback_window,
                config.chainstate.rollback_window.value_or(network.rollback_window)});
  return options;
}

namespace {

// What the data directory says of itself; nothing if it holds nothing.
Result<std::optional<chainstate::Identity>> data_identity(const config::Config& config) {
  if (!TRY(file_exists(fs::path(config.data_dir) / "db"))) return std::nullopt;
  kv::DatabaseOptions options = TRY(database_options(config, true));
  const auto db = TRY(kv::Database::open(std::move(options)));
  return stored_identity(*db);
}

Result<config::Config> settle(const config::Config& config,
                              const std::optional<chainstate::Identity>& found) {
  if (!found) return config;
  if ((config.is_given("chain") && config.chain != found->chain) ||
      (config.is_given("network") && config.network != found->network))
    return fail(Code::kConflict, "{} holds {} {}, not {} {}; choose another --data",
                config.data_dir, found->chain, found->network, config.chain, config.network);
  config::Config settled = config;
  settled.chain = found->chain;
  settled.network = found->network;
  for (const char* key : {"chain", "network"})
    settled.given.insert({key, {"store", config.data_dir}});
  return settled;
}

}  // namespace

Result<config::Config> settled_config(const config::Config& config) {
  const auto found = TRY(data_identity(config));
  return settle(config, found);
}

Result<WalletDatabase> find_wallet_database(const config::Config& config) {
  WalletDatabase wallet;
  const auto found = TRY(data_identity(config));
  wallet.config = TRY(settle(config, found));
  wallet.options = TRY(wallet_database(wallet.config));
  wallet.where = TRY(sql::describe_location(wallet.options.location));
  wallet.network = TRY(chain::find_network(wallet.config.chain, wallet.config.network));
  wallet.migrations = wallet::migrations(wallet.network);
  return wallet;
}

Result<std::optional<Hash256>> block_at(const chainstate::ChainState& chain, std::uint64_t height) {
  const auto found = TRY(chain.at(Ordinal(height)));
  if (!found) return std::nullopt;
  return found->hash;
}

std::function<Result<std::optional<Hash256>>(std::uint64_t)> stored_blocks(
    const config::Config& config, const chain::Network& network) {
  struct Opened {
    std::unique_ptr<kv::Database> db;
    StoredChain stored;
  };
  auto kept = std::make_shared<std::optional<Opened>>();
  return
      [config, name = network.name, kept](std::uint64_t height) -> Result<std::optional<Hash256>> {
        if (!*kept) {
          const auto found = TRY(data_identity(config));
          if (!found || found->network != name) return std::nullopt;
          Opened opened;
          kv::DatabaseOptions options = TRY(database_options(config, true));
          opened.db = TRY(kv::Database::open(std::move(options)));
          opened.stored = TRY(open_stored_chain(config, *opened.db));
          *kept = std::move(opened);
        }
        return block_at(*(*kept)->stored.chain, height);
      };
}

Result<> check_wallet_network(const config::Config& config) {
  const chain::Network network = TRY(chain::find_network(config.chain, config.network));
  sql::DatabaseOptions options = TRY(wallet_database(config));
  options.create_if_missing = false;
  const auto database = sql::Database::open(options);
  if (!database && database.error().code == Code::kNotFound) return {};
  if (!database) return fail(database.error());
  sql::MigrateOptions anybody = wallet::reusing_migrations(network);
  anybody.identity.reset();
  const auto status = TRY_IN((*database)->name(), sql::migration_status(**database, anybody));
  if (!status.identity || !status.is_in_use || status.identity->network == config.network)
    return {};
  return fail(Code::kConflict, "{} holds wallets of {} {}; give --network {}, or another --data",
              (*database)->name(), status.identity->chain, status.identity->network,
              status.identity->network);
}

Result<> settle_network(sql::Database& database, WalletDatabase& wallet, bool may_reuse) {
  sql::MigrateOptions anybody =
      may_reuse ? wallet::reusing_migrations(wallet.network) : wallet.migrations;
  anybody.identity.reset();
  const auto status = TRY_IN(database.name(), sql::migration_status(database, anybody));
  if (!status.identity || !status.is_in_use) return {};
  const sql::Identity& found = *status.identity;
  if (wallet.config.is_given("network") && wallet.network.name != found.network)
    return fail(
        Code::kConflict,
        "{} holds wallets of {} {}, not of {} as the settings or {} say; name no network, or "
        "another --data",
        wallet.where.name, found.chain, found.network, wallet.network.name, wallet.config.data_dir);
  wallet.network = TRY(chain::find_network(found.chain, found.network));
  wallet.migrations = wallet::migrations(wallet.network);
  return {};
}

Result<> settle_restore(WalletDatabase& wallet) {
  if (wallet.config.is_given("network")) return {};
  // Not opened: that would change it, or lose what is damaged.
  if (!TRY(file_exists(wallet.where.path))) wallet.migrations.identity.reset();
  return {};
}

}  // namespace coffer::app
