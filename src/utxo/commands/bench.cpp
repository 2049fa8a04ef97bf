// coffer bench utxo: from block files to an indexed store, against the raw store in the same run.
#include <cstdio>

#include <coffer/chain/decode.h>
#include <coffer/utxo/store.h>

#include "base/result.h"
#include "base/stopwatch.h"
#include "base/temp_dir.h"
#include "feed/file_source.h"
#include "node/bench_tools.h"
#include "utxo/commands/bench.h"
#include "utxo/commands/commands.h"

namespace coffer::utxo {
namespace {

// What a live output needs.
constexpr std::string_view kOutputColumns[] = {"utxo_unspent", "utxo_addr", "utxo_cred"};

struct Bench {
  chain::Network network;
  std::string file;
  std::filesystem::path scratch;
  std::uint64_t window = 100;
};

utxo::Options options_of(const Bench& bench, utxo::StoreType store) {
  utxo::Options options;
  options.store = store;
  options.rollback_window = options.prune_depth = bench.window;
  return options;
}

struct Synced {
  double seconds = 0;
  utxo::Stats stats;
};

// As `coffer sync` does it, with the UTXO state as the only consumer.
Result<Synced> sync(const Bench& bench, utxo::StoreType type, const std::filesystem::path& path) {
  const Stopwatch watch;
  const utxo::Options options = options_of(bench, type);
  auto db = TRY(node::open_bench_database(path, utxo::columns(options)));
  auto chain = TRY(chainstate::ChainState::open(
      *db, bench.network, chainstate::Identity::of(bench.network), bench.window));
  auto store = TRY(utxo::Store::open(*db, bench.network, options, {}));
  TRY(node::follow_file(bench.file, bench.network, *chain, *store));
  TRY(db->flush());
  return Synced{watch.seconds(), TRY(store->state().stats())};
}

struct AtTip {
  double seconds = 0;
  std::uint64_t blocks = 0, outputs = 0;
  std::vector<double> block_ms;
  double early_rate = 0,
         late_rate = 0;  // changes a second while the set is a tenth, and at the end
};

// One block a commit, everything within the window.
Result<AtTip> follow_tip(const Bench& bench, utxo::StoreType type, const std::vector<Bytes>& blocks,
                         const std::filesystem::path& path) {
  utxo::Options options = options_of(bench, type);
  auto db = TRY(node::open_bench_database(path, utxo::columns(options)));
  auto store = TRY(utxo::Store::open(*db, bench.network, options, {}));
  AtTip result;
  struct Sample {
    std::uint64_t unspent = 0, changes = 0;
    double seconds = 0;
  };
  std::vector<Sample> samples;
  for (std::uint64_t height = 0; height < blocks.size(); ++height) {
    auto block = std::make_shared<chain::Block>();
    TRY(chain::decode_into(*block, bench.network, blocks[height], {.verify = false}));
    if (bench.network.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(height);
      block->slot = Slot(height);
    }
    const utxo::Stats before = TRY(store->state().stats());
    const Stopwatch watch;
    TRY(store->on_block({Ordinal(height), block, false, 0}));
    const double seconds = watch.seconds();
    const utxo::Stats after = TRY(store->state().stats());
    result.seconds += seconds;
    result.block_ms.push_back(1000 * seconds);
    result.outputs += after.created - before.created;
    samples.push_back(
        {after.unspent, after.created - before.created + after.spent - before.spent, seconds});
  }
  result.blocks = blocks.size();
  std::sort(result.block_ms.begin(), result.block_ms.end());
  const std::uint64_t final_set = samples.empty() ? 0 : samples.back().unspent;
  const auto rate = [&](double from, double to) {
    double seconds = 0, changes = 0;
    for (const Sample& sample : samples) {
      const double share = static_cast<double>(sample.unspent) / static_cast<double>(final_set);
      if (sample.changes < 100 || share < from || share > to) continue;
      seconds += sample.seconds;
      changes += static_cast<double>(sample.changes);
    }
    return seconds > 0 ? changes / seconds : 0;
  };
  result.early_rate = rate(0.05, 0.15);
  result.late_rate = rate(0.85, 1.0);
  return result;
}

double percentile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto at = static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1));
  return sorted[at];
}

