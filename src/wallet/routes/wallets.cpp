#include "wallet/routes/wallets.h"

#include "base/result.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"
#include "wallet/json/verbs.h"
#include "wallet/settings.h"

namespace coffer::wallet {
namespace {

using http::Method;
using http::Request;
using http::Response;
using In = api::Parameter::In;

constexpr const char* kRoot = "/api/v1/wallets";
constexpr const char* kPool = "wallet";             // its database's
constexpr std::size_t kMostLeasesCleaned = 10'000;  // by one request

Result<wallet::Store*> store_of(const WalletRoutes& routes) {
  if (routes.store != nullptr) return routes.store;
  return fail(no_wallets(routes.network.chain_name()));
}

using Shared = std::shared_ptr<const WalletRoutes>;
using Answer = std::function<Result<Response>(const WalletRoutes&, wallet::Store&, const Request&)>;

std::vector<std::string> audited_names() {
  return {"name",   "birthday_height", "gap_limit", "account", "internal", "address",
          "status", "height",          "bump",      "force",   "coins",    "duration_ms",
          "amount", "order",           "all",       "kind",    "ref",      "dry_run",
          "limit",  "from_height"};
}

// Every route of the wallets is added here.
void add(api::RouteTable& table, const Shared& routes, api::Route route, Answer answer) {
  route.scope = api::Scope::kPrivate;
  route.pool = kPool;
  // Neither descriptors nor labels: what they say is nobody's business.
  if (http::changes_state(route.method)) route.audited = audited_names();
  route.handler = [routes, answer = std::move(answer)](const Request& request) -> Result<Response> {
    wallet::Store* const store = TRY(store_of(*routes));
    return answer(*routes, *store, request);
  };
  table.add(std::move(route));
}

Result<Response> list(const WalletRoutes&, wallet::Store& store, const Request& request) {
  const wallet::PageOptions page = TRY(parse_wallet_page(request.query));
  const auto found = TRY(store.list(page));
  return http::json_response(wallets_json(found));
}

Result<Response> create(const WalletRoutes&, wallet::Store& store, const Request& request) {
  const wallet::Store::NewWallet wanted = TRY(node::parse_body(verbs().create, request.body));
  const wallet::WalletInfo made = TRY(store.create(wanted));
  return http::json_response(wallet_json(made), 201);
}

Result<Response> stats(const WalletRoutes& routes, wallet::Store&, const Request&) {
  const auto found = routes.stats ? routes.stats() : std::nullopt;
  if (!found)
    return fail(Code::kUnavailable, "nothing has been counted yet: ask again in a few seconds");
  return http::json_response(wallet_stats_json(*found));
}

Result<Response> rescan(const WalletRoutes& routes, wallet::Store&, const Request& request) {
  const Rescan wanted = TRY(node::parse_body(verbs().rescan, request.body));
  if (!routes.rescan) return fail(Code::kUnavailable, "there is no source of blocks here");
  const auto name = request.path_param("name").value_or("");
  const wallet::WalletInfo wallet = TRY(routes.rescan(name, wanted.from_height));
  return http::json_response(wallet_json(wallet), 202);
}

Result<Response> clean_leases(const WalletRoutes&, wallet::Store& store, const Request& request) {
  TRY(node::parse_empty_body(request.body));
  const std::uint64_t gone = TRY(store.clean_leases(kMostLeasesCleaned));
  return http::json_response(cleaned_leases_json(gone, gone == kMostLeasesCleaned));
}

// The routes that are not about one wallet, or ask more than its store.
void add_common(api::RouteTable& table, const Shared& routes) {
  add(table, routes,
      {.pattern = kRoot,
       .summary = "The wallets, by name",
       .parameters = {{"count", In::kQuery, "wallets on a page",
                       R"({"type":"integer","minimum":1,"maximum":1000,"default":100})"},
                      {"cursor", In::kQuery, "next_cursor of the page before"}},
       .response_schema = "WalletPage"},
      list);
  add(table, routes,
      {.method = Method::kPost,
       .pattern = kRoot,
       .summary = "Make a wallet; 409 if there is one of that name",
       .response_schema = "Wallet",
       .request_schema = verbs().create.schema,
       .successes = {201}},
      create);
  add(table, routes,
      {.pattern = "/api/v1/wallets-stats",
       .summary = "How much there was of everything, over all wallets, when it was counted last",
       .response_schema = "WalletStats"},
      stats);
  add(table, routes,
      {.method = Method::kPost,
       .pattern = "/api/v1/wallets-clean-leases",
       .summary = "Take expired leases away, in all wallets, up to 10,000",
       .response_schema = "CleanedLeases"},
      clean_leases);
  add(table, routes,
      {.method = Method::kPost,
       .pattern = std::string(kRoot) + "/{name}/rescan",
       .summary = "Look at old blocks again, in the background; the wallet tells how far",
       .parameters = {{"name", In::kPath, "the wallet's name"}},
       .response_schema = "Wallet",
       .request_schema = verbs().rescan.schema,
       .successes = {202}},
      rescan);
}

void add_of_one(api::RouteTable& table, const Shared& routes, WalletRoute given) {
  given.parameters.insert(given.parameters.begin(),
                          api::Parameter{"name", In::kPath, "the wallet's name"});
  add(table, routes,
      {.method = given.method,
       .pattern = std::string(kRoot) + "/{name}" + given.path,
       .summary = std::move(given.summary),
       .parameters = std::move(given.parameters),
       .response_schema = std::move(given.response_schema),
       .request_schema = std::move(given.request_schema),
       .successes = std::move(given.successes)},
      [answer = given.answer](const WalletRoutes& all, wallet::Store& store,
                              const Request& request) -> Result<Response> {
        const wallet::WalletInfo wallet = TRY(store.find(request.path_param("name").value_or("")));
        return answer({store, all.network, wallet.id, request});
      });
}

}  // namespace

void add_wallet_routes(api::RouteTable& table, WalletRoutes given) {
  const Shared routes = std::make_shared<const WalletRoutes>(std::move(given));
  add_wallet_schemas(table);
  add_common(table, routes);
  for (const auto& declared : {wallet_reads(), wallet_changes()})
    for (const WalletRoute& route : declared) add_of_one(table, routes, route);
}

}  // namespace coffer::wallet
