#include "txstore/module.h"

#include <coffer/base/log.h>
#include <coffer/txstore/store.h>
#include "base/result.h"
#include "cli/table.h"
#include "node/stored_chain.h"
#include "txstore/commands/commands.h"
#include "txstore/json/status.h"
#include "txstore/routes/metrics.h"
#include "txstore/routes/txs.h"
#include "txstore/settings.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore {
namespace {

using node::OpenContext;

class TxStoreModule final : public node::OpenModule {
 public:
  explicit TxStoreModule(const OpenContext& context)
      : network_(context.network),
        chain_(context.chain),
        backend_(context.config.of<Settings>().backend),
        window_(options_of(context.config, context.network).window) {}
  ~TxStoreModule() override { stop(); }

  Result<> open(const OpenContext& context) {
    const Settings& settings = context.config.of<Settings>();
    if (context.read_only) return open_to_look(context);
    if (!settings.enabled) return {};
    const Options options = options_of(context.config, network_);
    if (backend_ == "rocksdb") {
      store_ = TRY(Store::open(context.db, network_, options, context.genesis));
    } else {
      sql::DatabaseOptions location = TRY(database_options(context.config));
      location.stop = context.stop;
      database_ = TRY(sql::Database::open(std::move(location)));
      TRY(sql::prepare_schema(*database_, migrations(network_), sql::Schema::kMigrate));
      store_ = TRY(Store::open(*database_, network_, options, context.genesis));
    }
    if (settings.start == "tip" && store_->tip().position.at_origin && !chain_.position().at_origin)
      TRY(store_->begin_after(chain_.position()));
    consumer_ = TRY(Consumer::open(*store_));
    log_state("transaction store opened", context.one_shot);
    return {};
  }

  bus::Consumer* consumer() override { return consumer_.get(); }

  std::optional<bus::Position> stored_position() const override {
    if (!store_ || consumer_) return std::nullopt;
    return store_->tip().position;
  }

  std::optional<std::string> status() const override {
    if (!store_) {
      if (problem_.empty()) return std::nullopt;
      StatusReport report;
      report.backend = backend_;
      report.window = window_;
      report.problem = problem_;
      return json::write_fields(report);
    }
    std::optional<Stats> stats;
    if (monitor_)
      stats = monitor_->stats();
    else if (const auto now = store_->stats())
      stats = *now;
    if (!stats) return std::nullopt;  // the consumer's own state tells why
    return json::write_fields(status_report(backend_, window_, *stats));
  }

  std::vector<const sql::Database*> databases() const override {
    if (!database_) return {};
    return {database_.get()};
  }

  void add_routes(api::RouteTable& table) override {
    add_tx_routes(
        table, {.store = store_.get(),
                .network = network_,
                .block_at = [this](std::uint64_t height) { return node::block_at(chain_, height); },
                .pool = database_ != nullptr ? "txstore" : ""});
  }

  void start(api::Metrics& metrics) override {
    if (store_) monitor_ = std::make_unique<TxMonitor>(*store_, metrics, database_ != nullptr);
  }
  void stop() override { monitor_.reset(); }

 private:
  // What is there, also if only `coffer demo` had switched it on. Nothing if there is none.
  Result<> open_to_look(const OpenContext& context) {
    const Settings& settings = context.config.of<Settings>();
    if (!settings.enabled && context.config.is_given("txstore.enabled")) return {};
    if (backend_ != "rocksdb" && !settings.enabled) return {};
    auto opened = backend_ == "rocksdb" ? Store::open_to_read(context.db, network_,
                                                              options_of(context.config, network_))
                                        : open_tables(context);
    if (opened)
      store_ = std::move(*opened);
    else if (opened.error().code != Code::kNotFound)
      problem_ = opened.error().message;
    return {};
  }

  Result<std::unique_ptr<Store>> open_tables(const OpenContext& context) {
    sql::DatabaseOptions location = TRY(database_options(context.config));
    location.create_if_missing = false;
    location.stop = context.stop;
    database_ = TRY(sql::Database::open(std::move(location)));
    TRY(sql::prepare_schema(*database_, migrations(network_), sql::Schema::kMustBeCurrent));
    return Store::open(*database_, network_, options_of(context.config, network_), {});
  }

  void log_state(std::string_view event, bool one_shot) const {
    const auto stats = store_->stats();
    if (!stats) return log::error(event, {{"problem", stats.error().message}});
    const StatusReport report = status_report(backend_, window_, *stats);
    // A one-shot import has a progress line, which a log line would tear apart.
    log::write(one_shot ? log::Level::kDebug : log::Level::kInfo, event,
               {{"backend", report.backend},
                {"height", stats->tip.height()},
                {"records", report.records},
                {"unmined", report.unmined},
                {"conflicting", report.conflicting},
                {"window", report.window}});
    if (report.damaged)
      log::warn("the transaction store is damaged: parents of transactions in blocks are missing",
                {{"inputs", report.parent_missing}, {"next", "run 'coffer tx rebuild'"}});
  }

  const chain::Network& network_;
  const chainstate::ChainState& chain_;
  const std::string backend_;
  const std::uint64_t window_;
  std::string problem_;  // why what is there cannot be read, for who only looks
  // Destroyed from the last to the first: users before what they use. Null when it is off.
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Consumer> consumer_;
  std::unique_ptr<TxMonitor> monitor_;
};

Result<std::unique_ptr<node::OpenModule>> open_module(const OpenContext& context) {
  auto module = std::make_unique<TxStoreModule>(context);
  TRY(module->open(context));
  return module;
}

Result<std::vector<kv::ColumnOptions>> module_columns(const config::Config& config,
                                                      node::Columns which) {
  const Settings& settings = config.of<Settings>();
  const bool used = settings.enabled && settings.backend == "rocksdb";
  if (which == node::Columns::kConfigured && !used) return std::vector<kv::ColumnOptions>();
  return columns();
}

// A demonstration shows everything, unless somebody said otherwise.
void demo_settings(config::Config& config) {
  if (!config.is_given("txstore.enabled")) config.edit<Settings>().enabled = true;
}

std::vector<node::StatusLine> status_lines(const json::Value& value) {
  const auto status = json::read_fields<StatusReport>(value);
  if (!status) return {};
  if (!status->problem.empty()) return {{"stored", status->problem}};
  std::string text =
      fmt::format("{} transactions ({}), {} unmined, {} conflicting",
                  cli::with_thousands(status->records), cli::human_bytes(status->bytes),
                  cli::with_thousands(status->unmined), cli::with_thousands(status->conflicting));
  if (status->first_block)
    text += fmt::format(", from block {} on", cli::with_thousands(*status->first_block));
  if (status->damaged)
    text += fmt::format("; damaged: {} without a stored parent, run 'coffer tx rebuild'",
                        cli::counted(status->parent_missing, "input"));
  return {{"stored", text}};
}

}  // namespace

const node::Module& txstore_module() {
  static const node::Module module{
      .name = "txstore",
      .settings = settings(),
      .check_settings = check_settings,
      .columns = module_columns,
      .erase = erase,
      .sql = node::SqlStore{.content = "transactions",
                            .setting = "txstore.database",
                            .database = database_options,
                            .migrations = migrations,
                            .reusing_migrations = migrations},
      .demo_settings = demo_settings,
      .status_schema = [] { return json::schema_of_fields<StatusReport>(); },
      .status_lines = status_lines,
      .commands = txstore_commands,
      .open = open_module};
  return module;
}

}  // namespace coffer::txstore
