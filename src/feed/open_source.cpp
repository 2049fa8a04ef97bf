#include <coffer/feed/source.h>

#include "base/result.h"
#include "feed/blkdir_source.h"
#include "feed/devnet_source.h"
#include "feed/file_source.h"
#include "feed/immutable_source.h"
#include "feed/n2c_source.h"
#include "feed/rpc_source.h"

namespace coffer::feed {
namespace {

constexpr std::string_view kKinds =
    "devnet, file:PATH, blkdir:DIR, rpc:URL, immutable:DIR or n2c:SOCKET";

// The part after "kind:", if the text is of that kind.
std::optional<std::string> argument(std::string_view text, std::string_view kind) {
  if (!text.starts_with(kind) || text.size() <= kind.size() + 1 || text[kind.size()] != ':')
    return std::nullopt;
  return std::string(text.substr(kind.size() + 1));
}

Result<> expect_chain(const chain::Network& network, chain::Family family, std::string_view kind) {
  if (network.family == family) return {};
  return fail(Code::kUsage, "{0} delivers {1} blocks; add --chain {1}", kind,
              family == chain::Family::kBitcoin ? "bitcoin" : "cardano");
}

}  // namespace

Result<std::unique_ptr<Source>> open_source(std::string_view text, const chain::Network& network,
                                            const Clock& clock, OpenSourceOptions wanted) {
  using chain::Family;
  if (text == "devnet" && network.name == "devnet") {
    DevnetSourceOptions options;
    options.chain.family = network.family;
    return std::make_unique<DevnetSource>(options, clock);
  }
  if (network.name == "devnet")
    return fail(Code::kUsage,
                "This source needs a real network: add --network, e.g. --network mainnet.");
  if (auto path = argument(text, "file")) return std::make_unique<FileSource>(*path, network);
  if (auto directory = argument(text, "blkdir")) {
    TRY(expect_chain(network, Family::kBitcoin, "blkdir"));
    BlkDirOptions options;
    options.follow = wanted.follow;
    return std::make_unique<BlkDirSource>(*directory, network, clock, options);
  }
  if (auto url = argument(text, "rpc")) {
    TRY(expect_chain(network, Family::kBitcoin, "rpc"));
    auto endpoint = TRY(RpcEndpoint::parse(*url));
    return std::make_unique<RpcSource>(std::move(endpoint), network, clock);
  }
  if (auto directory = argument(text, "immutable")) {
    TRY(expect_chain(network, Family::kCardano, "immutable"));
    ImmutableSourceOptions options;
    options.directory = *directory;
    options.network = network;
    options.follow = wanted.follow;
    return std::make_unique<ImmutableSource>(options);
  }
  if (auto socket = argument(text, "n2c")) {
    TRY(expect_chain(network, Family::kCardano, "n2c"));
    N2cSourceOptions options;
    options.socket = *socket;
    options.network_magic = network.cardano.magic;
    return std::make_unique<N2cSource>(options, clock);
  }
  return fail(Code::kUsage, "unknown source; use {}", kKinds);
}

}  // namespace coffer::feed
