#include "dummy/counters.h"
#include "base/result.h"
#include "sql/connection.h"

namespace coffer::dummy {

sql::MigrateOptions migrations(const chain::Network& network) {
  sql::MigrateOptions options{.known = embedded_migrations()};
  options.identity = sql::Identity{.chain = std::string(network.chain_name()),
                                   .network = network.name,
                                   .genesis = network.genesis};
  return options;
}

Result<std::uint64_t> read_visits(sql::Database& database) {
  auto connection = TRY(database.acquire());
  const auto value =
      TRY(connection.value<std::uint64_t>("SELECT value FROM counters WHERE name = 'visits'"));
  return value.value_or(0);
}

}  // namespace coffer::dummy
