#include "app/utxo_reader.h"

#include "app/database_setup.h"
#include "base/file.h"
#include "utxo/settings.h"

namespace coffer::app {

Result<StoredChain> open_stored_chain(const config::Config& config, kv::Database& db) {
  const auto identity = TRY(stored_identity(db));
  if (!identity)
    return fail(Code::kNotFound, "no block in {} yet; start coffer once", config.data_dir);
  StoredChain stored;
  stored.network = TRY(identity->to_network());
  const std::uint64_t window =
      config.chainstate.rollback_window.value_or(stored.network.rollback_window);
  stored.chain = TRY(chainstate::ChainState::open(db, stored.network, *identity, window));
  return stored;
}

Result<UtxoReader> UtxoReader::open(const config::Config& config) {
  if (!config.of<utxo::Settings>().enabled)
    return fail(Code::kUnavailable, "the UTXO state is off: utxo.enabled is false in the settings");
  if (!TRY(file_exists(std::filesystem::path(config.data_dir) / "db")))
    return fail(Code::kNotFound,
                "nothing in {} yet; start with 'coffer demo' or name the place with --data",
                config.data_dir);
  UtxoReader reader;
  kv::DatabaseOptions options = TRY(database_options(config, true));
  reader.db = TRY(kv::Database::open(std::move(options)));
  StoredChain stored = TRY(open_stored_chain(config, *reader.db));
  reader.network = std::move(stored.network);
  reader.chain = std::move(stored.chain);
  reader.state = TRY(utxo::open_state(*reader.db, reader.network));
  return reader;
}

}  // namespace coffer::app
