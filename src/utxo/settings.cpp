#include "utxo/settings.h"
#include "base/result.h"

namespace coffer::utxo {
namespace {

#define SLOT(member) \
  [](config::Config& config) -> config::Slot { return &config.edit<Settings>().member; }

const std::vector<config::Key>& keys() {
  static const std::vector<config::Key> all = {
      {.name = "utxo.enabled",
       .slot = SLOT(enabled),
       .help = "Keep the UTXO state: unspent outputs by outpoint, address and payment credential."},
      {.name = "utxo.store",
       .slot = SLOT(store),
       .help = "Kind of store: mmr adds roots and proofs. To change it, run 'coffer utxo rebuild'.",
       .choices = {"classic", "mmr"}},
      {.name = "utxo.pruneDepth",
       .slot = SLOT(prune_depth),
       .help = "Keep spent outputs for at least this many blocks.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.rollbackWindow",
       .slot = SLOT(rollback_window),
       .help = "Number of blocks that the UTXO state can roll back; at least utxo.pruneDepth.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.pruneBatchSize",
       .slot = SLOT(prune_batch_size),
       .help = "Approximate number of old records to delete with each block.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.index.address_hash",
       .slot = SLOT(index.address_hash),
       .help = "Index outputs by address; default: true. To change it, run 'coffer utxo rebuild'."},
      {.name = "utxo.index.payment_credential",
       .slot = SLOT(index.payment_credential),
       .help = "Index outputs by payment credential (Cardano); default: true. To change it, run "
               "'coffer utxo rebuild'."},
      {.name = "utxo.indexingStrategy",
       .slot = SLOT(indexing_strategy),
       .help = "Set both indexes at once; must not contradict utxo.index.*.",
       .choices = {"address_hash", "payment_credential", "both"}},
      {.name = "utxo.delta.selfContained",
       .slot = SLOT(self_contained_delta),
       .help = "Store full outputs in rollback deltas. Spent outputs can then be pruned after "
               "utxo.pruneDepth, at the cost of disk space."},
      {.name = "utxo.rollback.beyondWindow",
       .slot = SLOT(beyond_window),
       .help = "What to do with a rollback beyond utxo.rollbackWindow: refuse it, or undo what is "
               "possible.",
       .choices = {"refuse", "partial"}},
      {.name = "utxo.cacheMb",
       .slot = SLOT(cache_mb),
       .help = "Memory for outputs that are not committed yet while syncing, in MiB.",
       .min = 16,
       .max = 1'048'576},
  };
  return all;
}

#undef SLOT

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

std::span<const config::Key> settings() {
  return keys();
}

Result<Options> options_of(const Settings& settings) {
  Options options;
  options.store = settings.store == "mmr" ? StoreType::kMmr : StoreType::kClassic;
  options.prune_depth = settings.prune_depth;
  options.rollback_window = settings.rollback_window;
  options.prune_batch_size = settings.prune_batch_size;
  options.index_address =
      TRY(index_flag(settings.index.address_hash, settings.indexing_strategy, "address_hash"));
  options.index_credential = TRY(index_flag(settings.index.payment_credential,
                                            settings.indexing_strategy, "payment_credential"));
  options.self_contained_delta = settings.self_contained_delta;
  options.beyond_window =
      settings.beyond_window == "partial" ? BeyondWindow::kPartial : BeyondWindow::kRefuse;
  options.cache_bytes = settings.cache_mb << 20;
  TRY(check(options));
  return options;
}

Result<> check_settings(const config::Config& config) {
  TRY(options_of(config.of<Settings>()));
  return {};
}

}  // namespace coffer::utxo