Result<std::vector<Bytes>> in_chain_order(const Bench& bench) {
  feed::FileSource source(bench.file, bench.network);
  std::vector<Bytes> blocks;
  for (;;) {
    feed::SourceEvent step = TRY(source.next(0));
    auto* forward = std::get_if<feed::NextBlock>(&step);
    if (forward == nullptr) return blocks;
    blocks.push_back(std::move(forward->raw));
  }
}

}  // namespace

Result<> run_bench_utxo(const Context& context, const BenchUtxoArguments& arguments) {
  TempDir scratch;
  Bench bench;
  bench.scratch = scratch.path();
  bench.window = arguments.window;
  bench.file = arguments.file;
  const bool given = !arguments.file.empty();
  bench.network =
      TRY(chain::find_network(context.config.chain, given ? context.config.network : "devnet"));
  if (!given)
    bench.file = TRY(node::write_simulated_file(scratch.path(), bench.network,
                                                {.seed = context.config.devnet.seed}));
  node::BenchReport report;
  for (const utxo::StoreType type : {utxo::StoreType::kClassic, utxo::StoreType::kMmr}) {
    if (type == utxo::StoreType::kMmr && arguments.only_sync) continue;
    const std::string name(utxo::to_string(type));
    const auto path = scratch.path() / ("sync-" + name);
    const Synced synced = TRY(sync(bench, type, path));
    report.add(
        name + " sync", fmt::format("{:.2f} s", synced.seconds),
        fmt::format("{} outputs created, {} spent, {} unspent, window {}", synced.stats.created,
                    synced.stats.spent, synced.stats.unspent, bench.window));
    const auto columns = utxo::columns(options_of(bench, type));
    const node::RawWrites raw =
        TRY(node::write_raw(path, scratch.path() / ("raw-" + name), columns));
    report.add(name + " raw writes", fmt::format("{:.2f} s", raw.seconds),
               fmt::format("the {} final records through memtables; sync takes {:.2f} of it",
                           raw.rows, synced.seconds / raw.seconds));
    if (arguments.only_sync) continue;
    const double bytes = TRY(node::compacted_bytes(path, columns, kOutputColumns));
    report.add(name + " disk",
               fmt::format("{:.0f} bytes", bytes / static_cast<double>(std::max<std::uint64_t>(
                                                       synced.stats.unspent, 1))),
               "an unspent output with its index entries, compacted");
  }
  if (!arguments.only_sync) {
    const std::vector<Bytes> blocks = TRY(in_chain_order(bench));
    double classic = 0;
    for (const utxo::StoreType type : {utxo::StoreType::kClassic, utxo::StoreType::kMmr}) {
      const std::string name(utxo::to_string(type));
      const AtTip tip = TRY(follow_tip(bench, type, blocks, scratch.path() / ("tip-" + name)));
      report.add(name + " at the tip",
                 fmt::format("{:.1f} blocks/s", static_cast<double>(tip.blocks) / tip.seconds),
                 fmt::format("{:.0f} outputs/s; a block takes {:.1f} ms (median), {:.1f} ms (p99)",
                             static_cast<double>(tip.outputs) / tip.seconds,
                             percentile(tip.block_ms, 0.5), percentile(tip.block_ms, 0.99)));
      report.add(name + " as the set grows", fmt::format("{:.2f}", tip.late_rate / tip.early_rate),
                 fmt::format("{:.0f} changes/s at a tenth of the set, {:.0f} at the end",
                             tip.early_rate, tip.late_rate));
      if (type == utxo::StoreType::kClassic)
        classic = tip.seconds;
      else
        report.add("mmr over classic", fmt::format("{:.2f}", tip.seconds / classic),
                   "time at the tip");
    }
    TRY(bench_utxo_reads(scratch.path(), report));
  }
  std::printf("%s", (context.json ? report.json() : report.table()).c_str());
  return {};
}

}  // namespace coffer::utxo
