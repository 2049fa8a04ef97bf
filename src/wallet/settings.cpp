#include "wallet/settings.h"

#include "sql/location.h"

namespace coffer::wallet {
namespace {

bool is_database(std::string_view text) {
  return text.empty() || sql::describe_location(text).has_value();
}

#define SLOT(member) \
  [](config::Config& config) -> config::Slot { return &config.edit<Settings>().member; }

const std::vector<config::Key>& keys() {
  static const std::vector<config::Key> all = {
      {.name = "wallet.enabled",
       .slot = SLOT(enabled),
       .help = "Keep wallets: coins, history and leases of imported keys and addresses (Bitcoin)."},
      {.name = "wallet.database",
       .slot = SLOT(database),
       .help = "Where wallets are kept; without it, wallet.db in the data directory.",
       .accepts = is_database,
       .expects = "sqlite:PATH, postgres://USER@HOST/NAME or \"host=… dbname=…\"",
       .secret = true},
      {.name = "wallet.maxConnections",
       .slot = SLOT(max_connections),
       .help = "Connections to the wallets' database, at most; with SQLite one more for writing.",
       .min = 1,
       .max = 256},
      {.name = "wallet.gapLimit",
       .slot = SLOT(gap_limit),
       .help = "Addresses watched beyond the last one that was used or given out.",
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

}  // namespace coffer::wallet
