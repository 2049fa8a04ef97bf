#include "app/utxo_setup.h"

#include <boost/json.hpp>

#include "base/file.h"
#include "utxo/store.h"

namespace coffer::app {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr std::uint64_t kMaxGenesisBytes = 64u << 20;

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

// The magic number in a genesis file, at "a" or "a/b"; nothing if the file is not there.
Result<std::optional<std::uint64_t>> magic_in(const fs::path& file, std::string_view pointer) {
  if (!TRY(file_exists(file))) return std::nullopt;
  const Bytes text = TRY(read_file(file, kMaxGenesisBytes));
  json::error_code error;
  const json::value document = json::parse(json::string_view(as_text(text)), error);
  const json::value* magic = error ? nullptr : document.find_pointer(pointer, error);
  if (magic == nullptr || !magic->is_int64() || magic->as_int64() < 0)
    return fail(Code::kInvalidInput, "{}: no network magic at {}; is it a genesis file?",
                file.string(), pointer);
  return static_cast<std::uint64_t>(magic->as_int64());
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
  const fs::path directory = config.genesis;
  for (const auto& [name, pointer] :
       {std::pair{"byron-genesis.json", "/protocolConsts/protocolMagic"},
        std::pair{"shelley-genesis.json", "/networkMagic"}}) {
    const auto magic = TRY(magic_in(directory / name, pointer));
    if (magic && *magic != network.cardano.magic)
      return fail(Code::kUsage, "{} is of the network with magic {}, not of {} ({})",
                  (directory / name).string(), *magic, network.name, network.cardano.magic);
  }
  return chain::load_genesis_utxos(directory);
}

}  // namespace coffer::app
