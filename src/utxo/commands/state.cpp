// The commands that check the UTXO state, or change and copy what is on disk.
#include <cstdio>

#include "base/file.h"
#include "base/result.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "json/writer.h"
#include "node/daemon.h"
#include "node/database.h"
#include "node/network_setup.h"
#include "node/snapshot.h"
#include "node/stored_chain.h"
#include "utxo/commands/commands.h"
#include "utxo/commands/reader.h"
#include "utxo/meta.h"
#include "utxo/settings.h"

namespace coffer::utxo {
namespace {

namespace fs = std::filesystem;
using cli::with_thousands;

// The settings that the data were made with, whatever the configuration says now.
Result<config::Config> settings_of_the_data(const config::Config& config) {
  const UtxoReader reader = TRY(UtxoReader::open(config));
  const kv::Column meta = TRY(reader.db->column("utxo_meta"));
  const auto stored = TRY(utxo::read_stored_options(*reader.db, meta));
  if (!stored) return fail(Code::kNotFound, "no UTXO state in {} yet", config.data_dir);
  config::Config actual = config;
  utxo::Settings& settings = actual.edit<utxo::Settings>();
  settings.store = utxo::to_string(stored->store);
  settings.indexing_strategy.clear();
  settings.index.address_hash = stored->index_address;
  settings.index.payment_credential = stored->index_credential;
  settings.self_contained_delta = stored->self_contained_delta;
  return actual;
}

// Where block `number` is, if the store can be taken back there.
Result<chainstate::HeaderInfo> rollback_target(const chainstate::ChainState& chain,
                                               const bus::Position& from, std::uint64_t number) {
  if (!(TRY(chain.rejoin(from)) == from))
    return fail(Code::kConflict,
                "the UTXO state stands on an abandoned branch; start coffer once, then try again");
  const auto target = TRY(chain.last_with_number(BlockNumber(number)));
  if (!target || target->number.value != number)
    return fail(Code::kNotFound, "no block {} on this chain", number);
  if (target->position().block_count() > from.block_count())
    return fail(Code::kConflict, "block {} lies ahead of the UTXO state; nothing to undo", number);
  return *target;
}

// Tables never change, so that a link will do; everything else is written to by its owner.
Result<> copy_database_file(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (from.extension() == ".sst") {
    fs::create_hard_link(from, to, error);
    if (!error) return {};
  }
  fs::copy_file(from, to, error);
  if (error) return fail(errno_error(error.value(), "cannot write " + to.string()));
  return sync_to_disk(to);
}

Result<> copy_database(const fs::path& from, const fs::path& to) {
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error))
    if (it->path().filename() != "LOCK")
      TRY(copy_database_file(it->path(), to / it->path().filename()));
  if (error) return fail(errno_error(error.value(), "cannot read " + from.string()));
  return sync_to_disk(to);
}

// Where the UTXO state of a data directory stands; by that it can be read.
Result<utxo::Stats> stats_of(const Context& context, const fs::path& directory) {
  config::Config there = context.config;
  there.data_dir = directory.string();
  const UtxoReader reader = TRY(UtxoReader::open(there));
  return reader.state->stats();
}

// What a snapshot or a restored directory holds, for the person who asked for it.
Result<> report(const Context& context, std::string_view what, const fs::path& directory) {
  const utxo::Stats stats = TRY(stats_of(context, directory));
  const std::uint64_t number = stats.number.value;
  if (context.json) {
    json::Writer out;
    out.begin_object().field("directory", directory.string()).field("block", number);
    out.field("unspent", stats.unspent).end_object();
    std::printf("%s\n", out.take().c_str());
  } else {
    std::printf("%s %s: block %s, %s unspent outputs\n", std::string(what).c_str(),
                directory.c_str(), with_thousands(number).c_str(),
                with_thousands(stats.unspent).c_str());
  }
  return {};
}

}  // namespace

Result<> run_utxo_verify(const Context& context) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  cli::ProgressBar bar({.label = "verifying", .unit = "records", .total = {}}, system_clock(),
                       cli::stderr_output());
  std::uint64_t before = 0, last = 0;
  std::string stage;
  const auto found =
      TRY(utxo::verify(*reader.db, reader.network, [&](std::string_view what, std::uint64_t done) {
        if (what != stage) stage = what, before += last;
        last = done;
        bar.update(before + done);
      }));
  bar.update(found.unspent + found.address_entries + found.credential_entries + found.spent +
             found.deltas + found.leaves);
  bar.finish();
  const std::pair<const char*, std::uint64_t> rows[] = {
      {"unspent", found.unspent},
      {"address_entries", found.address_entries},
      {"credential_entries", found.credential_entries},
      {"spent", found.spent},
      {"deltas", found.deltas},
      {"leaves", found.leaves},
  };
  if (context.json) {
    json::Writer out;
    out.begin_object().field("ok", true);
    for (const auto& [name, count] : rows) out.field(name, count);
    out.end_object();
    std::printf("%s\n", out.take().c_str());
  } else {
    cli::Table table({{"records"}, {"checked", cli::Align::kRight}});
    for (const auto& [name, count] : rows) table.add_row({name, with_thousands(count)});
    std::printf("%sall of it fits together\n", table.render().c_str());
  }
  return {};
}

