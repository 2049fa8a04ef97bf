#include "app/wallet_session.h"

#include "app/wallet_setup.h"
#include "base/file.h"

namespace coffer::app {
Result<WalletSession> WalletSession::open(const config::Config& config, bool create) {
  WalletDatabase wanted = TRY(find_wallet_database(config));
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
  TRY(settle_network(*session.database, wanted, create));
  session.network = wanted.network;
  wallet::StoreOptions rules = wallet_store_options(wanted.config, session.network);
  rules.block_at = stored_blocks(wanted.config, session.network);
  session.store = TRY(wallet::Store::open(*session.database, session.network, std::move(rules)));
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
