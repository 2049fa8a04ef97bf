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
#include "txstore/commands/bench_sql.h"
#include "txstore/commands/commands.h"
#include "txstore/rocksdb/backend.h"

namespace coffer::txstore {
namespace {

constexpr std::uint64_t kSimulatedTxs = 500;
constexpr std::uint64_t kBenchParents = 20'000, kBenchChildren = 3, kBenchInputs = 2;

struct BenchChain {
  const config::Config& config;
  chain::Network network;
  std::string file;
  std::filesystem::path scratch;
};

Result<std::unique_ptr<kv::Database>> open_database(const std::filesystem::path& path,
                                                    const std::vector<kv::ColumnOptions>& more) {
  kv::DatabaseOptions options;
  options.path = path;
  options.columns = chainstate::ChainState::columns();
  options.columns.insert(options.columns.end(), more.begin(), more.end());
  return kv::Database::open(std::move(options));
}

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
  auto db = TRY(open_database(bench.scratch / "utxo", more));
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
  auto db = TRY(open_database(path, columns()));
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
    auto db = TRY(open_database(from, all));
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
  auto db = TRY(open_database(to, all));
  std::vector<kv::Column> open;
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
  auto db = TRY(open_database(path, columns()));
  double bytes = 0;
  for (const kv::ColumnOptions& each : columns()) {
    const kv::Column column = TRY(db->column(each.name));
    TRY(db->compact(column));
    if (const auto size = db->property(column, "rocksdb.total-sst-files-size"))
      bytes += std::stod(*size);
  }
  return bytes;
}

struct AtTip {
  double seconds = 0, raw_seconds = 0;
  std::uint64_t blocks = 0, transactions = 0, deleted = 0, rows = 0;
};

// The same numbers of keys, with the same bytes, in one batch a block and with the log on.
Result<double> put_raw(const BenchChain& bench, std::span<const IoCounts> blocks) {
  auto db = TRY(open_database(bench.scratch / "tip-raw", columns()));
  const kv::Column column = TRY(db->column("tx_state"));
  Rng rng(7);
  std::deque<Bytes> known;
  const auto key = [&] {
    Bytes made(36);
    for (std::size_t i = 0; i + 8 <= made.size(); i += 8) store_le(made.data() + i, rng());
    return made;
  };
  double seconds = 0;
  for (const IoCounts& block : blocks) {
    const std::size_t rows = block.puts + block.deletes;
    const std::size_t value_bytes = block.puts == 0 || block.bytes_written < 36 * rows
                                        ? 0
                                        : (block.bytes_written - 36 * rows) / block.puts;
    Bytes value(value_bytes);
    for (std::uint8_t& byte : value) byte = static_cast<std::uint8_t>(rng.below(256));
    std::vector<Bytes> put;
    for (std::uint64_t i = 0; i < block.puts; ++i) put.push_back(key());
    const Stopwatch watch;
    kv::Batch batch;
    for (const Bytes& each : put) batch.put(column, each, value);
    for (std::uint64_t i = 0; i < block.deletes && !known.empty(); ++i) {
      batch.del(column, known.front());
      known.pop_front();
    }
    TRY(db->commit(batch));
    seconds += watch.seconds();
    for (Bytes& each : put) known.push_back(std::move(each));
  }
  return seconds;
}

// The blocks of the file, one a commit.
Result<> feed_at_tip(const BenchChain& bench, Store& store) {
  auto consumer = TRY(Consumer::open(store));
  feed::FileSource source(bench.file, bench.network);
  for (std::uint64_t height = 0;; ++height) {
    feed::SourceEvent event = TRY(source.next(0));
    auto* next = std::get_if<feed::NextBlock>(&event);
    if (next == nullptr) return {};
    auto block = std::make_shared<chain::Block>();
    block->storage = std::move(next->raw);
    TRY(chain::decode_into(*block, bench.network, block->storage, {.verify = false}));
    if (bench.network.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(height);
      block->slot = Slot(height);
    }
    TRY(consumer->on_block({Ordinal(height), block, false, 0}));
    TRY(consumer->flush());
  }
}

// One block a commit, log on; measured where deletion is in a steady state.
Result<AtTip> follow_tip(const BenchChain& bench) {
  auto db = TRY(open_database(bench.scratch / "tip", columns()));
  auto store = TRY(Store::open(*db, bench.network, Options(), {}));
  auto consumer = TRY(Consumer::open(*store));
  const auto& backend = dynamic_cast<RocksBackend&>(store->backend());
  feed::FileSource source(bench.file, bench.network);
  AtTip tip;
  std::vector<IoCounts> measured;
  for (std::uint64_t height = 0;; ++height) {
    feed::SourceEvent event = TRY(source.next(0));
    auto* next = std::get_if<feed::NextBlock>(&event);
    if (next == nullptr) break;
    auto block = std::make_shared<chain::Block>();
    block->storage = std::move(next->raw);
    TRY(chain::decode_into(*block, bench.network, block->storage, {.verify = false}));
    if (bench.network.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(height);
      block->slot = Slot(height);
    }
    const IoCounts before = backend.io_counts();
    const std::uint64_t deleted = store->counters().deleted;
    const Stopwatch watch;
    TRY(consumer->on_block({Ordinal(height), block, false, 0}));
    TRY(consumer->flush());
    const double seconds = watch.seconds();
    if (height < kLeastWindow + 10) continue;
    const IoCounts after = backend.io_counts();
    tip.seconds += seconds;
    ++tip.blocks;
    tip.transactions += block->txs.size();
    tip.deleted += store->counters().deleted - deleted;
    measured.push_back({.puts = after.puts - before.puts,
                        .deletes = after.deletes - before.deletes,
                        .bytes_written = after.bytes_written - before.bytes_written});
    tip.rows += measured.back().puts + measured.back().deletes;
  }
  if (!measured.empty()) tip.raw_seconds = TRY(put_raw(bench, measured));
  return tip;
}

Hash256 bench_id(std::uint64_t kind, std::uint64_t number) {
  Hash256 id{};
  Rng rng(kind * 0x9e3779b97f4a7c15ull + number);
  for (std::size_t i = 0; i < 32; i += 8) store_le(id.data() + i, rng());
  return id;
}

// Parents of three children with two inputs each, all due at once.
Result<double> delete_alone(const BenchChain& bench) {
  auto db = TRY(open_database(bench.scratch / "delete", columns()));
  auto store = TRY(Store::open(*db, bench.network, Options(), {}));
  const auto at = [](std::uint64_t height) {
    return bus::Position::after(Ordinal(height), {Slot(height), bench_id(9, height)});
  };
  TRY(store->advance(at(1)));
  const auto create = [&](std::uint64_t kind, std::uint64_t number,
                          std::vector<chain::Outpoint> inputs, std::uint32_t outputs) {
    NewTx tx;
    tx.id = bench_id(kind, number);
    tx.raw.assign(250, static_cast<std::uint8_t>(number));
    tx.inputs = std::move(inputs);
    tx.outputs.resize(outputs, NewOutput{bench_id(8, number), Amount(1), true});
    tx.mined_in = BlockRef::of(at(1));
    return tx;
  };
  for (std::uint64_t first = 0; first < kBenchParents; first += 1'000) {
    std::vector<NewTx> txs;
    std::vector<SpendRequest> spends;
    for (std::uint64_t i = first; i < first + 1'000; ++i) {
      std::vector<chain::Outpoint> inputs;
      for (std::uint64_t k = 0; k < kBenchInputs; ++k) {
        txs.push_back(create(1 + k, i, {}, 2));
        inputs.push_back({txs.back().id, 0});
      }
      txs.push_back(create(4, i, std::move(inputs), kBenchChildren));
      spends.push_back({txs.back().id, {}});
      for (std::uint64_t k = 0; k < kBenchChildren; ++k) {
        txs.push_back(create(5 + k, i, {{bench_id(4, i), static_cast<std::uint32_t>(k)}}, 1));
        spends.push_back({txs.back().id, {}});
      }
    }
    (void)TRY(store->create(txs));
    (void)TRY(store->spend(spends));
  }
  TRY(store->advance(at(1 + kLeastWindow)));
  TRY(db->flush());
  const Stopwatch watch;
  const CleanupReport report = TRY(store->prune());
  const double seconds = watch.seconds();
  if (report.deleted != kBenchParents)
    return fail(Code::kInternal, "{} of {} parents were deleted", report.deleted, kBenchParents);
  return seconds;
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
  const std::string file = (bench.scratch / "simulated.dat").string();
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
    const AtTip tip = TRY(follow_tip(bench));
    if (tip.blocks > 0)
      report.add(
          "at the tip", fmt::format("{} transactions/s", per_second(tip.transactions, tip.seconds)),
          fmt::format("{} blocks, {} deleted, {} row changes; the same put raw take {:.2f} of "
                      "the time",
                      tip.blocks, cli::with_thousands(tip.deleted), cli::with_thousands(tip.rows),
                      tip.raw_seconds / tip.seconds));
    const double deleting = TRY(delete_alone(bench));
    report.add("deletion alone", fmt::format("{} parents/s", per_second(kBenchParents, deleting)),
               fmt::format("{} parents of {} children and {} inputs",
                           cli::with_thousands(kBenchParents), kBenchChildren, kBenchInputs));
  }
  std::printf("%s", (context.json ? report.json() : report.table()).c_str());
  return {};
}

}  // namespace coffer::txstore
