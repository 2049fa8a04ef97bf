// coffer devnet write.
#include <cstdio>

#include <coffer/base/clock.h>
#include "base/file.h"
#include "base/result.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "feed/block_file.h"
#include "node/commands.h"
#include "node/devnet_setup.h"
#include "node/simulate.h"

namespace coffer::node {
namespace {

constexpr std::uint64_t kMaxBlocks = 10'000'000;

}  // namespace

Result<> run_devnet_write(const Context& context, const DevnetWriteArguments& arguments) {
  const config::Config& config = context.config;
  const chain::Network network = TRY(chain::find_network(config.chain, "devnet"));
  if (arguments.blocks > kMaxBlocks)
    return fail(Code::kUsage, "--blocks is at most {}", kMaxBlocks);
  if (arguments.format == "blk" && network.family == chain::Family::kCardano)
    return fail(Code::kUsage, "blk is Bitcoin's format; use --format hex or raw");
  const auto format = arguments.format == "blk"   ? feed::BlockFileFormat::kBlk
                      : arguments.format == "hex" ? feed::BlockFileFormat::kHex
                                                  : feed::BlockFileFormat::kRaw;
  feed::DevnetChain chain(TRY(devnet_options(config, false, system_clock())));
  cli::ProgressBar bar({.label = "writing", .unit = "blocks", .total = arguments.blocks + 1},
                       system_clock(), cli::stderr_output());
  const std::vector<Bytes> blocks = simulate(chain, arguments.blocks, arguments.with_stale, &bar);
  Bytes out;
  for (const Bytes& block : blocks) feed::append_block(out, network, format, block);
  TRY(write_file_atomically(arguments.out, out));
  bar.finish();
  const std::string tip = display(network.family, chain.best().back());
  if (context.json)
    std::printf("{\"file\":\"%s\",\"blocks\":%zu,\"bytes\":%zu,\"tip\":\"%s\"}\n",
                arguments.out.c_str(), blocks.size(), out.size(), tip.c_str());
  else
    std::printf("%s: %s blocks, %s, tip %s\n", arguments.out.c_str(),
                cli::with_thousands(blocks.size()).c_str(), cli::human_bytes(out.size()).c_str(),
                tip.c_str());
  return {};
}

}  // namespace coffer::node
