#include "app/wallet_session.h"

#include "app/wallet_setup.h"
#include "base/file.h"
#include "sql/migrations.h"

namespace coffer::app {
namespace {

// Whose wallets a database holds, if it holds any: what the settings say may then be the default,
// but nothing else.
Result<chain::Network> network_of(sql::Database& database, const Config& config) {
  const Config defaults;
  sql::MigrateOptions options;
  options.modules = {"wallet"};
  const sql::MigrationStatus status = TRY(sql::migration_status(database, options));
  if (!status.identity) return chain::find_network(config.chain, config.network);
  const sql::Identity& found = *status.identity;
  if (config.network != defaults.network && config.network != found.network)
    return fail(Code::kConflict, "{} holds wallets of {} {}, not of {} {}; drop --network",
                database.name(), found.chain, found.network, config.chain, config.network);
  return chain::find_network(found.chain, found.network);
}

}  // namespace

Result<WalletSession> WalletSession::open(const Config& given, bool create) {
  const Config config = TRY(settled_config(given));
  sql::DatabaseOptions options = TRY(wallet_database(config));
  (void)TRY(chain::find_network(config.chain, config.network));  // before anything is made
  options.create_if_missing = create;
  if (create) TRY(make_directory(config.data_dir, 0700));
  WalletSession session;
  // A file's name is no secret; what stands for a server may hold one.
  const std::string place =
      options.location.starts_with("sqlite:") ? options.location : "this database";
  auto database = sql::Database::open(std::move(options));
  if (!database && database.error().code == Code::kNotFound && !create)
    return fail(Code::kNotFound,
                "no wallets in {} yet; make one with 'coffer wallet create NAME', or name the "
                "place with --data",
                place);
  session.database = TRY(std::move(database));
  session.network = TRY(network_of(*session.database, config));
  session.store = TRY(wallet::Store::open(*session.database, session.network));
  return session;
}

Result<wallet::WalletId> WalletSession::find(const std::string& name) const {
  const auto found = store->find(name);
  if (found) return found->id;
  if (found.error().code == Code::kNotFound)
    return fail(Code::kNotFound, "no wallet '{}'; 'coffer wallet list' shows those there are",
                name);
  return fail(found.error());
}

}  // namespace coffer::app
