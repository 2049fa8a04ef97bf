// coffer bench txstore: from block files to a store that prunes itself, against the UTXO state and
// against the raw database in the same run.
#include <cstdio>

#include <coffer/chain/decode.h>
#include <coffer/txstore/store.h>

#include "base/result.h"
#include "base/temp_dir.h"
#include "cli/table.h"
#include "feed/file_source.h"
#include "node/bench_report.h"
#include "node/bench_tools.h"
#include "node/module.h"
#include "txstore/commands/bench_chain.h"
#include "txstore/commands/bench_sql.h"
#include "txstore/commands/commands.h"
#include "txstore/rocksdb/backend.h"

namespace coffer::txstore {
namespace {

// The UTXO state, through the interface that every engine has.
Result<BenchTime> sync_utxo(const BenchChain& bench) {
  const node::Module* utxo = node::find_module("utxo");
  if (utxo == nullptr) return fail(Code::kUnavailable, "this program has no UTXO state");
  const BenchWatch watch;
  const auto more = TRY(utxo->columns(bench.config, node::Columns::kConfigured));
  auto db = TRY(node::open_bench_database(bench.scratch / "utxo", more));
  auto chain = TRY(chainstate::ChainState::open(
      *db, bench.network, chainstate::Identity::of(bench.network), kLeastWindow));
  {
    auto module = TRY(utxo->open({bench.config, bench.network, *db, *chain, {}, false, true}));
    TRY(node::follow_file(bench.file, bench.network, *chain, *module->consumer()));
  }
  TRY(db->flush());
  return watch.time();
}

struct Synced {
  BenchTime time;
  std::uint64_t transactions = 0, operations = 0;
  Stats stats;
  IoCounts io;
};

// Transactions created and mined, and outputs spent, in the file.
struct Contents {
  std::uint64_t blocks = 0, transactions = 0, inputs = 0;
};

Result<Contents> contents_of(const BenchChain& bench) {
  feed::FileSource source(bench.file, bench.network);
  Contents contents;
  chain::Block block;
  for (;;) {
    feed::SourceEvent event = TRY(source.next(0));
    auto* next = std::get_if<feed::NextBlock>(&event);
    if (next == nullptr) return contents;
    TRY(chain::decode_into(block, bench.network, next->raw, {.hash = false, .verify = false}));
    ++contents.blocks;
    contents.transactions += block.txs.size();
    for (const chain::Tx& tx : block.txs) contents.inputs += block.spent_by(tx).size();
  }
}

Result<Synced> sync_txstore(const BenchChain& bench, const Contents& contents,
                            const std::filesystem::path& path) {
  const BenchWatch watch;
  auto db = TRY(node::open_bench_database(path, columns()));
  auto chain = TRY(chainstate::ChainState::open(
      *db, bench.network, chainstate::Identity::of(bench.network), kLeastWindow));
  Synced synced;
  auto store = TRY(Store::open(*db, bench.network, Options(), {}));
  {
    auto consumer = TRY(Consumer::open(*store));
    TRY(node::follow_file(bench.file, bench.network, *chain, *consumer));
  }
  TRY(db->flush());
  synced.time = watch.time();
  synced.stats = TRY(store->stats());
  synced.transactions = contents.transactions;
  synced.operations = 2 * contents.transactions + contents.inputs +
                      static_cast<std::uint64_t>(synced.stats.counts.deleted);
  synced.io = dynamic_cast<RocksBackend&>(store->backend()).io_counts();
  return synced;
}

// Of all columns, compacted.
Result<double> disk_bytes(const std::filesystem::path& path) {
  const std::vector<kv::ColumnOptions> all = columns();
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const kv::ColumnOptions& column : all) names.push_back(column.name);
  return node::compacted_bytes(path, all, names);
}

std::string per_second(std::uint64_t count, double seconds) {
  return cli::with_thousands(static_cast<std::uint64_t>(static_cast<double>(count) / seconds));
}

}  // namespace

