#include "api/wallet_routes.h"

#include "api/wallet_body.h"
#include "api/wallet_input.h"
#include "api/wallet_json.h"

namespace coffer::api {
namespace {

using http::Method;
using http::Request;
using http::Response;
using In = Parameter::In;

constexpr const char* kRoot = "/api/v1/wallets";

Result<wallet::Store*> store_of(const WalletRoutes& routes) {
  if (routes.store != nullptr) return routes.store;
  if (routes.network.family != chain::Family::kBitcoin)
    return fail(Code::kUnavailable, "there is no wallet on {}: it works on bitcoin only",
                routes.network.chain_name());
  return fail(Code::kUnavailable, "the wallet is off: wallet.enabled is false in the settings");
}

Result<Response> list(wallet::Store& store, const Request& request) {
  TRY(check_known(request.query, kPageParameters));
  const wallet::PageOptions page = TRY(parse_wallet_page(request.query));
  const auto found = TRY(store.list(page));
  return http::json_response(wallets_json(found));
}

Result<Response> create(wallet::Store& store, const Request& request) {
  TRY(check_known(request.query, {}));
  const wallet::Store::NewWallet wanted = TRY(parse_new_wallet(request.body));
  const wallet::WalletInfo made = TRY(store.create(wanted));
  return http::json_response(wallet_json(made), 201);
}

Result<Response> stats(wallet::Store& store, const Request& request) {
  TRY(check_known(request.query, {}));
  const wallet::StoreStats found = TRY(store.stats());
  return http::json_response(wallet_stats_json(found));
}

// The routes that are not about one wallet.
void add_common(RouteTable& table, const std::shared_ptr<const WalletRoutes>& routes) {
  using Answer = Result<Response> (*)(wallet::Store&, const Request&);
  const auto add = [&](Route route, Answer answer) {
    route.scope = Scope::kPrivate;
    route.handler = [routes, answer](const Request& request) -> Result<Response> {
      wallet::Store* const store = TRY(store_of(*routes));
      return answer(*store, request);
    };
    table.add(std::move(route));
  };
  add({.pattern = kRoot,
       .summary = "The wallets, by name",
       .parameters = {{"count", In::kQuery, "wallets on a page",
                       R"({"type":"integer","minimum":1,"maximum":1000,"default":100})"},
                      {"cursor", In::kQuery, "next_cursor of the page before"}},
       .response_schema = "WalletPage"},
      list);
  add({.method = Method::kPost,
       .pattern = kRoot,
       .summary = "Make a wallet; 409 if there is one of that name",
       .response_schema = "Wallet",
       .request_schema = "NewWallet"},
      create);
  add({.pattern = "/api/v1/wallets-stats",
       .summary = "How much there is of everything, over all wallets",
       .response_schema = "WalletStats"},
      stats);
}

void add_of_one(RouteTable& table, const std::shared_ptr<const WalletRoutes>& routes,
                WalletRoute given) {
  given.parameters.insert(given.parameters.begin(),
                          Parameter{"name", In::kPath, "the wallet's name"});
  table.add(
      {.method = given.method,
       .pattern = std::string(kRoot) + "/{name}" + given.path,
       .summary = std::move(given.summary),
       .scope = Scope::kPrivate,
       .parameters = std::move(given.parameters),
       .response_schema = std::move(given.response_schema),
       .request_schema = std::move(given.request_schema),
       .handler = [routes, answer = given.answer](const Request& request) -> Result<Response> {
         wallet::Store* const store = TRY(store_of(*routes));
         const auto name = request.path_param("name").value_or("");
         const wallet::WalletInfo wallet = TRY(store->find(name));
         return answer({*store, routes->network, wallet.id, request});
       }});
}

void add_rescan(RouteTable& table, const std::shared_ptr<const WalletRoutes>& routes) {
  table.add({.method = Method::kPost,
             .pattern = std::string(kRoot) + "/{name}/rescan",
             .summary = "Look at old blocks again, in the background; the wallet tells how far",
             .scope = Scope::kPrivate,
             .parameters = {{"name", In::kPath, "the wallet's name"}},
             .response_schema = "Wallet",
             .request_schema = "Rescan",
             .handler = [routes](const Request& request) -> Result<Response> {
               (void)TRY(store_of(*routes));
               const auto from = TRY(parse_rescan_body(request.body));
               if (!routes->rescan)
                 return fail(Code::kUnavailable, "there is no source of blocks here");
               const auto name = request.path_param("name").value_or("");
               const wallet::WalletInfo wallet = TRY(routes->rescan(name, from));
               return http::json_response(wallet_json(wallet), 202);
             }});
}

}  // namespace

void add_wallet_routes(RouteTable& table, WalletRoutes given) {
  const auto routes = std::make_shared<const WalletRoutes>(std::move(given));
  add_wallet_schemas(table);
  add_common(table, routes);
  add_rescan(table, routes);
  for (const auto& declared : {wallet_reads(), wallet_changes()})
    for (const WalletRoute& route : declared) add_of_one(table, routes, route);
}

}  // namespace coffer::api
