#include "node/devnet_setup.h"

#include <charconv>

#include "base/file.h"
#include "base/result.h"

namespace coffer::node {
namespace {

constexpr std::string_view kTimesFile = "devnet.times";

// "START SECONDS": when block 0 was, and the time between blocks.
Result<> parse(std::string_view text, feed::DevnetOptions& options) {
  const char* at = text.data();
  const char* end = text.data() + text.size();
  for (std::uint64_t* value : {&options.start_unix_s, &options.seconds_per_block}) {
    while (at < end && (*at == ' ' || *at == '\n')) ++at;
    auto [next, error] = std::from_chars(at, end, *value);
    if (error != std::errc())
      return fail(Code::kCorrupt, "{} in the data directory is damaged; choose another --data",
                  kTimesFile);
    at = next;
  }
  return {};
}

}  // namespace

Result<feed::DevnetOptions> devnet_options(const config::Config& config, bool paced,
                                           const Clock& clock) {
  feed::DevnetOptions options;
  options.family = config.chain == "cardano" ? chain::Family::kCardano : chain::Family::kBitcoin;
  options.seed = config.devnet.seed;
  options.txs_per_block = config.devnet.txs_per_block;
  options.reorg_every = config.devnet.reorg_every;
  options.max_reorg_depth = config.devnet.max_reorg_depth;
  const std::filesystem::path file = std::filesystem::path(config.data_dir) / kTimesFile;
  if (TRY(file_exists(file))) {
    const Bytes text = TRY(read_file(file, 256));
    TRY(parse(as_text(text), options));
    return options;
  }
  // A chain that was begun without such a file goes on without one.
  if (!paced || TRY(file_exists(std::filesystem::path(config.data_dir) / "db"))) return options;
  options.seconds_per_block = std::max<std::uint64_t>(1, config.devnet.block_interval_ms / 1000);
  options.start_unix_s = static_cast<std::uint64_t>(clock.unix_ms() / 1000) -
                         kDevnetPremine * options.seconds_per_block;
  TRY(write_file_atomically(
      file, as_bytes(fmt::format("{} {}\n", options.start_unix_s, options.seconds_per_block))));
  return options;
}

}  // namespace coffer::node
