#include "app/wallet_session.h"

#include "app/wallet_setup.h"
#include "base/file.h"

namespace coffer::app {
namespace {

// Whose wallets a database holds, if it holds any. The settings may then be the defaults, which
// nobody need have meant, but nothing else.
Result<chain::Network> network_of(sql::Database& database, const WalletDatabase& wanted) {
  sql::MigrateOptions options = wanted.migrations;
  options.identity.reset();
  const sql::MigrationStatus status = TRY(sql::migration_status(database, options));
  if (!status.identity) return wanted.network;
  const sql::Identity& found = *status.identity;
  if (wanted.network.name != Config().network && wanted.network.name != found.network)
    return fail(Code::kConflict, "{} holds wallets of {} {}, not of {}; drop --network",
                wanted.where.name, found.chain, found.network, wanted.network.name);
  return chain::find_network(found.chain, found.network);
}

}  // namespace

Result<WalletSession> WalletSession::open(const Config& config, bool create) {
  const WalletDatabase wanted = TRY(find_wallet_database(config));
  sql::DatabaseOptions options = wanted.options;
  options.create_if_missing = create;
  if (create) TRY(make_directory(config.data_dir, 0700));
  WalletSession session;
  auto database = sql::Database::open(std::move(options));
  if (!database && database.error().code == Code::kNotFound && !create)
    return fail(Code::kNotFound,
                "no wallets in {} yet; make one with 'coffer wallet create NAME', or name the "
                "place with --data",
                wanted.where.name);
  session.database = TRY(std::move(database));
  session.network = TRY(network_of(*session.database, wanted));
  wallet::StoreOptions store;
  store.gap_limit = static_cast<std::uint32_t>(wanted.config.wallet.gap_limit);
  session.store = TRY(wallet::Store::open(*session.database, session.network, store));
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
