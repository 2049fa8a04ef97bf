#include "txstore/commands/open_store.h"

#include "base/file.h"
#include "base/result.h"
#include "node/database.h"
#include "node/sql_store.h"
#include "node/stored_chain.h"
#include "txstore/module.h"
#include "txstore/settings.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore {
namespace {

Result<OpenStore> open_columns(const config::Config& config, OpenFor what) {
  if (!TRY(file_exists(std::filesystem::path(config.data_dir) / "db")))
    return fail(
        Code::kNotFound,
        "there are no data in {}; start with 'coffer demo', or name another directory with --data",
        config.data_dir);
  OpenStore opened;
  opened.backend = "rocksdb";
  kv::DatabaseOptions options = node::chain_database_options(config);
  options.create_if_missing = false;
  options.read_only = what == OpenFor::kReading;
  for (const kv::ColumnOptions& column : columns()) options.columns.push_back(column);
  opened.db = TRY(kv::Database::open(options));
  node::StoredChain stored = TRY(node::open_stored_chain(config, *opened.db));
  opened.network = std::move(stored.network);
  opened.chain = std::move(stored.chain);
  opened.block_at = [chain = opened.chain.get()](std::uint64_t height) {
    return node::block_at(*chain, height);
  };
  const Options rules = options_of(config, opened.network);
  auto store = what == OpenFor::kReading ? Store::open_to_read(*opened.db, opened.network, rules)
                                         : Store::open(*opened.db, opened.network, rules, {});
  if (!store && store.error().code == Code::kNotFound) return fail(no_store(config));
  opened.store = TRY(std::move(store));
  return opened;
}

Result<OpenStore> open_tables(const config::Config& config) {
  node::SqlDatabase wanted = TRY(node::find_sql_database(config, txstore_module()));
  sql::DatabaseOptions options = wanted.options;
  options.create_if_missing = false;
  auto database = sql::Database::open(std::move(options));
  if (!database && database.error().code == Code::kNotFound) return fail(no_store(config));
  OpenStore opened;
  opened.sql = TRY(std::move(database));
  TRY(node::resolve_network(*opened.sql, wanted));
  opened.network = wanted.network;
  opened.backend = config.of<Settings>().backend;
  opened.block_at = node::stored_blocks(wanted.config, opened.network);
  // Only those who run a node, and `coffer db migrate`, bring an older database up to date.
  TRY(sql::prepare_schema(*opened.sql, wanted.migrations, sql::Schema::kMustBeCurrent));
  opened.store =
      TRY(Store::open(*opened.sql, opened.network, options_of(wanted.config, opened.network), {}));
  return opened;
}

}  // namespace

config::Config switched_on(const config::Config& config) {
  config::Config changed = config;
  changed.edit<Settings>().enabled = true;
  return changed;
}

Error no_store(const config::Config& config) {
  const std::string& backend = config.of<Settings>().backend;
  return make_error(
      Code::kNotFound,
      fmt::format("no transaction store in {} (txstore.backend = {}); start coffer with "
                  "--txstore-enabled, or name the backend it was made with",
                  config.data_dir, backend));
}

Result<OpenStore> OpenStore::open(const config::Config& given, OpenFor what) {
  const config::Config config = switched_on(given);
  if (config.of<Settings>().backend != "rocksdb") return open_tables(config);
  // To write would make the columns of a store that is not there.
  if (what == OpenFor::kWriting) (void)TRY(open_columns(config, OpenFor::kReading));
  return open_columns(config, what);
}

}  // namespace coffer::txstore
