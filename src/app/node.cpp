#include "app/node.h"

#include <unistd.h>

#include "app/database_setup.h"
#include "app/devnet_setup.h"
#include "app/make_source.h"
#include "app/network_setup.h"
#include "app/snapshot.h"
#include "app/utxo_setup.h"
#include "app/version.h"
#include "app/wallet_setup.h"
#include "base/file.h"
#include "base/log.h"
#include "utxo/routes/utxos.h"
#include "wallet/routes/wallets.h"

namespace coffer::app {
namespace {

namespace fs = std::filesystem;

http::Options http_options(const config::HttpConfig& config) {
  http::Options options;
  options.listen = config.listen;
  options.allowed_hosts = config.allowed_hosts;
  if (!config.tls.cert.empty()) options.tls = http::TlsFiles{config.tls.cert, config.tls.key};
  options.limits.workers = config.workers;
  options.limits.connections = config.max_connections;
  options.limits.header_bytes = config.max_header_bytes;
  options.limits.body_bytes = config.max_body_bytes;
  options.limits.request_time = std::chrono::milliseconds(config.request_timeout_ms);
  options.limits.idle_time = std::chrono::milliseconds(config.idle_timeout_ms);
  options.limits.write_time = std::chrono::milliseconds(config.write_timeout_ms);
  return options;
}

// Before anything is made: chain, network and source fit together.
Result<> check_source(const config::Config& config, const chain::Network& network,
                      const Clock& clock) {
  if (config.source != "devnet") {
    (void)TRY(make_source({config, network}, clock));
    return {};
  }
  if (config.network != "devnet")
    return fail(Code::kUsage, "the simulated chain is network devnet, not {}; drop --network",
                config.network);
  return {};
}

// What a first sync left that failed before its first block may be of another network.
Result<> erase_unbound_utxo(kv::Database& db) {
  const auto meta = db.column("utxo_meta");
  if (!meta) return {};  // the UTXO state is off, or was never on
  kv::Iterator any = db.iterate(*meta);
  any.seek_to_first();
  TRY(any.status());
  return any.valid() ? utxo::erase(db) : Result<>{};
}

}  // namespace

Node::Node(const config::Config& config, NodeOptions options, const Clock& clock)
    : config_(config),
      options_(std::move(options)),
      clock_(clock),
      started_unix_ms_(clock.unix_ms()),
      started_steady_ms_(clock.steady_ms()) {}

Result<std::unique_ptr<Node>> Node::open(const config::Config& config, NodeOptions options,
                                         const Clock& clock) {
  std::unique_ptr<Node> node(new Node(config, std::move(options), clock));
  // Whatever is wrong with what was asked for is said before anything is made.
  std::vector<chain::GenesisUtxo> genesis;
  if (!node->options_.read_only) {
    node->network_ = TRY(configured_network(config));
    TRY(check_source(config, node->network_, clock));
    if (config.of<utxo::Settings>().enabled) genesis = TRY(genesis_utxos(config, node->network_));
    TRY(make_directory(config.data_dir, 0700));
  }
  if (config.network == "devnet") {
    node->devnet_ = TRY(devnet_options(config, node->options_.paced, clock));
    genesis = feed::DevnetChain(node->devnet_).genesis_utxos();
  }
  TRY(node->open_stores());
  TRY(node->open_utxo(genesis));
  if (!node->options_.read_only) {
    TRY(node->open_wallet());
    TRY(node->open_source());
  }
  return node;
}

Result<> Node::open_stores() {
  if (!options_.read_only && has_wallet(config_)) TRY(check_wallet_network(config_));
  kv::DatabaseOptions options = TRY(database_options(config_, options_.read_only));
  db_ = TRY(kv::Database::open(std::move(options)));
  if (options_.read_only) TRY(take_stored_network());
  chainstate::Identity identity = chainstate::Identity::of(network_);
  if (config_.network == "devnet" && !options_.read_only)
    identity.genesis = feed::DevnetChain::identity(devnet_);
  const std::uint64_t window =
      config_.chainstate.rollback_window.value_or(network_.rollback_window);
  chain_ = TRY(chainstate::ChainState::open(*db_, network_, identity, window));
  if (!options_.read_only && !chain_->tip()) TRY(erase_unbound_utxo(*db_));
  totals_ = TRY(chainstate::Totals::open(*db_, window));
  events_ = TRY(chainstate::EventLog::open(*db_, network_.family, config_.events.keep));
  bus_ = std::make_unique<bus::Bus>();
  bus_->add(*totals_);
  bus_->add(*events_);
  return {};
}

Result<> Node::take_stored_network() {
  const auto found = TRY(stored_identity(*db_));
  if (!found) {
    network_ = TRY(configured_network(config_));
    return {};
  }
  config_.chain = found->chain;
  config_.network = found->network;
  network_ = TRY(found->to_network());
  return {};
}

Result<> Node::open_utxo(std::span<const chain::GenesisUtxo> genesis) {
  if (!config_.of<utxo::Settings>().enabled) return {};
  if (options_.read_only) {
    auto state = utxo::open_state(*db_, network_);
    // Made by an older version, or never with the UTXO state on: there is nothing to show.
    if (!state && state.error().code != Code::kNotFound) return fail(std::move(state).error());
    if (state) utxo_reader_ = std::move(*state);
    return {};
  }
  utxo::Options options = TRY(utxo::options_of(config_.of<utxo::Settings>()));
  options.log_rollbacks = options_.log_rollbacks;
  utxo_ = TRY(utxo::Store::open(*db_, network_, options, genesis));
  const bool has_genesis_files =
      network_.family == chain::Family::kCardano && network_.name != "devnet";
  if (utxo_->position().at_origin && has_genesis_files && genesis.empty())
    log::warn(
        "without genesis files the outputs in them are unknown: inputs that spend them will "
        "count as missing; name their directory with --genesis to have them");
  log_utxo("utxo state opened");
  bus_->add(*utxo_);
  return {};
}

Result<> Node::open_wallet() {
  if (!has_wallet(config_)) return {};
  wallet_ = TRY_IN("wallet", WalletNode::open(config_, network_, *chain_));
  // Without addresses there is nothing to find in old blocks.
  TRY_IN("wallet", wallet_->feed().skip_to(chain_->position()));
  bus_->add(wallet_->feed());
  return {};
}

void Node::log_utxo(std::string_view event) const {
  const auto stats = utxo_->state().stats();
  if (!stats) return log::error(event, {{"problem", stats.error().message}});
  // A one-shot import has a progress line, which a log line would tear apart.
  log::write(options_.one_shot ? log::Level::kDebug : log::Level::kInfo, event,
             {{"store", utxo::to_string(stats->store)},
              {"block", stats->number},
              {"slot", stats->at.point.slot},
              {"unspent", stats->unspent},
              {"created", stats->created},
              {"spent", stats->spent},
              {"pruned", stats->pruned},
              {"reversed", stats->reversed},
              {"missing_inputs", stats->missing_inputs}});
}

std::unique_ptr<feed::Source> Node::open_devnet() const {
  feed::DevnetSourceOptions options;
  options.chain = devnet_;
  options.block_interval_ms =
      options_.paced ? static_cast<int>(config_.devnet.block_interval_ms) : 0;
  options.premine = options_.paced ? kDevnetPremine : 0;
  options.stop_height = options_.stop_height;
  if (const auto tip = chain_->tip()) {
    options.resume = {tip->slot, tip->hash};
    options.resume_number = tip->number.value;
  }
  return std::make_unique<feed::DevnetSource>(options, clock_);
}

Result<std::unique_ptr<feed::Source>> Node::open_another_source() const {
  if (config_.source == "devnet") return open_devnet();
  return make_source({config_, network_, false}, clock_);
}

Result<Rescanned> Node::rescan(std::string_view wallet, std::optional<std::uint64_t> from_height,
                               const std::function<void(std::uint64_t, std::uint64_t)>& progress) {
  if (!wallet_) return fail(Code::kUnavailable, "there are no wallets here");
  const wallet::WalletInfo asked = TRY(wallet_->request_rescan(wallet, from_height));
  const std::atomic<bool> never{false};
  const RescanTools tools{network_,
                          *chain_,
                          wallet_->store(),
                          wallet_->feed(),
                          [this] { return open_another_source(); },
                          never,
                          progress};
  return run_rescan(tools, asked);
}

Result<> Node::open_source() {
  follow::FollowerOptions options;
  options.on_connected = options_.on_connected;
  options.quiet = options_.one_shot;
  // A daemon is never done with a source that answers badly; a one-shot import says so and ends.
  if (!options_.one_shot) options.retry.max_bad_answers = 0;
  if (config_.source == "devnet") {
    source_ = open_devnet();
  } else {
    source_ = TRY(make_source({config_, network_, !options_.one_shot}, clock_));
    options.stop_number = options_.stop_height;
    options.stop_at_tip = options_.one_shot;
  }
  follower_ = std::make_unique<follow::Follower>(*source_, network_, *chain_, *bus_, options);
  return {};
}

Node::~Node() {
  stop();
  service_.reset();
  utxo_monitor_.reset();
  wallet_monitor_.reset();
  if (wallet_) wallet_->stop();
  if (bus_) bus_->stop();
  if (utxo_) log_utxo("utxo state closed");
}

Result<> Node::follow() {
  bus_->start();
  Result<> followed = follower_->run();
  // A daemon goes on answering from what it has, and its consumers finish what is queued (E14).
  if (!followed && !options_.one_shot) return followed;
  if (followed) (void)bus_->drain();
  bus_->stop();
  if (!followed) return followed;
  for (const bus::ConsumerInfo& info : bus_->consumers())
    if (info.state != bus::ConsumerState::kRunning)
      return fail(Code::kUnavailable, "{} {}: {}; {}", info.name,
                  info.state == bus::ConsumerState::kHalted ? "halted" : "waits", info.problem,
                  info.repair);
  return {};
}

Result<> Node::serve() {
  api::ServiceOptions options;
  options.data_dir = config_.data_dir;
  options.http = http_options(config_.http);
  options.behind_proxy = config_.http.behind_proxy;
  options.status = [this] { return status(); };
  options.events = events_.get();
  options.more_routes = [this](api::RouteTable& table) {
    api::add_utxo_routes(table, {utxo_ ? &utxo_->state() : nullptr, network_});
    add_snapshot_route(table, *db_);
    api::WalletRoutes wallet{wallet_ ? &wallet_->store() : nullptr, network_};
    if (wallet_) {
      wallet.rescan = [this](std::string_view name, std::optional<std::uint64_t> from) {
        return wallet_->request_rescan(name, from);
      };
      wallet.stats = [this] { return wallet_monitor_->counted(); };
    }
    api::add_wallet_routes(table, std::move(wallet));
  };
  if (utxo_) utxo_monitor_ = std::make_unique<UtxoMonitor>(*utxo_, metrics_);
  if (wallet_) wallet_monitor_ = std::make_unique<WalletMonitor>(wallet_->store(), metrics_);
  if (wallet_) wallet_->start([this] { return open_another_source(); });
  service_ = TRY(api::Service::start(std::move(options), metrics_, clock_));
  // Whoever reads it is on this machine: a wildcard address is reached through loopback.
  std::string url = service_->url();
  for (const auto& [wildcard, loopback] :
       {std::pair{"//0.0.0.0:", "//127.0.0.1:"}, std::pair{"//[::]:", "//[::1]:"}})
    if (const std::size_t at = url.find(wildcard); at != std::string::npos)
      url.replace(at, std::string_view(wildcard).size(), loopback);
  const std::string run = fmt::format("{{\"pid\":{},\"url\":\"{}\"}}\n", ::getpid(), url);
  return write_file_atomically(fs::path(config_.data_dir) / kRunFile, as_bytes(run),
                               {.sync = false});
}

Result<> Node::reload() {
  if (!service_) return {};
  return service_->reload();
}

void Node::stop() {
  if (follower_) follower_->stop();
}

}  // namespace coffer::app
