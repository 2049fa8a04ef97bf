#include "app/wallet_setup.h"

#include "app/database_setup.h"
#include "base/file.h"

namespace coffer::app {
namespace {

namespace fs = std::filesystem;

// The text of a setting, unless it is the default, which nobody need have meant.
bool contradicts(const std::string& setting, const std::string& fallback,
                 const std::string& found) {
  return setting != fallback && setting != found;
}

}  // namespace

Result<sql::DatabaseOptions> wallet_database(const Config& config) {
  if (config.chain != "bitcoin")
    return fail(Code::kUnavailable, "there is no wallet on {}: it works on bitcoin only",
                config.chain);
  sql::DatabaseOptions options;
  options.location = "sqlite:" + (fs::path(config.data_dir) / "wallet.db").string();
  return options;
}

Result<Config> settled_config(const Config& config) {
  if (!TRY(file_exists(fs::path(config.data_dir) / "db"))) return config;
  kv::DatabaseOptions options = TRY(database_options(config, true));
  const auto db = TRY(kv::Database::open(std::move(options)));
  const auto found = TRY(stored_identity(*db));
  if (!found) return config;
  const Config defaults;
  if (contradicts(config.chain, defaults.chain, found->chain) ||
      contradicts(config.network, defaults.network, found->network))
    return fail(Code::kConflict, "{} holds {} {}, not {} {}; choose another --data",
                config.data_dir, found->chain, found->network, config.chain, config.network);
  Config settled = config;
  settled.chain = found->chain;
  settled.network = found->network;
  return settled;
}

}  // namespace coffer::app
