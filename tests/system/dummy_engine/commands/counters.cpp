#include "dummy/counters.h"
#include "base/result.h"
#include "cli/output.h"
#include "dummy/settings.h"
#include "node/command.h"

namespace coffer::dummy {

std::vector<cli::Command> commands() {
  return {{.path = {"dummy"}, .summary = "Count visits"},
          node::command({.path = {"dummy", "visits"},
                         .summary = "Print how many came",
                         .settings = {"data_dir", "dummy."}},
                        [](const node::Context& context) -> Result<> {
                          auto options = TRY(database_options(context.config));
                          options.create_if_missing = false;
                          const auto database = TRY(sql::Database::open(options));
                          cli::print_line(std::to_string(TRY(read_visits(*database))));
                          return cli::finish_output();
                        })};
}

}  // namespace coffer::dummy
