// Commands that need no store: writing simulated chains, measuring decoding.
#include <cstdio>

#include "app/command.h"
#include "app/devnet_setup.h"
#include "base/clock.h"
#include "base/file.h"
#include "chain/decode.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "crypto/sha256.h"
#include "feed/block_file.h"

namespace coffer::app {
namespace {

constexpr std::uint64_t kMaxBlocks = 10'000'000;
constexpr std::uint64_t kMaxBenchFileBytes = 4ull << 30;

// The emissions up to the first block of a height; a reorg takes blocks of the best chain back.
std::vector<Bytes> simulate(feed::DevnetChain& chain, std::uint64_t height, bool with_stale, cli::ProgressBar* bar) {
  std::vector<Bytes> blocks;
  do {
    feed::Emission emission = chain.next();
    if (!with_stale) blocks.resize(blocks.size() - emission.rolled_back);
    blocks.push_back(std::move(emission.block));
    if (bar) bar->update(emission.height + 1);
  } while (chain.best().size() <= height);
  return blocks;
}

struct Measured {
  double seconds = 0;
  std::uint64_t rounds = 0;
};

Result<Measured> measure(const chain::Network& network, const std::vector<Bytes>& blocks, chain::DecodeOptions options,
                         std::uint64_t seconds) {
  chain::Block block;
  Measured measured;
  const auto start = std::chrono::steady_clock::now();
  do {
    for (const Bytes& raw : blocks) TRY(chain::decode_into(block, network, raw, options));
    ++measured.rounds;
    measured.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  } while (measured.seconds < static_cast<double>(seconds));
  return measured;
}

}  // namespace

Result<> run_devnet_write(const Context& context, const DevnetWriteArguments& arguments) {
  const Config& config = context.config;
  const chain::Network network = TRY(chain::find_network(config.chain, "devnet"));
  if (arguments.blocks > kMaxBlocks) return fail(Code::kUsage, "--blocks is at most {}", kMaxBlocks);
  if (arguments.format == "blk" && network.family == chain::Family::kCardano)
    return fail(Code::kUsage, "blk is Bitcoin's format; use --format hex or raw");
  const auto format = arguments.format == "blk"   ? feed::BlockFileFormat::kBlk
                      : arguments.format == "hex" ? feed::BlockFileFormat::kHex
                                                  : feed::BlockFileFormat::kRaw;
  feed::DevnetChain chain(TRY(devnet_options(config, false, system_clock())));
  cli::ProgressBar bar({.label = "writing", .unit = "blocks", .total = arguments.blocks + 1}, system_clock(),
                       cli::stderr_output());
  const std::vector<Bytes> blocks = simulate(chain, arguments.blocks, arguments.with_stale, &bar);
  Bytes out;
  for (const Bytes& block : blocks) feed::append_block(out, network, format, block);
  TRY(write_file_atomically(arguments.out, out));
  bar.finish();
  const std::string tip = display(network.family, chain.best().back());
  if (context.json)
    std::printf("{\"file\":\"%s\",\"blocks\":%zu,\"bytes\":%zu,\"tip\":\"%s\"}\n", arguments.out.c_str(), blocks.size(),
                out.size(), tip.c_str());
  else
    std::printf("%s: %s blocks, %s, tip %s\n", arguments.out.c_str(), cli::with_thousands(blocks.size()).c_str(),
                cli::human_bytes(out.size()).c_str(), tip.c_str());
  return {};
}

Result<> run_bench_decode(const Context& context, const BenchArguments& arguments) {
  const Config& config = context.config;
  struct Set {
    chain::Network network;
    std::vector<Bytes> blocks;
    std::string name;
  };
  std::vector<Set> sets;
  if (!arguments.file.empty()) {
    const chain::Network network = TRY(chain::find_network(config.chain, config.network));
    const Bytes data = TRY(read_file(arguments.file, kMaxBenchFileBytes));
    sets.push_back({network, TRY_IN(arguments.file, feed::split_blocks(network, data)), config.chain + " file"});
  } else {
    for (const auto family : {chain::Family::kBitcoin, chain::Family::kCardano}) {
      feed::DevnetOptions options{.family = family, .seed = config.devnet.seed, .txs_per_block = 500, .reorg_every = 0};
      feed::DevnetChain chain(options);
      const char* name = family == chain::Family::kBitcoin ? "bitcoin" : "cardano";
      sets.push_back({TRY(chain::find_network(name, "devnet")), simulate(chain, 200, false, nullptr), std::string(name) + " simulated"});
    }
  }
  cli::Table table({{"blocks of"}, {"blocks", cli::Align::kRight}, {"txs", cli::Align::kRight}, {"bytes", cli::Align::kRight},
                    {"decode MB/s", cli::Align::kRight}, {"+ hash MB/s", cli::Align::kRight},
                    {"+ verify MB/s", cli::Align::kRight}, {"hashing", cli::Align::kRight}});
  std::string json;
  for (const Set& set : sets) {
    std::uint64_t bytes = 0, txs = 0;
    chain::Block block;
    for (const Bytes& raw : set.blocks) {
      TRY_IN(arguments.file, chain::decode_into(block, set.network, raw));
      bytes += raw.size();
      txs += block.txs.size();
    }
    if (bytes == 0) return fail(Code::kInvalidInput, "no blocks in {}", arguments.file);
    double rate[3], per_round[3];
    const chain::DecodeOptions modes[] = {{false, false}, {true, false}, {true, true}};
    for (int i = 0; i < 3; ++i) {
      const Measured m = TRY(measure(set.network, set.blocks, modes[i], arguments.seconds));
      per_round[i] = m.seconds / static_cast<double>(m.rounds);
      rate[i] = static_cast<double>(bytes) / per_round[i] / 1e6;
    }
    const double hashing = 1 - per_round[0] / per_round[2];
    table.add_row({set.name, cli::with_thousands(set.blocks.size()), cli::with_thousands(txs), cli::human_bytes(bytes),
                   fmt::format("{:.0f}", rate[0]), fmt::format("{:.0f}", rate[1]), fmt::format("{:.0f}", rate[2]),
                   fmt::format("{:.0f} %", 100 * hashing)});
    json += fmt::format(R"({}{{"set":"{}","blocks":{},"transactions":{},"bytes":{},"decode_mb_s":{:.1f},"hash_mb_s":{:.1f},)"
                        R"("verify_mb_s":{:.1f},"hashing_share":{:.3f}}})",
                        json.empty() ? "" : ",", set.name, set.blocks.size(), txs, bytes, rate[0], rate[1], rate[2], hashing);
  }
  if (context.json) std::printf("{\"sha256\":\"%s\",\"sets\":[%s]}\n", std::string(crypto::sha256_active()).c_str(), json.c_str());
  else std::printf("%ssha256: %s; \"hashing\" is the share of the time of decode + hash + verify\n", table.render().c_str(),
                   std::string(crypto::sha256_active()).c_str());
  return {};
}

}  // namespace coffer::app
