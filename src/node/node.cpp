#include "node/node.h"

#include <coffer/base/log.h>
#include <coffer/feed/source.h>
#include <coffer/version.h>
#include "base/file.h"
#include "base/result.h"
#include "follow/source_block_reader.h"
#include "node/database.h"
#include "node/devnet_setup.h"
#include "node/identity_file.h"
#include "node/network_setup.h"
#include "node/snapshot.h"
#include "node/sql_store.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

http::Options http_options(const config::HttpConfig& config) {
  http::Options options;
  options.listen = config.listen;
  options.allowed_hosts = config.allowed_hosts;
  if (!config.tls.cert.empty()) options.tls = http::TlsFiles{config.tls.cert, config.tls.key};
  options.limits.workers = config.workers;
  options.limits.pool_workers = config.database_workers;
  options.limits.connections = config.max_connections;
  // All clients of a proxy come from its address.
  options.limits.connections_per_address =
      config.behind_proxy ? config.max_connections : config.max_connections_per_address;
  options.limits.header_bytes = config.max_header_bytes;
  options.limits.body_bytes = config.max_body_bytes;
  options.limits.total_body_bytes = config.max_total_body_bytes;
  options.limits.request_time = std::chrono::milliseconds(config.request_timeout_ms);
  options.limits.idle_time = std::chrono::milliseconds(config.idle_timeout_ms);
  options.limits.write_time = std::chrono::milliseconds(config.write_timeout_ms);
  return options;
}

// Before anything is made: chain, network and source fit together.
Result<> check_source(const config::Config& config, const chain::Network& network,
                      const Clock& clock) {
  if (config.source != "devnet") {
    (void)TRY(feed::open_source(config.source, network, clock));
    return {};
  }
  if (config.network != "devnet")
    return fail(Code::kUsage,
                "source devnet is a simulated chain and has no network {}; remove --network, or "
                "name another --source",
                config.network);
  return {};
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
    genesis = TRY(genesis_utxos(config, node->network_));
    TRY(make_directory(config.data_dir, 0700));
  }
  if (config.network == "devnet") {
    node->devnet_ = TRY(devnet_options(config, node->options_.paced, clock));
    genesis = feed::DevnetChain(node->devnet_).genesis_utxos();
  }
  TRY(node->open_stores());
  TRY(node->open_modules(genesis));
  if (!node->options_.read_only) TRY(node->open_source());
  return node;
}

Result<> Node::open_stores() {
  for (const Module* module : modules())
    if (module->sql && !options_.read_only) TRY(check_sql_network(config_, *module, stop_));
  kv::DatabaseOptions options = TRY(database_options(config_, options_.read_only));
  db_ = TRY(kv::Database::open(options));
  if (options_.read_only) TRY(take_stored_network());
  chainstate::Identity identity = chainstate::Identity::of(network_);
  if (config_.network == "devnet" && !options_.read_only)
    identity.genesis = feed::DevnetChain::identity(devnet_);
  const std::uint64_t window =
      config_.chainstate.rollback_window.value_or(network_.rollback_window);
  chain_ = TRY(chainstate::ChainState::open(*db_, network_, identity, window));
  if (!options_.read_only && !chain_->tip()) TRY(erase_unbound(*db_));
  if (!options_.read_only) update_identity_file();
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

// Another process reads the file only to learn the network without opening the database, and can
// do that as well: one that cannot be written stops nobody.
void Node::update_identity_file() {
  const auto stored = stored_identity(*db_);
  const auto updated = stored ? node::update_identity_file(config_.data_dir, *stored)
                              : Result<>(fail(stored.error()));
  identity_written_ = updated && stored->has_value();
  if (!updated) log::warn("identity file not written", {{"problem", updated.error().message}});
}

Result<> Node::open_modules(std::span<const chain::GenesisUtxo> genesis) {
  const OpenContext context{.config = config_,
                            .network = network_,
                            .db = *db_,
                            .chain = *chain_,
                            .genesis = genesis,
                            .read_only = options_.read_only,
                            .one_shot = options_.one_shot,
                            .log_rollbacks = options_.log_rollbacks,
                            .open_blocks = [this] { return open_blocks(); },
                            .stop = &stop_};
  for (const Module* module : modules()) {
    modules_.push_back({module, TRY_IN(module->name, module->open(context))});
    if (bus::Consumer* consumer = modules_.back().open->consumer()) bus_->add(*consumer);
  }
  return {};
}

OpenModule* Node::find(std::string_view name) const {
  for (const Opened& opened : modules_)
    if (opened.module->name == name) return opened.open.get();
  return nullptr;
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

Result<std::unique_ptr<bus::BlockReader>> Node::open_blocks() const {
  std::unique_ptr<feed::Source> source;
  if (config_.source == "devnet")
    source = open_devnet();
  else
    source = TRY(feed::open_source(config_.source, network_, clock_, {.follow = false}));
  return std::make_unique<follow::SourceBlockReader>(std::move(source), network_, *chain_);
}

Result<> Node::open_source() {
  follow::FollowerOptions options;
  options.on_connected = [this](const chainstate::HeaderInfo& tip) {
    if (!identity_written_) update_identity_file();  // the first block binds the database
    if (options_.on_connected) options_.on_connected(tip);
  };
  options.quiet = options_.one_shot;
  // A daemon is never done with a source that answers badly; a one-shot import says so and ends.
  if (!options_.one_shot) options.retry.max_bad_answers = 0;
  if (config_.source == "devnet") {
    source_ = open_devnet();
  } else {
    source_ =
        TRY(feed::open_source(config_.source, network_, clock_, {.follow = !options_.one_shot}));
    options.stop_number = options_.stop_height;
    options.stop_at_tip = options_.one_shot;
  }
  follower_ = std::make_unique<follow::Follower>(*source_, network_, *chain_, *bus_, options);
  return {};
}

Node::~Node() {
  stop();
  service_.reset();
  probes_.clear();
  for (const Opened& opened : modules_) opened.open->stop();
  if (bus_) bus_->stop();
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
  options.http.local_socket = fs::path(config_.data_dir) / kSocketFile;
  options.behind_proxy = config_.http.behind_proxy;
  options.audit = {.max_bytes = config_.audit.max_mb << 20, .files = config_.audit.files};
  options.status = [this] { return status(); };
  options.events = events_.get();
  options.more_routes = [this](api::RouteTable& table) {
    for (const Opened& opened : modules_) opened.open->add_routes(table);
    add_snapshot_route(table, *db_);
  };
  for (const Opened& opened : modules_) {
    opened.open->start(metrics_);
    if (opened.module->sql)
      probes_.push_back(std::make_unique<DatabaseProbe>(
          opened.module->name, [open = opened.open.get()] { return open->databases(); }, stop_));
    if (opened.module->status_schema != nullptr)
      options.module_schemas.push_back(
          {std::string(opened.module->name), opened.module->status_schema()});
  }
  service_ = TRY(api::Service::start(std::move(options), metrics_, clock_));
  return {};
}

Result<> Node::reload() {
  if (!service_) return {};
  return service_->reload();
}

void Node::stop() {
  stop_.request();
  if (follower_) follower_->stop();
}

}  // namespace coffer::node
