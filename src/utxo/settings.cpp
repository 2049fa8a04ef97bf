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
       .help = "Keep the UTXO state: what is unspent, by output, address and credential."},
      {.name = "utxo.store",
       .slot = SLOT(store),
       .help = "classic, or mmr with roots and proofs; what it is stays until 'coffer utxo "
               "rebuild'.",
       .choices = {"classic", "mmr"}},
      {.name = "utxo.pruneDepth",
       .slot = SLOT(prune_depth),
       .help = "Blocks for which a spent output is remembered, at least.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.rollbackWindow",
       .slot = SLOT(rollback_window),
       .help = "Blocks that the UTXO state can undo; at least utxo.pruneDepth.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.pruneBatchSize",
       .slot = SLOT(prune_batch_size),
       .help = "Old records that are cleared away with each block, about.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.index.address_hash",
       .slot = SLOT(index.address_hash),
       .help = "Index by address; without it or a strategy, true. Stays until 'coffer utxo "
               "rebuild'."},
      {.name = "utxo.index.payment_credential",
       .slot = SLOT(index.payment_credential),
       .help = "Index by payment credential (Cardano); without it or a strategy, true. Stays "
               "until 'coffer utxo rebuild'."},
      {.name = "utxo.indexingStrategy",
       .slot = SLOT(indexing_strategy),
       .help = "Sets both indexes at once; must not contradict them.",
       .choices = {"address_hash", "payment_credential", "both"}},
      {.name = "utxo.delta.selfContained",
       .slot = SLOT(self_contained_delta),
       .help = "What undoes a block holds whole outputs, so that spent ones can go after "
               "utxo.pruneDepth; takes more room."},
      {.name = "utxo.rollback.beyondWindow",
       .slot = SLOT(beyond_window),
       .help = "A rollback beyond the window: refuse it whole, or undo what can be undone.",
       .choices = {"refuse", "partial"}},
      {.name = "utxo.cacheMb",
       .slot = SLOT(cache_mb),
       .help = "Memory for outputs that wait for a commit while catching up.",
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