Result<> run_bench_txstore(const node::Context& context, const BenchTxArguments& arguments) {
  TempDir scratch;
  const bool given = !arguments.file.empty();
  BenchChain bench{
      context.config,
      TRY(chain::find_network(context.config.chain, given ? context.config.network : "devnet")),
      arguments.file, scratch.path()};
  if (!given)
    bench.file = TRY(node::write_simulated_file(
        scratch.path(), bench.network,
        {.seed = context.config.devnet.seed, .blocks = arguments.blocks}));
  node::BenchReport report;
  const Contents contents = TRY(contents_of(bench));
  const BenchTime utxo = TRY(sync_utxo(bench));
  report.add("utxo sync", fmt::format("{:.2f} s", utxo.seconds),
             fmt::format("{:.2f} s of CPU; {} blocks, {} transactions, {} inputs", utxo.cpu_seconds,
                         contents.blocks, cli::with_thousands(contents.transactions),
                         cli::with_thousands(contents.inputs)));
  const auto path = scratch.path() / "sync";
  const Synced synced = TRY(sync_txstore(bench, contents, path));
  const double wall = synced.time.seconds, cpu = synced.time.cpu_seconds;
  const double micros = 1e6 / static_cast<double>(synced.transactions);
  report.add("txstore sync", fmt::format("{:.2f} s", wall),
             fmt::format("{} operations/s, {:.2f} µs a transaction ({:.2f} of CPU), {:.2f} times "
                         "the UTXO state ({:.2f} of CPU); {} stored, {} deleted",
                         per_second(synced.operations, wall), micros * wall, micros * cpu,
                         wall / utxo.seconds, cpu / utxo.cpu_seconds,
                         cli::with_thousands(synced.stats.counts.records),
                         cli::with_thousands(synced.stats.counts.deleted)));
  const node::RawWrites raw = TRY(node::write_raw(path, scratch.path() / "raw", columns()));
  report.add("raw writes", fmt::format("{:.2f} s", raw.seconds),
             fmt::format("the {} final rows through memtables; sync takes {:.2f} of it",
                         cli::with_thousands(raw.rows), wall / raw.seconds));
  const double stored = static_cast<double>(synced.stats.counts.records);
  report.add("disk", fmt::format("{:.0f} bytes", TRY(disk_bytes(path)) / stored),
             fmt::format("a stored transaction, compacted; {:.0f} of them are its raw bytes",
                         static_cast<double>(synced.stats.counts.bytes) / stored));
  if (!arguments.sql_store.empty()) {
    const SqlBench sql = TRY(bench_sql(bench.network, {arguments.sql_store, arguments.sql_playback},
                                       [&](Store& store) { return feed_at_tip(bench, store); }));
    report.add("SQL at the tip",
               fmt::format("{} transactions/s", per_second(contents.transactions, sql.seconds)),
               fmt::format("{} units; the same statements with the verdicts given take {:.2f} of "
                           "the time",
                           sql.units, sql.playback_seconds / sql.seconds));
  }
  if (!arguments.only_sync) {
    const AtTip tip = TRY(bench_tip(bench));
    if (tip.blocks > 0)
      report.add(
          "at the tip",
          fmt::format("{} transactions/s", per_second(tip.transactions, tip.time.seconds)),
          fmt::format("{} blocks, {} deleted, {} row changes; the same put raw take {:.2f} of the "
                      "time ({:.2f} of CPU)",
                      tip.blocks, cli::with_thousands(tip.deleted), cli::with_thousands(tip.rows),
                      tip.raw.seconds / tip.time.seconds,
                      tip.raw.cpu_seconds / tip.time.cpu_seconds));
    const BenchTime deleting = TRY(bench_deletion(bench));
    report.add("deletion alone",
               fmt::format("{} parents/s", per_second(kBenchParents, deleting.seconds)),
               fmt::format("{} parents of {} children and {} inputs; {} a second of CPU",
                           cli::with_thousands(kBenchParents), kBenchChildren, kBenchInputs,
                           per_second(kBenchParents, deleting.cpu_seconds)));
  }
  std::printf("%s", (context.json ? report.json() : report.table()).c_str());
  return {};
}

}  // namespace coffer::txstore
