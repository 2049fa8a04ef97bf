#include "node/database.h"

#include <coffer/chainstate/chain_state.h>
#include "base/file.h"
#include "base/result.h"
#include "chainstate/event_log.h"
#include "chainstate/totals.h"
#include "node/identity_file.h"
#include "node/module.h"

namespace coffer::node {
namespace {

using ColumnList = std::vector<kv::ColumnOptions>;

ColumnList core_columns() {
  ColumnList columns = chainstate::ChainState::columns();
  for (auto& more : {chainstate::Totals::columns(), chainstate::EventLog::columns()})
    columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

Result<ColumnList> possible_columns(const Module& module) {
  if (module.columns == nullptr) return ColumnList();
  return module.columns(config::Config(), Columns::kPossible);
}

// Empties the columns of a module that are there, and makes none.
Result<> erase_module(const config::Config& config, const Module& module) {
  kv::DatabaseOptions options = chain_database_options(config);
  options.create_if_missing = false;
  std::vector<std::string> names;
  {
    auto db = TRY(kv::Database::open(options));
    names = db->column_names();
  }
  const std::size_t without = options.columns.size();
  for (kv::ColumnOptions& column : TRY(possible_columns(module)))
    if (std::ranges::find(names, column.name) != names.end())
      options.columns.push_back(std::move(column));
  if (options.columns.size() == without)
    return fail(Code::kNotFound, "there is no {} state in {}, so there is nothing to rebuild",
                module.name, config.data_dir);
  auto db = TRY(kv::Database::open(options));
  return module.erase(*db);
}

}  // namespace

kv::DatabaseOptions chain_database_options(const config::Config& config) {
  return kv::DatabaseOptions{.path = std::filesystem::path(config.data_dir) / "db",
                             .columns = core_columns(),
                             .block_cache_bytes = config.rocksdb.block_cache_mb << 20};
}

Result<kv::DatabaseOptions> database_options(const config::Config& config, bool read_only) {
  kv::DatabaseOptions options = chain_database_options(config);
  options.read_only = read_only;
  options.create_if_missing = !read_only;
  for (const Module* module : modules()) {
    if (module->columns == nullptr) continue;
    const ColumnList more =
        TRY(module->columns(config, read_only ? Columns::kPossible : Columns::kConfigured));
    options.columns.insert(options.columns.end(), more.begin(), more.end());
  }
  return options;
}

Result<std::optional<chainstate::Identity>> stored_identity(const kv::Database& db) {
  for (const kv::ColumnOptions& column : core_columns())
    if (!db.column(column.name))
      return fail(Code::kUnavailable,
                  "the database in {} is still being created; try again, or start coffer once",
                  db.path().string());
  return chainstate::read_identity(db, TRY(db.column(chainstate::kMetaColumn)));
}

Result<std::optional<chainstate::Identity>> data_identity(const config::Config& config) {
  if (!TRY(file_exists(std::filesystem::path(config.data_dir) / "db"))) return std::nullopt;
  if (auto said = TRY(read_identity_file(config.data_dir))) return said;
  // A copy of a database alone, or one that no process has opened since its first block.
  kv::DatabaseOptions options = TRY(database_options(config, true));
  const auto db = TRY(kv::Database::open(options));
  return stored_identity(*db);
}

Result<> erase_unbound(kv::Database& db) {
  for (const Module* module : modules()) {
    bool has_data = false;
    for (const kv::ColumnOptions& column : TRY(possible_columns(*module))) {
      const auto there = db.column(column.name);
      if (!there) continue;  // the module is off, or was never on
      kv::Iterator any = db.iterate(*there);
      any.seek_to_first();
      TRY(any.status());
      has_data = has_data || any.valid();
    }
    if (has_data) TRY(module->erase(db));
  }
  return {};
}

std::string rebuildable_consumers() {
  std::vector<std::string_view> names = {"totals", "events"};
  for (const Module* module : modules())
    if (module->erase != nullptr) names.push_back(module->name);
  const std::string_view last = names.back();
  names.pop_back();
  return fmt::format("{} or {}", fmt::join(names, ", "), last);
}

Result<> rebuild_consumer(const config::Config& config, std::string_view name) {
  const Module* module = find_module(name);
  if (module != nullptr && module->erase != nullptr) return erase_module(config, *module);
  if (name != "totals" && name != "events")
    return fail(Code::kNotFound, "there is no consumer '{}'; use {}", name,
                rebuildable_consumers());
  kv::DatabaseOptions options = chain_database_options(config);
  options.create_if_missing = false;
  auto db = TRY(kv::Database::open(options));
  const kv::Column meta = TRY(db->column(chainstate::kMetaColumn));
  const kv::Column column = TRY(db->column(name));
  kv::Batch batch;
  batch.del(meta, as_bytes(std::string(name) + ".position"));
  batch.del_range(column, {}, Bytes(64, 0xff));
  return db->commit(batch, kv::Durability::kWalSync);
}

}  // namespace coffer::node
