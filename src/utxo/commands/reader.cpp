#include "utxo/commands/reader.h"

#include "base/file.h"
#include "base/result.h"
#include "config/switched_off.h"
#include "node/database.h"
#include "node/stored_chain.h"
#include "utxo/settings.h"

namespace coffer::utxo {

Result<UtxoReader> UtxoReader::open(const config::Config& config) {
  if (!config.of<utxo::Settings>().enabled)
    return fail(config::switched_off("the UTXO state", "utxo.enabled"));
  if (!TRY(file_exists(std::filesystem::path(config.data_dir) / "db")))
    return fail(
        Code::kNotFound,
        "there are no data in {}; start with 'coffer demo', or name another directory with --data",
        config.data_dir);
  UtxoReader reader;
  kv::DatabaseOptions options = TRY(node::database_options(config, true));
  reader.db = TRY(kv::Database::open(options));
  node::StoredChain stored = TRY(node::open_stored_chain(config, *reader.db));
  reader.network = std::move(stored.network);
  reader.chain = std::move(stored.chain);
  reader.state = TRY(utxo::open_state(*reader.db, reader.network));
  return reader;
}

}  // namespace coffer::utxo
