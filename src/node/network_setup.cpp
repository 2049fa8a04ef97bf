#include "node/network_setup.h"

#include "base/result.h"
#include "chain/genesis_network.h"

namespace coffer::node {

Result<chain::Network> configured_network(const config::Config& config) {
  Result<chain::Network> known = chain::find_network(config.chain, config.network);
  if (config.chain != "cardano") return known;
  if (!known && config.genesis.empty()) {
    known.error().message +=
        "; a private network needs its genesis files: name their directory "
        "with --genesis";
    return known;
  }
  if (!known) return chain::private_network(config.network, config.genesis);
  if (!config.genesis.empty() && known->name != "devnet")
    TRY(chain::check_genesis_files(*known, config.genesis));
  return known;
}

Result<std::vector<chain::GenesisUtxo>> genesis_utxos(const config::Config& config,
                                                      const chain::Network& network) {
  if (config.genesis.empty()) return std::vector<chain::GenesisUtxo>();
  if (network.family != chain::Family::kCardano || network.name == "devnet")
    return fail(Code::kUsage, "{} {} has no genesis files; remove --genesis", network.chain_name(),
                network.name);
  return chain::load_genesis_utxos(config.genesis);
}

std::optional<std::uint64_t> natural_max_tip_age_s(const chain::Network& network,
                                                   std::string_view source) {
  const bool has_pace =
      network.first_block && network.name != "regtest" && network.name != "devnet";
  // A node's immutable database is hours behind its chain.
  if (!has_pace || source.starts_with("immutable:")) return std::nullopt;
  return network.family == chain::Family::kBitcoin ? 4 * 3'600 : 15 * 60;
}

}  // namespace coffer::node
