#include "token/commands/bench_served.h"

#include "api/auth.h"
#include "api/service.h"
#include "base/file.h"
#include "http/client.h"
#include "token/log/key.h"
#include "token/routes/events.h"
#include "token/routes/maintenance.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

constexpr std::uint64_t kMaxTokenBytes = 256;

// As TokenModule, for one community and without a chain.
class BenchServer {
 public:
  static Result<std::unique_ptr<BenchServer>> start(const config::Config& config) {
    auto server = std::unique_ptr<BenchServer>(new BenchServer);
    server->communities_ = TRY(Communities::open(config, system_clock()));
    (void)TRY(server->communities_->refresh());
    server->access_ = TRY(Access::open(config.of<Settings>(), system_clock()));
    server->access_->set_metrics(server->metrics_);
    server->maintenance_ = std::make_unique<Maintenance>(*server->communities_, config,
                                                         server->metrics_, system_clock());
    api::ServiceOptions options;
    options.data_dir = config.data_dir;
    options.http.listen = "127.0.0.1:0";
    options.status = [] { return api::Status{}; };
    options.more_routes = [&parts = *server](api::RouteTable& table) {
      add_token_routes(
          table, {parts.communities_.get(), parts.access_.get(), &parts.events_, &parts.writes_,
                  [&parts](std::string_view name) { return parts.maintenance_->checked(name); }});
    };
    server->service_ =
        TRY(api::Service::start(std::move(options), server->metrics_, system_clock()));
    return server;
  }

  std::string url() const { return service_->url(); }

 private:
  BenchServer() = default;
  // Destroyed from the last to the first: users before what they use.
  api::Metrics metrics_;
  std::unique_ptr<Access> access_;
  std::unique_ptr<Communities> communities_;
  CommunityEvents events_;
  Writes writes_{system_clock()};
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<api::Service> service_;
};

std::string body_of(const Transfer& transfer) {
  return fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":"{}"}})", to_string(transfer.id),
                     to_string(transfer.from), to_string(transfer.to), transfer.amount);
}

}  // namespace

config::Config served_config(const std::filesystem::path& data_dir, const std::string& database,
                             const std::string& community) {
  config::Config config;
  config.data_dir = data_dir.string();
  Settings& settings = config.edit<Settings>();
  settings.enabled = true;
  settings.database = database;
  settings.community = community;
  settings.communities = {community};
  return config;
}

Result<double> served_rate(const config::Config& config, const BenchCommunity& ours,
                           std::size_t clients, double seconds) {
  TRY(init_log_key(ours.store->ledger(), config.data_dir));
  const auto server = TRY(BenchServer::start(config));
  const Bytes token =
      TRY(read_file(std::filesystem::path(config.data_dir) / api::kTokenFile, kMaxTokenBytes));
  http::ClientOptions options;
  options.headers = {
      {"Authorization",
       fmt::format("Bearer {}", as_text(token).substr(0, as_text(token).find('\n')))}};
  const std::string url =
      fmt::format("{}/api/v1/tokens/{}/transfers", server->url(), config.of<Settings>().community);
  std::vector<http::ClientConnection> connections;
  connections.reserve(clients);
  for (std::size_t i = 0; i < clients; ++i)
    connections.push_back(TRY(http::ClientConnection::to(url, options)));
  return rate_of(clients, seconds, [&](std::size_t client, Rng& rng) -> Result<> {
    const Transfer transfer = bench_transfer(rng, ours.wallets, BenchLoad::kUniform);
    const http::Response answer = TRY(connections[client].post(body_of(transfer)));
    if (answer.status / 100 != 2)
      return fail(Code::kUnavailable, "a transfer was answered with {}: {}", answer.status,
                  answer.content());
    return {};
  });
}

}  // namespace coffer::token