Result<> run_utxo_rollback(const Context& context, std::uint64_t block) {
  const config::Config config = TRY(settings_of_the_data(context.config));
  kv::DatabaseOptions database = TRY(node::database_options(config, false));
  database.create_if_missing = false;
  auto db = TRY(kv::Database::open(database));
  const node::StoredChain stored = TRY(node::open_stored_chain(config, *db));
  const utxo::Options options = TRY(utxo::options_of(config.of<utxo::Settings>()));
  auto store = TRY(utxo::Store::open(*db, stored.network, options, {}));
  const bus::Position from = store->position();
  const auto target = TRY(rollback_target(*stored.chain, from, block));
  TRY(store->rollback_to(target.position()));
  const std::uint64_t undone = from.block_count() - target.position().block_count();
  const std::uint64_t unspent = TRY(store->state().stats()).unspent;
  if (context.json) {
    json::Writer out;
    out.begin_object().field("block", block);
    out.field("block_hash", chain::display(stored.network.family, target.hash));
    out.field("undone_blocks", undone).field("unspent", unspent).end_object();
    std::printf("%s\n", out.take().c_str());
  } else {
    std::printf(
        "%s blocks undone: the UTXO state is after block %s, with %s unspent outputs\n"
        "the next start catches up again\n",
        with_thousands(undone).c_str(), with_thousands(block).c_str(),
        with_thousands(unspent).c_str());
  }
  return {};
}

namespace {

// By the daemon of this directory, if there is one; false if there is none.
Result<bool> snapshot_by_daemon(const config::Config& config, const fs::path& directory) {
  json::Writer body;
  body.begin_object().field("directory", directory.string()).end_object();
  node::DaemonRequest request;
  request.method = http::Method::kPost;
  request.target = node::kSnapshotRoute;
  request.body = body.take();
  request.timeout = std::chrono::minutes(5);
  return TRY(node::ask_daemon(config, request)).has_value();
}

}  // namespace

Result<> run_utxo_snapshot(const Context& context, const std::string& directory) {
  TRY(stats_of(context, context.config.data_dir));
  const fs::path to = fs::absolute(directory);
  if (!TRY(snapshot_by_daemon(context.config, to))) {
    // A checkpoint has all columns, and makes none.
    kv::DatabaseOptions database = node::chain_database_options(context.config);
    database.create_if_missing = false;
    auto db = TRY(kv::Database::open(database));
    TRY(node::make_snapshot(*db, to));
  }
  return report(context, "snapshot in", to);
}

Result<> run_utxo_restore(const Context& context, const std::string& directory) {
  const fs::path from = fs::path(directory) / "db", data = context.config.data_dir;
  if (!TRY(file_exists(from / "CURRENT")))
    return fail(Code::kNotFound, "no snapshot in {}; make one with 'coffer utxo snapshot DIR'",
                directory);
  if (TRY(file_exists(data / "db")))
    return fail(Code::kConflict,
                "{} holds data already; move it away, or restore into another --data",
                data.string());
  TRY(stats_of(context, directory));
  TRY(make_directory(data, 0700));
  // Under another name first: what is half copied must not look like data.
  const fs::path unfinished = data / "db.restoring";
  if (const auto made = make_new_directory(unfinished);
      !made && made.error().code == Code::kConflict)
    return fail(Code::kConflict,
                "{} is there: another restore is running, or one was interrupted; if none is "
                "running, remove it and try again",
                unfinished.string());
  else
    TRY(made);
  std::error_code error;
  if (auto copied = copy_database(from, unfinished); !copied) {
    fs::remove_all(unfinished, error);
    return copied;
  }
  fs::rename(unfinished, data / "db", error);
  if (error) return fail(errno_error(error.value(), "cannot rename " + unfinished.string()));
  TRY(sync_to_disk(data));
  return report(context, "restored into", data);
}

}  // namespace coffer::utxo
