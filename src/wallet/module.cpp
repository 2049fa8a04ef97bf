#include "wallet/module.h"

#include "base/result.h"
#include "cli/table.h"
#include "node/stored_chain.h"
#include "wallet/commands/commands.h"
#include "wallet/distribution.h"
#include "wallet/json/status.h"
#include "wallet/query/summary.h"
#include "wallet/routes/wallets.h"
#include "wallet/schema.h"
#include "wallet/settings.h"

namespace coffer::wallet {
namespace {

// As they were left. Errors: kNotFound if there is no database yet.
Result<DatabaseSummary> stored_summary(const config::Config& config,
                                       const chain::Network& network) {
  sql::DatabaseOptions options = TRY(database_options(config));
  options.create_if_missing = false;
  const auto database = TRY(sql::Database::open(std::move(options)));
  return read_summary(*database, network);
}

}  // namespace

Result<> WalletModule::open(const node::OpenContext& context) {
  if (read_only_ || !has_wallets(config_)) return {};
  sql::DatabaseOptions options = TRY(database_options(config_));
  options.stop = context.stop;
  database_ = TRY(sql::Database::open(std::move(options)));
  const auto block_at = [&chain = context.chain](std::uint64_t height) {
    return node::block_at(chain, height);
  };
  StoreOptions rules = store_options(config_, network_);
  rules.block_at = block_at;
  rules.go_on = [stop = context.stop] { return stop == nullptr || !stop->is_requested(); };
  store_ = TRY(Store::open(*database_, network_, std::move(rules)));
  consumer_ = TRY(Consumer::open(*store_, {.hears_mempool = !context.one_shot}));
  // Without addresses there is nothing to find in old blocks.
  TRY(consumer_->skip_to(context.chain.position()));
  maintenance_ = std::make_unique<Maintenance>(*store_, *consumer_,
                                               MaintenanceOptions{context.open_blocks, block_at});
  return {};
}

std::optional<bus::Position> WalletModule::stored_position() const {
  if (!read_only_ || !has_wallets(config_)) return std::nullopt;
  const auto stored = stored_summary(config_, network_);
  return stored ? std::optional(stored->position) : std::nullopt;
}

std::optional<std::string> WalletModule::status() const {
  StatusReport report;
  if (consumer_) {
    report.tip_height = consumer_->position().tip_height();
    if (const auto counted = monitor_ ? monitor_->counted() : std::nullopt)
      report.wallets = counted->wallets;
    return json::write_fields(report);
  }
  if (!read_only_ || !has_wallets(config_)) return std::nullopt;
  const auto stored = stored_summary(config_, network_);
  if (!stored && stored.error().code == Code::kNotFound) return std::nullopt;
  if (stored) {
    report.wallets = stored->wallets;
    report.tip_height = stored->position.tip_height();
  } else {
    report.problem = stored.error().message;
  }
  return json::write_fields(report);
}

std::vector<const sql::Database*> WalletModule::databases() const {
  if (!database_) return {};
  return {database_.get()};
}

void WalletModule::add_routes(api::RouteTable& table) {
  WalletRoutes routes{store_.get(), network_};
  if (store_) {
    routes.rescan = [this](std::string_view name, std::optional<std::uint64_t> from) {
      return maintenance_->request_rescan(name, from);
    };
    routes.stats = [this] { return monitor_->counted(); };
  }
  add_wallet_routes(table, std::move(routes));
}

void WalletModule::start(api::Metrics& metrics) {
  if (!store_) return;
  monitor_ = std::make_unique<WalletMonitor>(*store_, metrics);
  maintenance_->start();
}

void WalletModule::stop() {
  monitor_.reset();
  if (maintenance_) maintenance_->stop();
}

namespace {

Result<std::unique_ptr<node::OpenModule>> open_module(const node::OpenContext& context) {
  auto module = std::make_unique<WalletModule>(context);
  TRY(module->open(context));
  return module;
}

std::vector<node::StatusLine> status_lines(const json::Value& value) {
  const auto status = json::read_fields<StatusReport>(value);
  if (!status) return {};
  if (!status->problem.empty()) return {{"wallets", status->problem}};
  std::string text = "before the first block";
  if (status->tip_height)
    text = fmt::format("at height {}", cli::with_thousands(*status->tip_height));
  if (status->wallets) text = fmt::format("{}, {}", cli::with_thousands(*status->wallets), text);
  return {{"wallets", text}};
}

}  // namespace

const node::Module& wallet_module() {
  static const node::Module module{
      .name = "wallet",
      .settings = settings(),
      .sql = node::SqlStore{.content = "wallets",
                            .setting = "wallet.database",
                            .database = database_options,
                            .migrations = migrations,
                            .reusing_migrations = reusing_migrations,
                            .distribution = &kDistribution},
      .status_schema = [] { return json::schema_of_fields<StatusReport>(); },
      .status_lines = status_lines,
      .commands = wallet_commands,
      .open = open_module};
  return module;
}

}  // namespace coffer::wallet
