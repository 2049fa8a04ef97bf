#include "node/module.h"

#include "base/result.h"
#include "dummy/counters.h"
#include "dummy/json/status.h"
#include "dummy/routes/counters.h"
#include "dummy/settings.h"

namespace coffer::dummy {

std::vector<cli::Command> commands();  // commands/counters.cpp

namespace {

class DummyModule final : public node::OpenModule {
 public:
  Result<> open(const node::OpenContext& context) {
    auto options = TRY(database_options(context.config));
    options.create_if_missing = !context.read_only;
    database_ = TRY(sql::Database::open(options));
    if (!context.read_only) (void)TRY(sql::migrate(*database_, migrations(context.network)));
    return {};
  }
  std::optional<std::string> status() const override {
    const auto visits = read_visits(*database_);
    if (!visits) return std::nullopt;
    return json::write_fields(StatusReport{*visits});
  }
  void add_routes(api::RouteTable& table) override { add_counter_routes(table, database_.get()); }

 private:
  std::unique_ptr<sql::Database> database_;
};

}  // namespace

const node::Module& dummy_module() {
  static const node::Module module{
      .name = "dummy",
      .settings = settings(),
      .sql = node::SqlStore{.content = "counters",
                            .setting = "dummy.database",
                            .database = database_options,
                            .migrations = migrations,
                            .reusing_migrations = migrations},
      .status_schema = [] { return json::schema_of_fields<StatusReport>(); },
      .status_lines = [](const json::Value& status) -> std::vector<node::StatusLine> {
        const auto read = json::read_fields<StatusReport>(status);
        if (!read) return {};
        return {{"visits", std::to_string(read->visits)}};
      },
      .commands = commands,
      .open = [](const node::OpenContext& context) -> Result<std::unique_ptr<node::OpenModule>> {
        auto opened = std::make_unique<DummyModule>();
        TRY(opened->open(context));
        return opened;
      }};
  return module;
}

}  // namespace coffer::dummy
