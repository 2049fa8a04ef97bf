// coffer tx rebuild: empties the store, but for what people did, so that the next start fills it
// again. Before anything is deleted the source is asked whether it still has the blocks.
#include <coffer/feed/source.h>
#include "base/result.h"
#include "cli/output.h"
#include "cli/table.h"
#include "follow/source_block_reader.h"
#include "json/writer.h"
#include "node/daemon.h"
#include "node/database.h"
#include "node/stored_chain.h"
#include "sql/connection.h"
#include "txstore/commands/commands.h"
#include "txstore/commands/open_store.h"
#include "txstore/settings.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore {
namespace {

// What the source can give of the blocks that the store was made of.
struct Fetchable {
  std::uint64_t first = 0, tip = 0;          // the heights that are wanted
  std::optional<std::uint64_t> lowest = {};  // the first height from which on it has them; nothing:
                                             // it has none
  bool all() const { return lowest && *lowest <= first; }
};

Result<bool> can_read(follow::SourceBlockReader& reader, std::uint64_t height) {
  const auto block = reader.read(height);
  if (block) return true;
  const Error& error = block.error();
  const bool is_pruned = error.code == Code::kUnavailable && !error.retryable;
  if (is_pruned || error.code == Code::kNotFound) return false;
  return fail(error);  // it does not answer, or not to us
}

// A pruned node has the newest blocks only, so the border is found by halving.
Result<Fetchable> probe_source(const OpenStore& opened, const chainstate::ChainState& chain,
                               const std::string& source) {
  Fetchable found;
  const Tip tip = opened.store->tip();
  if (tip.first_block) found.first = tip.first_block->ordinal.value;
  found.tip = tip.height();
  follow::SourceBlockReader reader(
      TRY(feed::open_source(source, opened.network, system_clock(), {.follow = false})),
      opened.network, chain);
  if (TRY(can_read(reader, found.first))) {
    found.lowest = found.first;
    return found;
  }
  if (!TRY(can_read(reader, found.tip))) return found;
  std::uint64_t missing = found.first, there = found.tip;
  while (there - missing > 1) {
    const std::uint64_t middle = missing + (there - missing) / 2;
    (TRY(can_read(reader, middle)) ? there : missing) = middle;
  }
  found.lowest = there;
  return found;
}

// Errors: kConflict with what cannot be fetched again, or that it is not known.
Result<> check_rebuildable(const Context& context, const OpenStore& opened) {
  if (opened.store->tip().position.at_origin) return {};
  const bool simulated = opened.network.name == "devnet";
  if (simulated) return {};  // made again from its seed
  if (!context.config.is_given("source"))
    return fail(Code::kConflict,
                "without --source it is not known whether the blocks can be fetched again; nothing "
                "was deleted: name the source, or add --yes");
  std::unique_ptr<kv::Database> db;
  std::unique_ptr<chainstate::ChainState> chain;
  if (!opened.chain) {
    const kv::DatabaseOptions options = TRY(node::database_options(context.config, true));
    db = TRY(kv::Database::open(options));
    chain = TRY(node::open_stored_chain(context.config, *db)).chain;
  }
  const Fetchable found =
      TRY(probe_source(opened, opened.chain ? *opened.chain : *chain, context.config.source));
  if (found.all()) return {};
  const std::string missing =
      found.lowest ? fmt::format("blocks {} to {}", found.first, *found.lowest - 1)
                   : fmt::format("any of the blocks {} to {}", found.first, found.tip);
  return fail(Code::kConflict,
              "the source no longer has {}, so that their transactions could not be stored again; "
              "nothing was deleted: use a source that has them, or add --yes",
              missing);
}

// What is left is a store, though an empty one: later commands find it.
Result<> begin_empty(const config::Config& config, const chain::Network& network) {
  kv::DatabaseOptions options = node::chain_database_options(config);
  options.create_if_missing = false;
  for (const kv::ColumnOptions& column : columns()) options.columns.push_back(column);
  const auto db = TRY(kv::Database::open(options));
  (void)TRY(Store::open(*db, network, options_of(config, network), {}));
  return {};
}

}  // namespace

Result<> run_tx_rebuild(const Context& context, bool yes) {
  const config::Config config = switched_on(context.config);
  if (TRY(node::ask_daemon(config, {.target = "/health/live"})))
    return fail(Code::kUnavailable, "a coffer is running on {}; stop it first", config.data_dir);
  std::uint64_t records = 0;
  std::optional<chain::Network> network;
  {
    const auto opened = OpenStore::open(config);
    // What cannot be read can still be emptied.
    const bool is_damaged = !opened && opened.error().code == Code::kCorrupt;
    if (is_damaged && !yes)
      return fail(Code::kCorrupt, "{}; add --yes to delete it all the same",
                  opened.error().message);
    if (!opened && !is_damaged) return fail(opened.error());
    if (opened && !yes) TRY(check_rebuildable(context, *opened));
    if (opened) network = opened->network;
    if (opened)
      if (const auto stats = opened->store->stats())
        records = static_cast<std::uint64_t>(std::max<std::int64_t>(stats->counts.records, 0));
    if (opened && opened->sql) TRY(erase(*opened->sql));
  }
  if (config.of<Settings>().backend == "rocksdb") {
    TRY(node::rebuild_consumer(config, "txstore"));
    if (network) TRY(begin_empty(config, *network));
  }
  json::Writer out;
  out.begin_object().field("rebuilt", "txstore").field("deleted", records).end_object();
  if (context.json)
    cli::print_line(out.take());
  else
    cli::print(
        fmt::format("the transaction store is empty ({} deleted, what people did is kept); "
                    "the next start fills it again from the source\n",
                    cli::counted(records, "transaction")));
  return cli::finish_output();
}

}  // namespace coffer::txstore
