#include "app/network_setup.h"

#include "chain/genesis_network.h"

namespace coffer::app {

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

}  // namespace coffer::app
