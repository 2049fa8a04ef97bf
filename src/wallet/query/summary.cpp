#include "wallet/query/summary.h"

#include <coffer/wallet/store.h>
#include "base/result.h"
#include "bus/position_codec.h"
#include "sql/connection.h"
#include "wallet/schema.h"

namespace coffer::wallet {

Result<DatabaseSummary> read_summary(sql::Database& database, const chain::Network& network) {
  const sql::MigrationStatus status = TRY(sql::migration_status(database, migrations(network)));
  if (!status.identity) return fail(Code::kNotFound, "there are no wallets yet");
  auto connection = TRY(database.acquire());
  const auto found = TRY(connection.one<std::uint64_t, Bytes>(
      "SELECT (SELECT count(*) FROM wallets), position FROM sync_state"));
  if (!found) return fail(Code::kCorrupt, "the wallets' position is missing");
  DatabaseSummary seen;
  seen.wallets = std::get<0>(*found);
  seen.position = TRY(bus::decode_position(std::get<1>(*found)));
  return seen;
}

}  // namespace coffer::wallet
