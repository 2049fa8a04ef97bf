#include "dummy/settings.h"
#include "base/result.h"

namespace coffer::dummy {

std::span<const config::Key> settings() {
  static const std::vector<config::Key> all = {
      {.name = "dummy.enabled",
       .slot = [](config::Config& c) -> config::Slot { return &c.edit<Settings>().enabled; },
       .help = "Keep a counter."},
      {.name = "dummy.database",
       .slot = [](config::Config& c) -> config::Slot { return &c.edit<Settings>().database; },
       .help = "Where the counter is kept."}};
  return all;
}

Result<sql::DatabaseOptions> database_options(const config::Config& config) {
  const Settings& settings = config.of<Settings>();
  if (!settings.enabled) return fail(Code::kUnavailable, "dummy.enabled is false");
  sql::DatabaseOptions options;
  options.location =
      settings.database.empty() ? "sqlite:" + config.data_dir + "/dummy.db" : settings.database;
  return options;
}

}  // namespace coffer::dummy
