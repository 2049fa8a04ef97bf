// coffer bench decode: how fast blocks are decoded, and how much of the time is hashing.
#include <chrono>
#include <cstdio>

#include <coffer/chain/decode.h>
#include "base/file.h"
#include "base/result.h"
#include "cli/table.h"
#include "crypto/sha256.h"
#include "feed/block_file.h"
#include "node/commands.h"
#include "node/simulate.h"

namespace coffer::node {
namespace {

constexpr std::uint64_t kMaxBenchFileBytes = 4ull << 30;
constexpr std::uint64_t kSimulatedHeight = 200, kSimulatedTxs = 500;

struct BlockSet {
  std::string name;
  chain::Network network;
  std::vector<Bytes> blocks;
};

// In MB/s, each including what stands before it.
struct Rates {
  std::uint64_t txs = 0, bytes = 0;
  double decode = 0, hash = 0, verify = 0;
  double hashing_share() const { return 1 - verify / decode; }
};

Result<std::vector<BlockSet>> block_sets(const config::Config& config, const std::string& file) {
  std::vector<BlockSet> sets;
  if (!file.empty()) {
    const chain::Network network = TRY(chain::find_network(config.chain, config.network));
    const Bytes data = TRY(read_file(file, kMaxBenchFileBytes));
    std::vector<Bytes> blocks = TRY_IN(file, feed::split_blocks(network, data));
    if (blocks.empty()) return fail(Code::kInvalidInput, "no blocks in {}", file);
    sets.push_back({config.chain + " file", network, std::move(blocks)});
    return sets;
  }
  for (const char* name : {"bitcoin", "cardano"}) {
    const chain::Network network = TRY(chain::find_network(name, "devnet"));
    feed::DevnetChain chain({.family = network.family,
                             .seed = config.devnet.seed,
                             .txs_per_block = kSimulatedTxs,
                             .reorg_every = 0});
    sets.push_back({std::string(name) + " simulated", network,
                    simulate(chain, kSimulatedHeight, false, nullptr)});
  }
  return sets;
}

// Decodes all blocks again and again for so long; the seconds of one round.
Result<double> seconds_per_round(const BlockSet& set, chain::DecodeOptions options,
                                 std::uint64_t seconds) {
  chain::Block block;
  std::uint64_t rounds = 0;
  const auto start = std::chrono::steady_clock::now();
  for (;;) {
    for (const Bytes& raw : set.blocks) TRY(chain::decode_into(block, set.network, raw, options));
    ++rounds;
    const double passed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (passed >= static_cast<double>(seconds)) return passed / static_cast<double>(rounds);
  }
}

Result<Rates> measure(const BlockSet& set, std::uint64_t seconds) {
  Rates rates;
  chain::Block block;
  for (const Bytes& raw : set.blocks) {
    TRY(chain::decode_into(block, set.network, raw));
    rates.bytes += raw.size();
    rates.txs += block.txs.size();
  }
  const double megabytes = static_cast<double>(rates.bytes) / 1e6;
  rates.decode = megabytes / TRY(seconds_per_round(set, {.hash = false, .verify = false}, seconds));
  rates.hash = megabytes / TRY(seconds_per_round(set, {.hash = true, .verify = false}, seconds));
  rates.verify = megabytes / TRY(seconds_per_round(set, {.hash = true, .verify = true}, seconds));
  return rates;
}

std::string to_json(const BlockSet& set, const Rates& r) {
  return fmt::format(
      R"({{"set":"{}","blocks":{},"transactions":{},"bytes":{},"decode_mb_s":{:.1f},)"
      R"("hash_mb_s":{:.1f},"verify_mb_s":{:.1f},"hashing_share":{:.3f}}})",
      set.name, set.blocks.size(), r.txs, r.bytes, r.decode, r.hash, r.verify, r.hashing_share());
}

}  // namespace

Result<> run_bench_decode(const Context& context, const BenchArguments& arguments) {
  using cli::Align;
  cli::Table table({{"blocks of"},
                    {"blocks", Align::kRight},
                    {"txs", Align::kRight},
                    {"bytes", Align::kRight},
                    {"decode MB/s", Align::kRight},
                    {"+ hash MB/s", Align::kRight},
                    {"+ verify MB/s", Align::kRight},
                    {"hashing", Align::kRight}});
  std::string json;
  for (const BlockSet& set : TRY(block_sets(context.config, arguments.file))) {
    const Rates r = TRY_IN(set.name, measure(set, arguments.seconds));
    table.add_row({set.name, cli::with_thousands(set.blocks.size()), cli::with_thousands(r.txs),
                   cli::human_bytes(r.bytes), fmt::format("{:.0f}", r.decode),
                   fmt::format("{:.0f}", r.hash), fmt::format("{:.0f}", r.verify),
                   fmt::format("{:.0f} %", 100 * r.hashing_share())});
    json += (json.empty() ? "" : ",") + to_json(set, r);
  }
  const std::string sha256(crypto::sha256_active());
  if (context.json) {
    std::printf("{\"sha256\":\"%s\",\"sets\":[%s]}\n", sha256.c_str(), json.c_str());
  } else {
    std::printf("%s", table.render().c_str());
    std::printf("sha256 by %s; hashing: its share of the time of decode + hash + verify\n",
                sha256.c_str());
  }
  return {};
}

}  // namespace coffer::node
