// coffer decode: a block as JSON.
#include <coffer/chain/decode.h>
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "feed/block_file.h"
#include "node/block_json.h"
#include "node/commands.h"
#include "node/network_setup.h"

namespace coffer::node {
namespace {

constexpr std::uint64_t kMaxBlockFileBytes = 4ull << 30;

// A blk file says by its magic which network it is of, unless the user did.
Result<chain::Network> network_of_file(const config::Config& config, ByteView data) {
  if (config.chain == "bitcoin" && data.size() >= 4 && !config.is_given("network"))
    if (const std::string_view name = chain::network_of_magic(data.first(4)); !name.empty())
      return chain::find_network("bitcoin", name);
  return configured_network(config);
}

}  // namespace

Result<> run_decode(const Context& context, const DecodeArguments& arguments) {
  const Bytes data = TRY(read_file(arguments.file, kMaxBlockFileBytes));
  const chain::Network network = TRY(network_of_file(context.config, data));
  std::vector<Bytes> blocks = TRY_IN(arguments.file, feed::split_blocks(network, data));
  if (arguments.entry >= blocks.size())
    return fail(Code::kNotFound, "{} has {} blocks; --entry counts from 0", arguments.file,
                blocks.size());
  Bytes& raw = blocks[arguments.entry];
  chain::Block block;
  const auto decoded = chain::decode_into(block, network, raw);
  // A block whose commitments do not match is still shown, and says so.
  if (!decoded)
    TRY_IN(arguments.file,
           chain::decode_into(block, network, raw, {.hash = true, .verify = false}));
  const std::string json = TRY_IN(arguments.file, block_json(network, block, decoded.has_value()));
  cli::print_line(json);
  if (!decoded) return fail(Error(decoded.error()).in(arguments.file));
  return {};
}

}  // namespace coffer::node
