#include "app/utxo_setup.h"

#include "app/command.h"
#include "utxo/store.h"
#include "wallet/settings.h"

namespace coffer::app {
void declare_settings() {
  config::declare(utxo::settings(), utxo::check_settings);
  config::declare(wallet::settings());
}

std::vector<kv::ColumnOptions> all_utxo_columns() {
  utxo::Options options;
  options.store = utxo::StoreType::kMmr;
  return utxo::columns(options);
}

Result<std::vector<chain::GenesisUtxo>> genesis_utxos(const config::Config& config,
                                                      const chain::Network& network) {
  if (config.genesis.empty()) return std::vector<chain::GenesisUtxo>();
  if (network.family != chain::Family::kCardano || network.name == "devnet")
    return fail(Code::kUsage, "{} {} has no genesis files; drop --genesis", network.chain_name(),
                network.name);
  return chain::load_genesis_utxos(config.genesis);
}

}  // namespace coffer::app
