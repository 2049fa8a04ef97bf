// The reading half of `coffer bench utxo`.
#include <atomic>
#include <thread>

#include <coffer/chain/address.h>
#include <coffer/utxo/store.h>
#include "api/service.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "http/client.h"
#include "utxo/commands/bench.h"
#include "utxo/routes/utxos.h"

namespace coffer::utxo {
namespace {

constexpr std::uint64_t kSizes[] = {3, 3'000, 300'000};
constexpr std::uint32_t kOutputsPerTx = 1'000;
constexpr int kReadRounds = 300;
constexpr int kClients = 64;
constexpr double kHttpSeconds = 3;

// A p2wpkh script of its own for each size.
Bytes script_of(std::uint64_t size) {
  Bytes script = {0x00, 0x14};
  append_be64(script, size);
  script.resize(22, 0x5a);
  return script;
}

// One block whose transactions pay the addresses; no wire format is needed for it.
struct Payments {
  std::vector<Bytes> scripts;
  std::shared_ptr<chain::Block> block = std::make_shared<chain::Block>();

  Payments() {
    block->family = chain::Family::kBitcoin;
    block->hash[0] = 1;
    block->number = BlockNumber(1);
    block->slot = Slot(1);
    for (const std::uint64_t size : kSizes) scripts.push_back(script_of(size));
    for (std::size_t i = 0; i < scripts.size(); ++i)
      for (std::uint64_t left = kSizes[i]; left > 0;) {
        const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, kOutputsPerTx));
        add_tx(scripts[i], count);
        left -= count;
      }
  }
  void add_tx(const Bytes& script, std::uint32_t count) {
    chain::Tx tx;
    store_be64(tx.id.data(), 0x9e3779b97f4a7c15ull * (block->txs.size() + 1));
    tx.outputs = {static_cast<std::uint32_t>(block->outputs.size()), count};
    for (std::uint32_t i = 0; i < count; ++i) {
      chain::Output output;
      output.address = script;
      output.amount = Amount(546 + i);
      block->outputs.push_back(output);
    }
    block->txs.push_back(tx);
  }
};

Result<double> requests_per_second(const std::string& url, const std::string& target) {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> answered{0}, failed{0};
  std::vector<std::jthread> clients;
  const Stopwatch watch;
  clients.reserve(kClients);
  for (int i = 0; i < kClients; ++i)
    clients.emplace_back([&] {
      auto connection = http::ClientConnection::to(url);
      while (connection && !stop) {
        const auto answer = connection->get(target);
        ++(answer && answer->status == 200 ? answered : failed);
      }
    });
  while (watch.seconds() < kHttpSeconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double rate = static_cast<double>(answered) / watch.seconds();
  stop = true;
  clients.clear();
  if (failed > 0) return fail(Code::kUnavailable, "{} requests failed", failed.load());
  return rate;
}

}  // namespace

Result<> bench_utxo_reads(const std::filesystem::path& scratch, node::BenchReport& report) {
  const chain::Network network = TRY(chain::find_network("bitcoin", "regtest"));
  utxo::Options options;
  kv::DatabaseOptions database;
  database.path = scratch / "reads";
  database.columns = utxo::columns(options);
  auto db = TRY(kv::Database::open(database));
  auto store = TRY(utxo::Store::open(*db, network, options, {}));
  const Payments payments;
  auto first = std::make_shared<chain::Block>();
  first->hash[0] = 7;
  TRY(store->on_block({Ordinal(0), first, false, 0}));
  TRY(store->on_block({Ordinal(1), payments.block, false, 0}));
  TRY(db->flush());
  for (std::size_t i = 0; i < payments.scripts.size(); ++i) {
    std::vector<double> us;
    for (int round = 0; round < kReadRounds; ++round) {
      const Stopwatch watch;
      const utxo::Page page = TRY(store->state().by_address(payments.scripts[i], {}));
      us.push_back(static_cast<double>(watch.micros()));
      if (page.utxos.size() != std::min<std::uint64_t>(kSizes[i], 100))
        return fail(Code::kCorrupt, "a page of {} outputs", page.utxos.size());
    }
    std::sort(us.begin(), us.end());
    report.add(fmt::format("page of {} outputs", kSizes[i]),
               fmt::format("{:.0f} µs", us[us.size() / 2]),
               fmt::format("median of the first page (up to 100); p99 {:.0f} µs",
                           us[us.size() * 99 / 100]));
  }
  api::Metrics metrics;
  api::ServiceOptions service_options;
  service_options.data_dir = scratch;
  service_options.http.listen = "127.0.0.1:0";

  service_options.status = [] { return api::Status{}; };
  service_options.more_routes = [&](api::RouteTable& table) {
    add_utxo_routes(table, {&store->state(), network});
  };
  auto service = TRY(api::Service::start(std::move(service_options), metrics, system_clock()));
  const std::string address = chain::address_text(network, payments.scripts[0]).value();
  for (const auto& [name, path] :
       {std::pair<std::string, std::string>{
            "HTTP, an output",
            "/api/v1/utxos/" +
                std::string(chain::display(network.family, payments.block->txs[0].id)) + "/0"},
        {"HTTP, a page of 3", "/api/v1/addresses/" + address + "/utxos"}})
    report.add(name,
               fmt::format("{:.0f} requests/s", TRY(requests_per_second(service->url(), path))),
               fmt::format("{} connections on this machine, clients included", kClients));
  service->stop();
  return {};
}

}  // namespace coffer::utxo
