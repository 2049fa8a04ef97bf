#include "app/database_setup.h"

#include "app/utxo_setup.h"
#include "chainstate/chain_state.h"
#include "chainstate/event_log.h"
#include "chainstate/totals.h"
#include "utxo/store.h"

namespace coffer::app {
namespace {

std::vector<kv::ColumnOptions> core_columns() {
  std::vector<kv::ColumnOptions> columns = chainstate::ChainState::columns();
  for (auto& more : {chainstate::Totals::columns(), chainstate::EventLog::columns()})
    columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

}  // namespace

Result<kv::DatabaseOptions> database_options(const config::Config& config, bool read_only) {
  std::vector<kv::ColumnOptions> columns = core_columns();
  if (config.of<utxo::Settings>().enabled) {  // else no column is made or used (U13)
    const auto more = read_only ? all_utxo_columns()
                                : utxo::columns(TRY(utxo::options_of(config.of<utxo::Settings>())));
    columns.insert(columns.end(), more.begin(), more.end());
  }
  return kv::DatabaseOptions{.path = std::filesystem::path(config.data_dir) / "db",
                             .columns = std::move(columns),
                             .read_only = read_only,
                             .create_if_missing = !read_only,
                             .block_cache_bytes = config.rocksdb.block_cache_mb << 20};
}

Result<std::optional<chainstate::Identity>> stored_identity(const kv::Database& db) {
  for (const kv::ColumnOptions& column : core_columns())
    if (!db.column(column.name))
      return fail(Code::kUnavailable,
                  "the database in {} is still being made; try again, or start coffer once",
                  db.path().string());
  return chainstate::read_identity(db, TRY(db.column(chainstate::kMetaColumn)));
}

// Empties the columns of the UTXO state that are there, and makes none.
Result<> erase_utxo(const config::Config& config, kv::DatabaseOptions options) {
  std::vector<std::string> names;
  {
    auto db = TRY(kv::Database::open(options));
    names = db->column_names();
  }
  for (kv::ColumnOptions& column : all_utxo_columns())
    if (std::ranges::find(names, column.name) != names.end())
      options.columns.push_back(std::move(column));
  if (options.columns.size() == core_columns().size())
    return fail(Code::kNotFound, "no UTXO state in {}; nothing to rebuild", config.data_dir);
  auto db = TRY(kv::Database::open(std::move(options)));
  return utxo::erase(*db);
}

Result<> rebuild_consumer(const config::Config& config, std::string_view name) {
  if (name != "totals" && name != "events" && name != "utxo")
    return fail(Code::kNotFound, "no consumer '{}'; use totals, events or utxo", name);
  config::Config core = config;
  core.edit<utxo::Settings>().enabled = false;  // makes no column that is not there
  kv::DatabaseOptions options = TRY(database_options(core, false));
  options.create_if_missing = false;
  if (name == "utxo") return erase_utxo(config, std::move(options));
  auto db = TRY(kv::Database::open(std::move(options)));
  const kv::Column meta = TRY(db->column(chainstate::kMetaColumn));
  const kv::Column column = TRY(db->column(name));
  kv::Batch batch;
  batch.del(meta, as_bytes(std::string(name) + ".position"));
  batch.del_range(column, {}, Bytes(64, 0xff));
  return db->commit(batch, kv::Durability::kWalSync);
}

}  // namespace coffer::app
