#include "app/utxo_setup.h"

#include "utxo/store.h"

namespace coffer::app {
namespace {

// What one flag is, given the strategy's word. Errors: kUsage if both were given and differ.
Result<bool> index_flag(const std::optional<bool>& flag, const std::string& strategy,
                        std::string_view name) {
  if (strategy.empty()) return flag.value_or(true);
  const bool wanted = strategy == "both" || strategy == name;
  if (flag.value_or(wanted) != wanted)
    return fail(Code::kUsage,
                "utxo.index.{} = {} contradicts utxo.indexingStrategy = \"{}\"; drop one of them",
                name, *flag, strategy);
  return wanted;
}

}  // namespace

Result<utxo::Options> utxo_options(const UtxoConfig& config) {
  utxo::Options options;
  options.store = config.store == "mmr" ? utxo::StoreType::kMmr : utxo::StoreType::kClassic;
  options.prune_depth = config.prune_depth;
  options.rollback_window = config.rollback_window;
  options.prune_batch_size = config.prune_batch_size;
  options.index_address =
      TRY(index_flag(config.index.address_hash, config.indexing_strategy, "address_hash"));
  options.index_credential = TRY(
      index_flag(config.index.payment_credential, config.indexing_strategy, "payment_credential"));
  options.self_contained_delta = config.self_contained_delta;
  options.beyond_window = config.beyond_window == "partial" ? utxo::BeyondWindow::kPartial
                                                            : utxo::BeyondWindow::kRefuse;
  options.cache_bytes = config.cache_mb << 20;
  TRY(utxo::check(options));
  return options;
}

std::vector<kv::ColumnOptions> all_utxo_columns() {
  utxo::Options options;
  options.store = utxo::StoreType::kMmr;
  return utxo::columns(options);
}

Result<std::vector<chain::GenesisUtxo>> genesis_utxos(const Config& config,
                                                      const chain::Network& network) {
  if (config.genesis.empty()) return std::vector<chain::GenesisUtxo>();
  if (network.family != chain::Family::kCardano || network.name == "devnet")
    return fail(Code::kUsage, "{} {} has no genesis files; drop --genesis", network.chain_name(),
                network.name);
  return chain::load_genesis_utxos(config.genesis);
}

}  // namespace coffer::app
