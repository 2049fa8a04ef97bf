// For the tests of the wallet's routes: a real store on SQLite, and a service over it.
#pragma once

#include "api/test_schema.h"
#include "api/test_util.h"
#include "base/result.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/json/output.h"
#include "wallet/routes/wallets.h"
#include "wallet/test_tx.h"

namespace coffer::wallet {

namespace json = boost::json;

inline const std::string kRanged = "wpkh(" + wallet::kTestnetKey + "/<0;1>/*)";
inline const std::string kLock(64, 'a'), kOtherLock(64, 'b'), kZeros(64, '0');

struct Wallets {
  explicit Wallets(const std::string& network_name = "regtest")
      : network(chain::find_network("bitcoin", network_name).value()) {
    sql::DatabaseOptions options;
    options.location = "sqlite:" + (dir.path() / "wallet.db").string();
    options.clock = &clock;
    database = sql::Database::open(options).value();
    store = wallet::Store::open(*database, network).value();
    fixture.options.more_routes = [this](api::RouteTable& table) {
      add_wallet_routes(
          table, {store.get(), network,
                  [this](std::string_view name, auto from) { return request_rescan(name, from); },
                  [this] { return counted(); }});
    };
  }
  Wallets& serve() {
    fixture.start();
    openapi = json::parse(json::string_view(fixture.get("/openapi.json").content()));
    return *this;
  }

  http::Response send(http::Method method, const std::string& path, std::string body = "",
                      const std::string& token_file = "token") const {
    http::ClientOptions client;
    client.headers = api::bearer(fixture.token(token_file));
    client.body = std::move(body);
    auto response = http::request(method, fixture.service->url() + "/api/v1" + path, client);
    if (!response) ADD_FAILURE() << response.error().message;
    return response ? std::move(*response) : http::Response{};
  }
  json::value call(http::Method method, const std::string& path, std::string body, int status) {
    const http::Response answer = send(method, path, std::move(body));
    EXPECT_EQ(answer.status, status) << path << ": " << answer.content();
    api::expect_declared(openapi, http::name(method), "/api/v1" + path, answer.status);
    return json::parse(json::string_view(answer.content()));
  }
  json::value get(const std::string& path, int status = 200) {
    return call(http::Method::kGet, path, "", status);
  }
  json::value post(const std::string& path, const std::string& body, int status = 200) {
    return call(http::Method::kPost, path, body, status);
  }
  json::value schema(const std::string& name) const {
    return openapi.at("components").at("schemas").at(name);
  }

  std::optional<wallet::StoreStats> counted() const {
    if (!is_counted) return std::nullopt;
    return store->stats().value();
  }
  Result<wallet::WalletInfo> request_rescan(std::string_view name,
                                            std::optional<std::uint64_t> from) const {
    const wallet::WalletInfo found = TRY(store->find(name));
    return store->request_rescan(found.id, from.value_or(found.birthday_height));
  }

  // A payment to a new address of the wallet, recorded with these other fields: its txid.
  std::string pay(const std::string& name, std::uint64_t satoshi, const std::string& more = "") {
    const json::value address = post("/wallets/" + name + "/addresses", "{}", 201);
    const Bytes script = from_hex(std::string(address.at("script_pub_key").as_string())).value();
    const Bytes raw = wallet::test_tx({wallet::foreign_outpoint(++foreign)}, {{satoshi, script}});
    const json::value done = post("/wallets/" + name + "/transactions", record_body(raw, more));
    EXPECT_EQ(done.at("tx_hash").as_string(), to_display(wallet::test_txid(raw)));
    return std::string(done.at("tx_hash").as_string());
  }
  static std::string record_body(const Bytes& raw, const std::string& more = "") {
    return R"({"raw":")" + to_hex(raw) + "\"" + (more.empty() ? "" : "," + more) + "}";
  }
  static std::string coins_body(const std::string& tx, const std::string& lock_id = kLock,
                                const std::string& more = R"(,"duration_ms":60000)") {
    return fmt::format(R"({{"coins":[{{"tx_hash":"{}","output_index":0}}],"lock_id":"{}"{}}})", tx,
                       lock_id, more);
  }

  chain::Network network;
  TempDir dir;
  ManualClock clock{1'700'000'000'000};
  std::unique_ptr<sql::Database> database;
  std::unique_ptr<wallet::Store> store;
  api::Fixture fixture;
  json::value openapi;
  std::uint8_t foreign = 0;
  bool is_counted = true;
};

// Every route of the wallet, with something in the place of its parameters.
inline std::vector<std::pair<http::Method, std::string>> all_routes(const json::value& openapi) {
  std::vector<std::pair<http::Method, std::string>> found;
  for (const auto& [path, methods] : openapi.at("paths").as_object()) {
    std::string target(path);
    if (!target.starts_with("/api/v1/wallets")) continue;
    target.erase(0, std::string_view("/api/v1").size());
    for (const auto& [from, to] : {std::pair{"{name}", "shop"}, std::pair{"{tx}", kZeros.c_str()},
                                   std::pair{"{index}", "0"}})
      if (const auto at = target.find(from); at != std::string::npos)
        target.replace(at, std::string_view(from).size(), to);
    for (const auto& [method, operation] : methods.as_object()) {
      std::string name(method);
      std::transform(name.begin(), name.end(), name.begin(), ::toupper);
      found.emplace_back(http::parse_method(name).value(), target);
    }
  }
  return found;
}

// As Core prints it: ten addresses of which three are given out.
inline std::string core_body() {
  const auto plain =
      wallet::parse_descriptor(wallet::bitcoin("regtest"), "tr(" + wallet::kTestnetKey + "/7/*)");
  return fmt::format(
      R"({{"wallet_name":"w","descriptors":[{{"desc":"{}","timestamp":5,"active":true,)"
      R"("internal":false,"range":[0,9],"next":3,"next_index":3}}]}})",
      plain.value().text());
}

// Confirmed in a block of its own.
inline std::string in_block(int height) {
  return fmt::format(
      R"("height":{},"block_hash":"{:064x}","block_index":0,"block_time":1700000000)", height,
      height);
}

}  // namespace coffer::wallet
