// coffer bench txstore: from block files to a store that prunes itself, against the UTXO state and
// against the raw database in the same run.
#include <cstdio>

#include <coffer/chain/decode.h>
#include <coffer/follow/follower.h>
#include <coffer/txstore/store.h>

#include "base/file.h"
#include "base/random.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "base/temp_dir.h"
#include "cli/table.h"
#include "feed/block_file.h"
#include "feed/file_source.h"
#include "node/bench_report.h"
#include "node/module.h"
#include "node/simulate.h"
#include "txstore/commands/bench_chain.h"
#include "txstore/commands/bench_sql.h"
#include "txstore/commands/commands.h"
#include "txstore/rocksdb/backend.h"

namespace coffer::txstore {
namespace {

constexpr std::uint64_t kSimulatedTxs = 500;

// As `coffer sync` does it, with this as the only consumer.
Result<> follow(const BenchChain& bench, chainstate::ChainState& chain, bus::Consumer& consumer) {
  bus::Bus bus;
  bus.add(consumer);
  bus.start();
  feed::FileSource source(bench.file, bench.network);
  follow::Follower follower(source, bench.network, chain, bus);
  TRY(follower.run());
  TRY(bus.drain());
  bus.stop();
  if (!(consumer.position() == chain.position()))
    return fail(Code::kUnavailable, "{} halted before the end", consumer.name());
  return {};
}

// The UTXO state, through the interface that every engine has.
Result<double> sync_utxo(const BenchChain& bench) {
  const node::Module* utxo = node::find_module("utxo");
  if (utxo == nullptr) return fail(Code::kUnavailable, "this program has no UTXO state");
  const Stopwatch watch;
  const auto more = TRY(utxo->columns(bench.config, node::Columns::kConfigured));
  auto db = TRY(open_bench_database(bench.scratch / "utxo", more));
  auto chain = TRY(chainstate::ChainState::open(
      *db, bench.network, chainstate::Identity::of(bench.network), kLeastWindow));
  {
    auto module = TRY(utxo->open({bench.config, bench.network, *db, *chain, {}, false, true}));
    TRY(follow(bench, *chain, *module->consumer()));
  }
  TRY(db->flush());
  return watch.seconds();
}

struct Synced {
  double seconds = 0;
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
  const Stopwatch watch;
  auto db = TRY(open_bench_database(path, columns()));
  auto chain = TRY(chainstate::ChainState::open(
      *db, bench.network, chainstate::Identity::of(bench.network), kLeastWindow));
  Synced synced;
  auto store = TRY(Store::open(*db, bench.network, Options(), {}));
  {
    auto consumer = TRY(Consumer::open(*store));
    TRY(follow(bench, *chain, *consumer));
  }
  TRY(db->flush());
  synced.seconds = watch.seconds();
  synced.stats = TRY(store->stats());
  synced.transactions = contents.transactions;
  synced.operations = 2 * contents.transactions + contents.inputs +
                      static_cast<std::uint64_t>(synced.stats.counts.deleted);
  synced.io = dynamic_cast<RocksBackend&>(store->backend()).io_counts();
  return synced;
}

// What the store holds at the end, put into an empty one: nothing decoded, nothing looked up.
Result<double> write_raw(const std::filesystem::path& from, const std::filesystem::path& to,
                         std::uint64_t& count) {
  struct Row {
    std::size_t column = 0;
    Bytes key, value;
  };
  std::vector<Row> rows;
  const std::vector<kv::ColumnOptions> all = columns();
  {
    auto db = TRY(open_bench_database(from, all));
    for (std::size_t i = 0; i < all.size(); ++i) {
      kv::Iterator it = db->iterate(TRY(db->column(all[i].name)), {.fill_cache = false});
      for (it.seek_to_first(); it.valid(); it.next())
        rows.push_back({i, Bytes(it.key().begin(), it.key().end()),
                        Bytes(it.value().begin(), it.value().end())});
      TRY(it.status());
    }
  }
  count = rows.size();
  Rng rng(1);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
  const Stopwatch watch;
  auto db = TRY(open_bench_database(to, all));
  std::vector<kv::Column> open;
  open.reserve(all.size());
  for (const kv::ColumnOptions& column : all) open.push_back(TRY(db->column(column.name)));
  kv::Batch batch;
  for (const Row& row : rows) {
    batch.put(open[row.column], row.key, row.value);
    if (batch.count() < 10'000) continue;
    TRY(db->commit(batch, kv::Durability::kNone));
    batch.clear();
  }
  TRY(db->commit(batch, kv::Durability::kNone));
  TRY(db->flush());
  return watch.seconds();
}

// Files of all columns after compaction.
Result<double> compacted_bytes(const std::filesystem::path& path) {
  auto db = TRY(open_bench_database(path, columns()));
  double bytes = 0;
  for (const kv::ColumnOptions& each : columns()) {
    const kv::Column column = TRY(db->column(each.name));
    TRY(db->compact(column));
    if (const auto size = db->property(column, "rocksdb.total-sst-files-size"))
      bytes += std::stod(*size);
  }
  return bytes;
}

Result<std::string> simulated_file(const BenchChain& bench, std::uint64_t blocks) {
  feed::DevnetChain chain({.family = bench.network.family,
                           .seed = bench.config.devnet.seed,
                           .txs_per_block = kSimulatedTxs,
                           .reorg_every = 0});
  Bytes out;
  for (const Bytes& block : node::simulate(chain, blocks, false, nullptr))
    feed::append_block(out, bench.network,
                       bench.network.family == chain::Family::kBitcoin
                           ? feed::BlockFileFormat::kBlk
                           : feed::BlockFileFormat::kRaw,
                       block);
  std::string file = (bench.scratch / "simulated.dat").string();
  TRY(write_file_atomically(file, out));
  return file;
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
  if (!given) bench.file = TRY(simulated_file(bench, arguments.blocks));
  node::BenchReport report;
  const Contents contents = TRY(contents_of(bench));
  const double utxo = TRY(sync_utxo(bench));
  report.add("utxo sync", fmt::format("{:.2f} s", utxo),
             fmt::format("{} blocks, {} transactions, {} inputs", contents.blocks,
                         cli::with_thousands(contents.transactions),
                         cli::with_thousands(contents.inputs)));
  const auto path = scratch.path() / "sync";
  const Synced synced = TRY(sync_txstore(bench, contents, path));
  report.add("txstore sync", fmt::format("{:.2f} s", synced.seconds),
             fmt::format("{} operations/s, {:.2f} µs a transaction, {:.2f} times the UTXO state; "
                         "{} stored, {} deleted",
                         per_second(synced.operations, synced.seconds),
                         1e6 * synced.seconds / static_cast<double>(synced.transactions),
                         synced.seconds / utxo, cli::with_thousands(synced.stats.counts.records),
                         cli::with_thousands(synced.stats.counts.deleted)));
  std::uint64_t rows = 0;
  const double raw = TRY(write_raw(path, scratch.path() / "raw", rows));
  report.add("raw writes", fmt::format("{:.2f} s", raw),
             fmt::format("the {} final rows through memtables; sync takes {:.2f} of it",
                         cli::with_thousands(rows), synced.seconds / raw));
  const double stored = static_cast<double>(synced.stats.counts.records);
  report.add("disk", fmt::format("{:.0f} bytes", TRY(compacted_bytes(path)) / stored),
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
          "at the tip", fmt::format("{} transactions/s", per_second(tip.transactions, tip.seconds)),
          fmt::format("{} blocks, {} deleted, {} row changes; the same put raw take {:.2f} of "
                      "the time",
                      tip.blocks, cli::with_thousands(tip.deleted), cli::with_thousands(tip.rows),
                      tip.raw_seconds / tip.seconds));
    const double deleting = TRY(bench_deletion(bench));
    report.add("deletion alone", fmt::format("{} parents/s", per_second(kBenchParents, deleting)),
               fmt::format("{} parents of {} children and {} inputs",
                           cli::with_thousands(kBenchParents), kBenchChildren, kBenchInputs));
  }
  std::printf("%s", (context.json ? report.json() : report.table()).c_str());
  return {};
}

}  // namespace coffer::txstore
