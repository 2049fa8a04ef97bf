// The UTXO state as a module of the program.
#include "node/module.h"

#include <coffer/base/log.h>
#include <coffer/utxo/store.h>
#include "base/result.h"
#include "cli/table.h"
#include "utxo/commands/commands.h"
#include "utxo/json/output.h"
#include "utxo/json/status.h"
#include "utxo/routes/metrics.h"
#include "utxo/routes/utxos.h"
#include "utxo/settings.h"

namespace coffer::utxo {
namespace {

using node::OpenContext;

class UtxoModule final : public node::OpenModule {
 public:
  explicit UtxoModule(const OpenContext& context)
      : network_(context.network), one_shot_(context.one_shot) {}
  ~UtxoModule() override {
    if (store_) log_state("utxo state closed");
  }

  Result<> open(const OpenContext& context) {
    if (!context.config.of<Settings>().enabled) return {};
    if (context.read_only) {
      auto state = open_state(context.db, network_);
      // Made by an older version, or never with the UTXO state on: there is nothing to show.
      if (!state && state.error().code != Code::kNotFound) return fail(std::move(state).error());
      if (state) reader_ = std::move(*state);
      return {};
    }
    Options options = TRY(options_of(context.config.of<Settings>()));
    options.log_rollbacks = context.log_rollbacks;
    store_ = TRY(Store::open(context.db, network_, options, context.genesis));
    const bool has_genesis_files =
        network_.family == chain::Family::kCardano && network_.name != "devnet";
    if (store_->position().at_origin && has_genesis_files && context.genesis.empty())
      log::warn(
          "without genesis files the outputs in them are unknown: inputs that spend them will "
          "count as missing; name their directory with --genesis to have them");
    log_state("utxo state opened");
    return {};
  }

  bus::Consumer* consumer() override { return store_.get(); }

  std::optional<bus::Position> stored_position() const override {
    if (!reader_) return std::nullopt;
    const auto stats = reader_->stats();
    return stats ? std::optional(stats->at) : std::nullopt;
  }

  std::optional<std::string> status() const override {
    if (state() == nullptr) return std::nullopt;
    const auto stats = state()->stats();
    if (!stats) return std::nullopt;  // the consumer's own state tells why
    return json::write_fields(
        StatusReport{.store = std::string(to_string(stats->store)),
                     .unspent = stats->unspent,
                     .coin = decimal(stats->amount),
                     .unit = std::string(coin_unit(network_.family)),
                     .addresses = monitor_ ? monitor_->addresses() : std::nullopt,
                     .rollback_blocks = stats->rollback_blocks,
                     .missing_inputs = stats->missing_inputs});
  }

  void add_routes(api::RouteTable& table) override { add_utxo_routes(table, {state(), network_}); }

  void start(api::Metrics& metrics) override {
    if (store_) monitor_ = std::make_unique<UtxoMonitor>(*store_, metrics);
  }
  void stop() override { monitor_.reset(); }

 private:
  const UtxoState* state() const { return store_ ? &store_->state() : reader_.get(); }

  void log_state(std::string_view event) const {
    const auto stats = store_->state().stats();
    if (!stats) return log::error(event, {{"problem", stats.error().message}});
    // A one-shot import has a progress line, which a log line would tear apart.
    log::write(one_shot_ ? log::Level::kDebug : log::Level::kInfo, event,
               {{"store", to_string(stats->store)},
                {"block", stats->number},
                {"slot", stats->at.point.slot},
                {"unspent", stats->unspent},
                {"created", stats->created},
                {"spent", stats->spent},
                {"pruned", stats->pruned},
                {"reversed", stats->reversed},
                {"missing_inputs", stats->missing_inputs}});
  }

  const chain::Network& network_;
  const bool one_shot_;
  // One of the two, or neither when it is off: the consumer, or its reading side for who only
  // looks.
  std::unique_ptr<Store> store_;
  std::unique_ptr<UtxoState> reader_;
  std::unique_ptr<UtxoMonitor> monitor_;
};

Result<std::unique_ptr<node::OpenModule>> open_module(const OpenContext& context) {
  auto module = std::make_unique<UtxoModule>(context);
  TRY(module->open(context));
  return module;
}

Result<std::vector<kv::ColumnOptions>> module_columns(const config::Config& config,
                                                      node::Columns which) {
  if (which == node::Columns::kPossible) {
    Options all;
    all.store = StoreType::kMmr;
    return columns(all);
  }
  // Switched off, no column is made or used (U13).
  if (!config.of<Settings>().enabled) return std::vector<kv::ColumnOptions>();
  return columns(TRY(options_of(config.of<Settings>())));
}

std::vector<node::StatusLine> status_lines(const json::Value& value) {
  const auto status = json::read_fields<StatusReport>(value);
  if (!status) return {};
  return {{"unspent", fmt::format("{} outputs, {} {}", cli::with_thousands(status->unspent),
                                  status->coin, status->unit)}};
}

}  // namespace

const node::Module& utxo_module() {
  static const node::Module module{
      .name = "utxo",
      .settings = settings(),
      .check_settings = check_settings,
      .columns = module_columns,
      .erase = erase,
      .status_schema = [] { return json::schema_of_fields<StatusReport>(); },
      .status_lines = status_lines,
      .commands = utxo_commands,
      .open = open_module};
  return module;
}

}  // namespace coffer::utxo
