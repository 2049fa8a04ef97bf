#include "node/make_source.h"

#include "feed/blkdir_source.h"
#include "feed/file_source.h"
#include "feed/immutable_source.h"
#include "feed/n2c_source.h"
#include "feed/rpc_source.h"

namespace coffer::node {
namespace {

constexpr std::string_view kKinds =
    "devnet, file:PATH, blkdir:DIR, rpc:URL, immutable:DIR or n2c:SOCKET";

// The part after "kind:", if the text is of that kind.
std::optional<std::string> argument(const std::string& text, std::string_view kind) {
  if (!text.starts_with(kind) || text.size() <= kind.size() + 1 || text[kind.size()] != ':')
    return std::nullopt;
  return text.substr(kind.size() + 1);
}

Result<> expect_chain(const chain::Network& network, chain::Family family, std::string_view kind) {
  if (network.family == family) return {};
  return fail(Code::kUsage, "{} is a source of {} blocks; set --chain", kind,
              family == chain::Family::kBitcoin ? "bitcoin" : "cardano");
}

}  // namespace

Result<std::unique_ptr<feed::Source>> make_source(const SourceRequest& request,
                                                  const Clock& clock) {
  const std::string& text = request.config.source;
  const chain::Network& network = request.network;
  using chain::Family;
  if (network.name == "devnet")
    return fail(Code::kUsage,
                "network devnet is simulated; say with --network which one the source is of");
  if (auto path = argument(text, "file")) return std::make_unique<feed::FileSource>(*path, network);
  if (auto directory = argument(text, "blkdir")) {
    TRY(expect_chain(network, Family::kBitcoin, "blkdir"));
    feed::BlkDirOptions options;
    options.follow = request.follow;
    return std::make_unique<feed::BlkDirSource>(*directory, network, clock, options);
  }
  if (auto url = argument(text, "rpc")) {
    TRY(expect_chain(network, Family::kBitcoin, "rpc"));
    auto endpoint = TRY(feed::RpcEndpoint::parse(*url));
    return std::make_unique<feed::RpcSource>(std::move(endpoint), network, clock);
  }
  if (auto directory = argument(text, "immutable")) {
    TRY(expect_chain(network, Family::kCardano, "immutable"));
    feed::ImmutableSourceOptions options;
    options.directory = *directory;
    options.network = network;
    options.follow = request.follow;
    return std::make_unique<feed::ImmutableSource>(options);
  }
  if (auto socket = argument(text, "n2c")) {
    TRY(expect_chain(network, Family::kCardano, "n2c"));
    feed::N2cSourceOptions options;
    options.socket = *socket;
    options.network_magic = network.cardano.magic;
    return std::make_unique<feed::N2cSource>(options, clock);
  }
  return fail(Code::kUsage, "no such source; use {}", kKinds);
}

}  // namespace coffer::node
