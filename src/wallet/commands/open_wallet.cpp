#include "wallet/commands/open_wallet.h"

#include <chrono>
#include <thread>

#include "base/file.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "cli/interrupt.h"
#include "node/sql_store.h"
#include "node/stored_chain.h"
#include "wallet/module.h"
#include "wallet/settings.h"

namespace coffer::wallet {
namespace {

// Others have their turn after so much work, for so long that a daemon that waits for SQLite's lock
// notices: SQLite looks every 100 ms. PostgreSQL keeps who waits in a row.
constexpr double kWorkSeconds = 0.5;
constexpr std::chrono::milliseconds kTurnOfOthers{110};

}  // namespace

Result<OpenWallet> OpenWallet::open(const config::Config& config, bool create) {
  node::SqlDatabase wanted = TRY(node::find_sql_database(config, wallet_module()));
  sql::DatabaseOptions options = wanted.options;
  options.create_if_missing = create;
  if (create) TRY(make_directory(config.data_dir, 0700));
  OpenWallet session;
  auto database = sql::Database::open(std::move(options));
  if (!database && database.error().code == Code::kNotFound && !create)
    return fail(Code::kNotFound,
                "no wallets in {} yet; make one with 'coffer wallet create NAME', or name the "
                "place with --data",
                wanted.where.name);
  session.database = TRY(std::move(database));
  TRY(node::resolve_network(*session.database, wanted, create));
  session.network = wanted.network;
  wallet::StoreOptions rules = store_options(wanted.config, session.network);
  // Only those who run a node, and `coffer db migrate`, bring an older database up to date.
  rules.schema = create ? sql::Schema::kCreateIfMissing : sql::Schema::kMustBeCurrent;
  session.go_on = [is_sqlite = session.database->dialect() == sql::Dialect::kSqlite,
                   since_turn = Stopwatch()]() mutable {
    if (is_sqlite && since_turn.seconds() > kWorkSeconds && !cli::is_interrupted()) {
      std::this_thread::sleep_for(kTurnOfOthers);
      since_turn = {};
    }
    return !cli::is_interrupted();
  };
  rules.go_on = session.go_on;
  rules.block_at = node::stored_blocks(wanted.config, session.network);
  session.store = TRY(wallet::Store::open(*session.database, session.network, std::move(rules)));
  return session;
}

Result<wallet::WalletId> OpenWallet::find(const std::string& name) const {
  const auto found = store->find(name);
  if (found) return found->id;
  if (found.error().code == Code::kNotFound)
    return fail(Code::kNotFound, "no wallet '{}'; 'coffer wallet list' shows those there are",
                name);
  return fail(found.error());
}

}  // namespace coffer::wallet
