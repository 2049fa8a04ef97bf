#include "token/module.h"

#include "base/file.h"
#include "base/result.h"
#include "cli/table.h"
#include "sql/location.h"
#include "token/commands/commands.h"
#include "token/distribution.h"
#include "token/routes/demo.h"
#include "token/routes/events.h"
#include "token/routes/maintenance.h"
#include "token/routes/tokens.h"
#include "token/schema.h"
#include "token/settings.h"

namespace coffer::token {
namespace {

class TokenModule final : public node::OpenModule {
 public:
  explicit TokenModule(const config::Config& config) : config_(config) {}
  ~TokenModule() override { stop(); }

  Result<> open(const node::OpenContext& context) {
    const Settings& settings = config_.of<Settings>();
    // It has no chain: an import of blocks, or who only looks, needs nothing of it.
    if (!settings.enabled || context.read_only || context.one_shot) return {};
    if (settings.demo) TRY(make_demo_community(config_));
    communities_ = TRY(Communities::open(config_, system_clock(), context.stop));
    TRY(communities_->refresh());
    access_ = TRY(Access::open(settings, system_clock()));
    events_ = std::make_unique<CommunityEvents>();
    writes_ = std::make_unique<Writes>(system_clock());
    return {};
  }

  std::optional<std::string> status() const override {
    if (!maintenance_) return std::nullopt;
    return json::write_fields(maintenance_->status());
  }
  std::vector<api::NotReady> not_ready() const override {
    std::vector<api::NotReady> reasons;
    if (maintenance_)
      for (std::string& reason : maintenance_->not_ready())
        reasons.push_back({.reason = std::move(reason)});
    return reasons;
  }

  std::vector<const sql::Database*> databases() const override {
    return communities_ ? communities_->databases() : std::vector<const sql::Database*>();
  }

  void add_routes(api::RouteTable& table) override {
    TokenRoutes routes;
    if (communities_) {
      routes = {communities_.get(), access_.get(), events_.get(), writes_.get(),
                [this](std::string_view community) { return maintenance_->checked(community); }};
    }
    add_token_routes(table, std::move(routes));
  }

  void start(api::Metrics& metrics) override {
    if (!communities_) return;
    access_->set_metrics(metrics);
    maintenance_ = std::make_unique<Maintenance>(*communities_, config_, metrics, system_clock());
    const Settings& settings = config_.of<Settings>();
    if (settings.demo) life_ = std::make_unique<DemoLife>(*communities_, settings.community);
  }
  void stop() override {
    life_.reset();
    writes_.reset();
    events_.reset();
    maintenance_.reset();
  }

 private:
  const config::Config& config_;
  // Destroyed from the last to the first: users before what they use. Null when it is off.
  std::unique_ptr<Access> access_;
  std::unique_ptr<Communities> communities_;  // answers what waits when it goes
  std::unique_ptr<CommunityEvents> events_;
  std::unique_ptr<Writes> writes_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<DemoLife> life_;
};

Result<std::unique_ptr<node::OpenModule>> open_module(const node::OpenContext& context) {
  auto module = std::make_unique<TokenModule>(context.config);
  TRY(module->open(context));
  return module;
}

std::vector<node::StatusLine> status_lines(const json::Value& value) {
  const auto status = json::read_fields<StatusReport>(value);
  if (!status) return {};
  std::string text = cli::counted(status->communities, "community", "communities");
  if (status->wallets) text += ", " + cli::counted(*status->wallets, "wallet");
  if (status->unlogged.value_or(0) > 0)
    text += fmt::format(", {} not in the log yet", cli::with_thousands(*status->unlogged));
  std::vector<node::StatusLine> lines = {{"tokens", text}};
  if (!status->problem.empty()) lines.push_back({"", status->problem});
  return lines;
}

// For `coffer db`: of the community of the settings, if it is there or shall be.
Result<sql::DatabaseOptions> used_database(const config::Config& config) {
  const Settings& settings = config.of<Settings>();
  sql::DatabaseOptions options = TRY(database_options(config, settings.community));
  const sql::LocationInfo where = TRY(sql::describe_location(options.location));
  const bool is_there = !has_files(config) || TRY(file_exists(where.path));
  if (is_there || config.is_given("token.community")) return options;
  return fail(Code::kNotFound,
              "there is no community '{}' in {}; create it with 'coffer token init', or name "
              "another with --community",
              settings.community, config.data_dir);
}

// No chain owns it: there is no identity.
sql::MigrateOptions migrations(const chain::Network&) {
  return {.known = embedded_migrations()};
}

std::string community_of(const config::Config& config) {
  return config.of<Settings>().community;
}

void demo_settings(config::Config& config) {
  if (!config.is_given("token.enabled")) config.edit<Settings>().enabled = true;
  config.edit<Settings>().demo = config.of<Settings>().enabled && has_files(config);
}

}  // namespace

const node::Module& token_module() {
  static const node::Module module{
      .name = "token",
      .settings = settings(),
      .check_settings = check_settings,
      .sql = node::SqlStore{.content = "token communities",
                            .setting = "token.database",
                            .database = used_database,
                            .migrations = migrations,
                            .reusing_migrations = migrations,
                            .distribution = &kDistribution,
                            .schema = community_of},
      .demo_settings = demo_settings,
      .status_schema = [] { return json::schema_of_fields<StatusReport>(); },
      .status_lines = status_lines,
      .commands = token_commands,
      .open = open_module};
  return module;
}

}  // namespace coffer::token
