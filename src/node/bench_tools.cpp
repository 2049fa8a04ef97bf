#include "node/bench_tools.h"

#include <coffer/follow/follower.h>
#include "base/file.h"
#include "base/random.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "feed/block_file.h"
#include "feed/file_source.h"
#include "node/simulate.h"

namespace coffer::node {
namespace {

struct Row {
  std::size_t column = 0;
  Bytes key, value;
};

Bytes copy(ByteView bytes) {
  return Bytes(bytes.begin(), bytes.end());
}

Result<std::vector<Row>> read_rows(const std::filesystem::path& path,
                                   std::span<const kv::ColumnOptions> columns) {
  std::vector<Row> rows;
  const auto db = TRY(open_bench_database(path, columns));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    kv::Iterator it = db->iterate(TRY(db->column(columns[i].name)), {.fill_cache = false});
    for (it.seek_to_first(); it.valid(); it.next())
      rows.push_back({i, copy(it.key()), copy(it.value())});
    TRY(it.status());
  }
  return rows;
}

}  // namespace

Result<std::string> write_simulated_file(const std::filesystem::path& directory,
                                         const chain::Network& network, SimulatedFile what) {
  feed::DevnetChain chain({.family = network.family,
                           .seed = what.seed,
                           .txs_per_block = what.txs_per_block,
                           .reorg_every = 0});
  const auto format = network.family == chain::Family::kBitcoin ? feed::BlockFileFormat::kBlk
                                                                : feed::BlockFileFormat::kRaw;
  Bytes out;
  for (const Bytes& block : simulate(chain, what.blocks, false, nullptr))
    feed::append_block(out, network, format, block);
  std::string file = (directory / "simulated.dat").string();
  TRY(write_file_atomically(file, out));
  return file;
}

Result<> follow_file(const std::string& file, const chain::Network& network,
                     chainstate::ChainState& chain, bus::Consumer& consumer) {
  bus::Bus bus;
  bus.add(consumer);
  bus.start();
  feed::FileSource source(file, network);
  follow::Follower follower(source, network, chain, bus);
  TRY(follower.run());
  TRY(bus.drain());
  bus.stop();
  if (consumer.position() == chain.position()) return {};
  return fail(Code::kUnavailable, "{} halted before the end", consumer.name());
}

Result<std::unique_ptr<kv::Database>> open_bench_database(const std::filesystem::path& path,
                                                          std::span<const kv::ColumnOptions> more) {
  kv::DatabaseOptions options;
  options.path = path;
  options.columns = chainstate::ChainState::columns();
  options.columns.insert(options.columns.end(), more.begin(), more.end());
  return kv::Database::open(options);
}

Result<RawWrites> write_raw(const std::filesystem::path& from, const std::filesystem::path& to,
                            std::span<const kv::ColumnOptions> columns) {
  std::vector<Row> rows = TRY(read_rows(from, columns));
  Rng rng(1);
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[rng.below(i)]);
  const Stopwatch watch;
  const auto db = TRY(open_bench_database(to, columns));
  std::vector<kv::Column> open;
  open.reserve(columns.size());
  for (const kv::ColumnOptions& column : columns) open.push_back(TRY(db->column(column.name)));
  kv::Batch batch;
  for (const Row& row : rows) {
    batch.put(open[row.column], row.key, row.value);
    if (batch.count() < 10'000) continue;
    TRY(db->commit(batch, kv::Durability::kNone));
    batch.clear();
  }
  TRY(db->commit(batch, kv::Durability::kNone));
  TRY(db->flush());
  return RawWrites{watch.seconds(), rows.size()};
}

Result<double> compacted_bytes(const std::filesystem::path& path,
                               std::span<const kv::ColumnOptions> columns,
                               std::span<const std::string_view> measured) {
  const auto db = TRY(open_bench_database(path, columns));
  double bytes = 0;
  for (const std::string_view name : measured) {
    const kv::Column column = TRY(db->column(name));
    TRY(db->compact(column));
    if (const auto size = db->property(column, "rocksdb.total-sst-files-size"))
      bytes += std::stod(*size);
  }
  return bytes;
}

}  // namespace coffer::node
