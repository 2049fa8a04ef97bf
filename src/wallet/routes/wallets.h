// Routes over the wallets: /api/v1/wallets. All of them need the token, and those that change
// something are audited. Each request is bounded (E11) and, if it is refused, has changed nothing.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/wallet/store.h>
#include "api/routes.h"

namespace coffer::wallet {

struct WalletRoutes {
  wallet::Store* store = nullptr;  // outlives the routes; null: no wallet here
  chain::Network network;
  // Asks for a rescan from a height, or from the wallet's birthday; null: nobody can do it here.
  std::function<Result<wallet::WalletInfo>(std::string_view name, std::optional<std::uint64_t>)>
      rescan = nullptr;
  // What was counted last; nothing before the first count, null: nobody counts. A request never
  // counts: that walks through whole tables (E11).
  std::function<std::optional<wallet::StoreStats>()> stats = nullptr;
};

// Without a store every route answers 503 and says why.
void add_wallet_routes(api::RouteTable& table, WalletRoutes routes);

// For the two files of add_wallet_routes(): of one wallet, which is known to be there.
struct WalletCall {
  wallet::Store& store;
  const chain::Network& network;
  wallet::WalletId wallet;
  const http::Request& request;
};
using WalletAnswer = std::function<Result<http::Response>(const WalletCall&)>;
// What follows "/api/v1/wallets/{name}".
struct WalletRoute {
  http::Method method = http::Method::kGet;
  std::string path;
  std::string summary;
  std::vector<api::Parameter> parameters;  // besides the name
  std::string response_schema;
  WalletAnswer answer = nullptr;
  std::string request_schema = {};
  std::vector<int> successes = {200};
};
std::vector<WalletRoute> wallet_reads();    // wallet_reads.cpp
std::vector<WalletRoute> wallet_changes();  // wallet_changes.cpp

}  // namespace coffer::wallet
