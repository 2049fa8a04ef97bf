#include "txstore/settings.h"

#include "base/result.h"
#include "config/switched_off.h"
#include "node/sql_store.h"

namespace coffer::txstore {
namespace {

#define SLOT(member) \
  [](config::Config& config) -> config::Slot { return &config.edit<Settings>().member; }

const std::vector<config::Key>& keys() {
  static const std::vector<config::Key> all = {
      {.name = "txstore.enabled",
       .slot = SLOT(enabled),
       .help = "Keep the transactions that still matter: a transaction index that prunes itself."},
      {.name = "txstore.backend",
       .slot = SLOT(backend),
       .help = "Kind of database of the transaction store; each kind has data of its own.",
       .choices = {"rocksdb", "sqlite", "postgres"}},
      {.name = "txstore.start",
       .slot = SLOT(start),
       .help =
           "Where a new store begins: with the chain, or after the newest block that Coffer has "
           "(for a pruned node; older transactions are unknown to it then).",
       .choices = {"origin", "tip"}},
      {.name = "txstore.database",
       .slot = SLOT(database),
       .help = "Location of the SQL database; default: txstore.db in the data directory (sqlite).",
       .accepts = node::is_sql_location,
       .expects = node::kSqlLocationForms,
       .secret = true},
      {.name = "txstore.max_connections",
       .slot = SLOT(max_connections),
       .help = "Most connections to the SQL database; SQLite has one more for writing.",
       .min = 1,
       .max = 256},
      {.name = "txstore.block_height_retention",
       .slot = SLOT(block_height_retention),
       .help = "Blocks that a fully spent transaction is kept for at least; never fewer than a "
               "reorganisation can undo.",
       .min = 1,
       .max = 1'000'000},
      {.name = "txstore.unmined_retention",
       .slot = SLOT(unmined_retention),
       .help = "Blocks after which an unmined transaction that left the mempool is conflicting.",
       .min = 1,
       .max = 1'000'000},
      {.name = "txstore.cleanup_budget",
       .slot = SLOT(cleanup_budget),
       .help = "Transactions and children that one step of cleanup reads.",
       .min = 100,
       .max = 1'000'000},
  };
  return all;
}

#undef SLOT

}  // namespace

std::span<const config::Key> settings() {
  return keys();
}

Result<> check_settings(const config::Config& config) {
  const Settings& settings = config.of<Settings>();
  if (settings.backend == "postgres" && settings.database.empty())
    return fail(Code::kUsage,
                "txstore.backend = \"postgres\" needs txstore.database, e.g. "
                "postgres://coffer@localhost/coffer");
  return {};
}

Result<sql::DatabaseOptions> database_options(const config::Config& config) {
  const Settings& settings = config.of<Settings>();
  if (!settings.enabled)
    return fail(config::switched_off("the transaction store", "txstore.enabled"));
  if (settings.backend == "rocksdb")
    return fail(Code::kNotFound, "the transaction store is in RocksDB (txstore.backend)");
  return node::sql_database_options(config, settings.database, "txstore.db",
                                    settings.max_connections);
}

Options options_of(const config::Config& config, const chain::Network& network) {
  const Settings& settings = config.of<Settings>();
  Options options;
  options.window =
      window_of(network, config.chainstate.rollback_window.value_or(network.rollback_window));
  options.block_height_retention = settings.block_height_retention;
  // Chain-sync brings no mempool: what a rollback left unmined is not waited for longer than that.
  options.unmined_retention =
      network.family == chain::Family::kCardano ? options.window : settings.unmined_retention;
  options.cleanup_budget = settings.cleanup_budget;
  return options;
}

}  // namespace coffer::txstore
