#include "app/node.h"

#include <unistd.h>

#include "api/status_metrics.h"
#include "app/devnet_setup.h"
#include "app/make_source.h"
#include "app/version.h"
#include "base/file.h"
#include "base/log.h"

namespace coffer::app {
namespace {

namespace fs = std::filesystem;

std::vector<kv::ColumnOptions> all_columns() {
  std::vector<kv::ColumnOptions> columns = chainstate::ChainState::columns();
  for (auto& more : {chainstate::Totals::columns(), chainstate::EventLog::columns()})
    columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

kv::DatabaseOptions database_options(const Config& config, bool read_only) {
  return {.path = fs::path(config.data_dir) / "db",
          .columns = all_columns(),
          .read_only = read_only,
          .create_if_missing = !read_only,
          .block_cache_bytes = config.rocksdb.block_cache_mb << 20};
}

api::TipStatus tip_status(const chain::Network& network, const chainstate::HeaderInfo& info) {
  return {info.ordinal.value, info.number.value, info.slot.value,
          display(network.family, info.hash), info.time_unix_s};
}

http::Options http_options(const HttpConfig& config) {
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
Result<> check_source(const Config& config, const Clock& clock) {
  const chain::Network network = TRY(chain::find_network(config.chain, config.network));
  if (config.source != "devnet") {
    (void)TRY(make_source({config, network}, clock));
    return {};
  }
  if (config.network != "devnet")
    return fail(Code::kUsage, "the simulated chain is network devnet, not {}; drop --network",
                config.network);
  return {};
}

}  // namespace

Node::Node(const Config& config, NodeOptions options, const Clock& clock)
    : config_(config),
      options_(std::move(options)),
      clock_(clock),
      started_unix_ms_(clock.unix_ms()),
      started_steady_ms_(clock.steady_ms()) {}

Result<std::unique_ptr<Node>> Node::open(const Config& config, NodeOptions options,
                                         const Clock& clock) {
  std::unique_ptr<Node> node(new Node(config, std::move(options), clock));
  if (!node->options_.read_only) TRY(check_source(config, clock));
  if (!node->options_.read_only) TRY(make_directory(config.data_dir, 0700));
  if (config.network == "devnet")
    node->devnet_ = TRY(devnet_options(config, node->options_.paced, clock));
  TRY(node->open_stores());
  if (!node->options_.read_only) TRY(node->open_source());
  return node;
}

Result<> Node::open_stores() {
  db_ = TRY(kv::Database::open(database_options(config_, options_.read_only)));
  if (options_.read_only) {
    for (const kv::ColumnOptions& column : all_columns())
      if (!db_->column(column.name))
        return fail(Code::kUnavailable,
                    "the database in {} is still being made; try again, or start coffer once",
                    config_.data_dir);
    // Somebody who only looks need not say what the database itself knows.
    const kv::Column meta = TRY(db_->column(chainstate::kMetaColumn));
    if (auto found = TRY(chainstate::read_identity(*db_, meta))) {
      config_.chain = found->chain;
      config_.network = found->network;
    }
  }
  network_ = TRY(chain::find_network(config_.chain, config_.network));
  chainstate::Identity identity = chainstate::Identity::of(network_);
  if (config_.network == "devnet" && !options_.read_only)
    identity.genesis = feed::DevnetChain::identity(devnet_);
  const std::uint64_t window =
      config_.chainstate.rollback_window.value_or(network_.rollback_window);
  chain_ = TRY(chainstate::ChainState::open(*db_, network_, identity, window));
  totals_ = TRY(chainstate::Totals::open(*db_, window));
  events_ = TRY(chainstate::EventLog::open(*db_, network_.family, config_.events.keep));
  bus_ = std::make_unique<bus::Bus>();
  bus_->add(*totals_);
  bus_->add(*events_);
  return {};
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

Result<> Node::open_source() {
  FollowerOptions options;
  options.on_connected = options_.on_connected;
  options.log_rollbacks = options_.log_rollbacks;
  if (config_.source == "devnet") {
    source_ = open_devnet();
  } else {
    source_ = TRY(make_source({config_, network_, !options_.one_shot}, clock_));
    options.stop_number = options_.stop_height;
    options.stop_at_tip = options_.one_shot;
  }
  follower_ = std::make_unique<Follower>(*source_, network_, *chain_, *bus_, options);
  return {};
}

Node::~Node() {
  stop();
  service_.reset();
  if (bus_) bus_->stop();
}

Result<> Node::follow() {
  bus_->start();
  Result<> followed = follower_->run();
  if (followed) (void)bus_->drain();
  bus_->stop();
  if (!followed) return followed;
  for (const bus::ConsumerInfo& info : bus_->consumers())
    if (info.state == bus::ConsumerState::kHalted)
      return fail(Code::kUnavailable, "{} halted: {}; {}", info.name, info.problem, info.repair);
  return {};
}

Result<> Node::serve() {
  api::ServiceOptions options;
  options.data_dir = config_.data_dir;
  options.http = http_options(config_.http);
  options.behind_proxy = config_.http.behind_proxy;
  options.status = [this] { return status(); };
  options.events = events_.get();
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

std::vector<std::string> Node::not_ready(const api::Status& s) const {
  std::vector<std::string> reasons;
  if (!s.tip) reasons.push_back("no block yet");
  if (!s.source_problem.empty())
    reasons.push_back("source: " + s.source_problem);
  else if (s.source_state == "connecting")
    reasons.push_back("connecting to the source");
  if (s.behind > config_.ready.max_behind)
    reasons.push_back(fmt::format("{} blocks behind the source", s.behind));
  for (const api::ConsumerStatus& consumer : s.consumers) {
    if (consumer.state == "halted")
      reasons.push_back(
          fmt::format("{} halted: {}; {}", consumer.name, consumer.problem, consumer.repair));
    else if (consumer.behind > config_.ready.max_behind)
      reasons.push_back(fmt::format("{} is {} blocks behind", consumer.name, consumer.behind));
  }
  return reasons;
}

api::Status Node::status() const {
  api::Status s;
  s.version = kVersion;
  s.chain = config_.chain;
  s.network = config_.network;
  s.data_dir = config_.data_dir;
  s.started_unix_ms = started_unix_ms_;
  s.uptime_ms = clock_.steady_ms() - started_steady_ms_;
  s.rollback_window = chain_->window();
  s.source = source_ ? source_->describe() : config_.source;
  s.source_state = "stopped";
  std::vector<bus::ConsumerInfo> consumers = bus_->consumers();
  const auto tip = chain_->tip();
  if (tip) s.tip = tip_status(network_, *tip);
  if (follower_) {
    const FollowStatus follow = follower_->status();
    s.source_state = to_string(follow.state);
    s.source_problem = follow.problem;
    s.source_tip_number = follow.source_number;
    s.mempool_transactions = follow.mempool_transactions;
    s.totals.rollbacks = follow.rollbacks;
    const std::uint64_t have = tip ? tip->number.value + 1 : 0;
    if (follow.source_number && *follow.source_number + 1 > have)
      s.behind = *follow.source_number + 1 - have;
  }
  const std::uint64_t height = chain_->position().height();
  for (const bus::ConsumerInfo& info : consumers) {
    api::ConsumerStatus c;
    c.name = info.name;
    c.behind = height > info.position.height() ? height - info.position.height() : 0;
    c.state = info.state == bus::ConsumerState::kHalted ? "halted"
              : c.behind > 0                            ? "behind"
                                                        : "following";
    c.problem = info.problem;
    c.repair = info.repair;
    if (!info.position.at_origin)
      if (auto header = chain_->header(info.position.point.hash); header && *header)
        c.tip = tip_status(network_, **header);
    s.consumers.push_back(std::move(c));
  }
  const chainstate::TotalsRecord totals = totals_->current();
  s.totals.blocks = totals.blocks;
  s.totals.transactions = totals.transactions;
  s.totals.invalid_transactions = totals.invalid_transactions;
  s.totals.inputs = totals.inputs;
  s.totals.outputs = totals.outputs;
  s.totals.bytes = totals.bytes;
  s.totals.digest = totals.digest.hex();
  s.disk_bytes = db_->disk_bytes();
  s.not_ready_because = not_ready(s);
  s.ready = s.not_ready_because.empty();
  return s;
}

Result<> rebuild_consumer(const Config& config, std::string_view name) {
  if (name != "totals" && name != "events")
    return fail(Code::kNotFound, "no consumer '{}'; use totals or events", name);
  kv::DatabaseOptions options = database_options(config, false);
  options.create_if_missing = false;
  auto db = TRY(kv::Database::open(std::move(options)));
  const kv::Column meta = TRY(db->column(chainstate::kMetaColumn));
  const kv::Column column = TRY(db->column(name));
  kv::Batch batch;
  batch.del(meta, as_bytes(std::string(name) + ".position"));
  batch.del_range(column, {}, Bytes(64, 0xff));
  return db->commit(batch, kv::Durability::kWalSync);
}

}  // namespace coffer::app
