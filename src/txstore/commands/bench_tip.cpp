// Following at the tip and deleting, for `coffer bench txstore`.
#include <deque>

#include <coffer/chain/decode.h>
#include "base/random.h"
#include "base/result.h"
#include "feed/file_source.h"
#include "node/bench_tools.h"
#include "txstore/commands/bench_chain.h"
#include "txstore/rocksdb/backend.h"

namespace coffer::txstore {
namespace {

// The same numbers of keys, with the same bytes, in one batch a block and with the log on.
Result<BenchTime> put_raw(const BenchChain& bench, std::span<const IoCounts> blocks) {
  auto db = TRY(node::open_bench_database(bench.scratch / "tip-raw", columns()));
  const kv::Column column = TRY(db->column("tx_state"));
  Rng rng(7);
  std::deque<Bytes> known;
  const auto key = [&] {
    Bytes made(36);
    for (std::size_t i = 0; i + 8 <= made.size(); i += 8) store_le(made.data() + i, rng());
    return made;
  };
  BenchTime total;
  for (const IoCounts& block : blocks) {
    const std::size_t rows = block.puts + block.deletes;
    const std::size_t value_bytes = block.puts == 0 || block.bytes_written < 36 * rows
                                        ? 0
                                        : (block.bytes_written - 36 * rows) / block.puts;
    Bytes value(value_bytes);
    for (std::uint8_t& byte : value) byte = static_cast<std::uint8_t>(rng.below(256));
    std::vector<Bytes> put;
    put.reserve(block.puts);
    for (std::uint64_t i = 0; i < block.puts; ++i) put.push_back(key());
    const BenchWatch watch;
    kv::Batch batch;
    for (const Bytes& each : put) batch.put(column, each, value);
    for (std::uint64_t i = 0; i < block.deletes && !known.empty(); ++i) {
      batch.del(column, known.front());
      known.pop_front();
    }
    TRY(db->commit(batch));
    total.add(watch.time());
    for (Bytes& each : put) known.push_back(std::move(each));
  }
  return total;
}

}  // namespace

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

Result<AtTip> bench_tip(const BenchChain& bench) {
  auto db = TRY(node::open_bench_database(bench.scratch / "tip", columns()));
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
    const BenchWatch watch;
    TRY(consumer->on_block({Ordinal(height), block, false, 0}));
    TRY(consumer->flush());
    const BenchTime time = watch.time();
    if (height < kLeastWindow + 10) continue;
    const IoCounts after = backend.io_counts();
    tip.time.add(time);
    ++tip.blocks;
    tip.transactions += block->txs.size();
    tip.deleted += store->counters().deleted - deleted;
    measured.push_back({.puts = after.puts - before.puts,
                        .deletes = after.deletes - before.deletes,
                        .bytes_written = after.bytes_written - before.bytes_written});
    tip.rows += measured.back().puts + measured.back().deletes;
  }
  if (!measured.empty()) tip.raw = TRY(put_raw(bench, measured));
  return tip;
}

namespace {

Hash256 bench_id(std::uint64_t kind, std::uint64_t number) {
  Hash256 id{};
  Rng rng(kind * 0x9e3779b97f4a7c15ull + number);
  for (std::size_t i = 0; i < 32; i += 8) store_le(id.data() + i, rng());
  return id;
}

}  // namespace

Result<BenchTime> bench_deletion(const BenchChain& bench) {
  auto db = TRY(node::open_bench_database(bench.scratch / "delete", columns()));
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
  const BenchWatch watch;
  const CleanupReport report = TRY(store->prune());
  const BenchTime time = watch.time();
  if (report.deleted != kBenchParents)
    return fail(Code::kInternal, "{} of {} parents were deleted", report.deleted, kBenchParents);
  return time;
}

}  // namespace coffer::txstore
