#include "wallet/settings.h"

#include "base/result.h"
#include "config/switched_off.h"
#include "node/sql_store.h"

namespace coffer::wallet {
namespace {

#define SLOT(member) \
  [](config::Config& config) -> config::Slot { return &config.edit<Settings>().member; }

const std::vector<config::Key>& keys() {
  static const std::vector<config::Key> all = {
      {.name = "wallet.enabled",
       .slot = SLOT(enabled),
       .help = "Keep wallets: coins, history and leases of imported descriptors and addresses "
               "(Bitcoin)."},
      {.name = "wallet.database",
       .slot = SLOT(database),
       .help = "Database of the wallets; default: wallet.db in the data directory.",
       .accepts = node::is_sql_location,
       .expects = node::kSqlLocationForms,
       .secret = true},
      {.name = "wallet.maxConnections",
       .slot = SLOT(max_connections),
       .help = "Most connections to the wallets' database; SQLite has one more for writing.",
       .min = 1,
       .max = 256},
      {.name = "wallet.gapLimit",
       .slot = SLOT(gap_limit),
       .help = "Number of addresses watched after the last one that was used or given out.",
       .min = 1,
       .max = 100'000},
  };
  return all;
}

#undef SLOT

}  // namespace

std::span<const config::Key> settings() {
  return keys();
}

bool has_wallets(const config::Config& config) {
  return config.of<Settings>().enabled && config.chain == "bitcoin";
}

Error no_wallets(std::string_view chain) {
  if (chain == "bitcoin") return config::switched_off("the wallet", "wallet.enabled");
  return {Code::kNotFound, false,
          fmt::format("there is no wallet on {}; wallets work on bitcoin only", chain),
          "no_wallet_on_chain"};
}

Result<sql::DatabaseOptions> database_options(const config::Config& config) {
  const Settings& settings = config.of<Settings>();
  if (!has_wallets(config)) return fail(no_wallets(settings.enabled ? config.chain : "bitcoin"));
  return node::sql_database_options(config, settings.database, "wallet.db",
                                    settings.max_connections);
}

StoreOptions store_options(const config::Config& config, const chain::Network& network) {
  StoreOptions options;
  options.gap_limit = static_cast<std::uint32_t>(config.of<Settings>().gap_limit);
  options.prune_window =
      std::max({options.prune_window, network.rollback_window,
                config.chainstate.rollback_window.value_or(network.rollback_window)});
  return options;
}

}  // namespace coffer::wallet
