// The routes that look into one wallet.
#include "api/input.h"
#include "base/result.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"
#include "wallet/routes/wallets.h"

namespace coffer::wallet {
namespace {

using http::Response;
using In = api::Parameter::In;

constexpr const char* kWholeParameter = R"({"type":"integer","minimum":0})";
constexpr const char* kFlagParameter = R"({"type":"boolean"})";
constexpr const char* kAmountParameter = R"({"type":"string","pattern":"^[0-9]+$"})";

std::string_view path(const WalletCall& call, std::string_view name) {
  return call.request.path_param(name).value_or("");
}

Result<Response> wallet(const WalletCall& call) {
  const wallet::WalletInfo found = TRY(call.store.find(path(call, "name")));
  return http::json_response(wallet_json(found));
}

Result<Response> accounts(const WalletCall& call) {
  const auto found = TRY(call.store.accounts(call.wallet));
  return http::json_response(accounts_json(found));
}

Result<Response> descriptors(const WalletCall& call) {
  const auto found = TRY(call.store.descriptors(call.wallet));
  return http::json_response(descriptors_json(found));
}

Result<Response> labels(const WalletCall& call) {
  const wallet::PageOptions page = TRY(parse_wallet_page(call.request.query));
  const auto found = TRY(call.store.labels(call.wallet, page));
  return http::json_response(labels_json(found));
}

Result<Response> pruned(const WalletCall& call) {
  const wallet::PrunedTotals totals = TRY(call.store.pruned(call.wallet));
  return http::json_response(pruned_totals_json(totals));
}

Result<Response> addresses(const WalletCall& call) {
  const wallet::PageOptions page = TRY(parse_wallet_page(call.request.query));
  const auto found = TRY(call.store.addresses(call.wallet, page));
  return http::json_response(wallet_addresses_json(found));
}

Result<Response> balance(const WalletCall& call) {
  const wallet::Scope scope = TRY(parse_scope(call.network, call.request.query));
  const wallet::Balance found = TRY(call.store.balance(call.wallet, scope));
  return http::json_response(wallet_balance_json(call.network, scope, found));
}

Result<Response> coins(const WalletCall& call) {
  const wallet::CoinQuery query = TRY(parse_coin_query(call.network, call.request.query));
  const auto found = TRY(call.store.coins(call.wallet, query));
  return http::json_response(coins_json(call.network, found));
}

Result<Response> coin(const WalletCall& call) {
  const chain::Outpoint wanted =
      TRY(api::parse_outpoint(call.network, path(call, "tx"), path(call, "index")));
  const wallet::Coin found = TRY(call.store.coin(call.wallet, wanted));
  return http::json_response(coin_json(call.network, found));
}

Result<Response> history(const WalletCall& call) {
  const wallet::HistoryQuery query = TRY(parse_history_query(call.request.query));
  const auto found = TRY(call.store.history(call.wallet, query));
  return http::json_response(history_json(found));
}

Result<Response> transaction(const WalletCall& call) {
  const Hash256 tx = TRY(parse_hash("transaction", path(call, "tx")));
  const wallet::TxDetail found = TRY(call.store.transaction(call.wallet, tx));
  return http::json_response(wallet_tx_json(call.network, found));
}

Result<Response> leases(const WalletCall& call) {
  const wallet::PageOptions page = TRY(parse_wallet_page(call.request.query));
  const auto found = TRY(call.store.leases(call.wallet, page));
  return http::json_response(leases_json(found));
}

std::vector<api::Parameter> with_page(std::vector<api::Parameter> first) {
  first.push_back({"count", In::kQuery, "items on a page",
                   R"({"type":"integer","minimum":1,"maximum":1000,"default":100})"});
  first.push_back({"cursor", In::kQuery, "next_cursor of the page before"});
  return first;
}

std::vector<api::Parameter> coin_parameters() {
  return with_page({
      {"state", In::kQuery,
       "confirmed, unconfirmed, immature, pending, locked, spent, dead or orphaned; several with "
       "commas. Without it: all that are unspent and alive"},
      {"account", In::kQuery, "only of this account"},
      {"address", In::kQuery, "only of this address, or script in hex"},
      {"min_amount", In::kQuery, "satoshi", kAmountParameter},
      {"max_amount", In::kQuery, "satoshi", kAmountParameter},
      {"min_confirmations", In::kQuery, "at least so many; 0 takes unconfirmed ones too",
       kWholeParameter},
      {"max_confirmations", In::kQuery, "at most so many", kWholeParameter},
      {"leased", In::kQuery, "only leased ones, or only others", kFlagParameter},
      {"spendable", In::kQuery, "only what may be spent now: confirmed, mature, not leased",
       kFlagParameter},
      {"chain_pending", In::kQuery, "with spendable: unconfirmed and pending ones as well",
       kFlagParameter},
      {"order", In::kQuery, "which come first",
       R"({"enum":["oldest","newest","largest","smallest"],"default":"oldest"})"},
  });
}

}  // namespace

std::vector<WalletRoute> wallet_reads() {
  const api::Parameter tx{"tx", In::kPath, "the transaction's id"};
  const auto get = http::Method::kGet;
  return {
      {get, "", "One wallet", {}, "Wallet", wallet},
      {get, "/accounts", "Its accounts", {}, "AccountList", accounts},
      {get,
       "/descriptors",
       "Its descriptors, and how far each is in use",
       {},
       "DescriptorList",
       descriptors},
      {get, "/addresses", "The scripts it watches", with_page({}), "WalletAddressPage", addresses},
      {get,
       "/balance",
       "What it holds: of all, of an account or of an address",
       {{"account", In::kQuery, "only of this account"},
        {"address", In::kQuery, "only of this address, or script in hex"}},
       "WalletBalance",
       balance},
      {get, "/coins", "Its coins, filtered", coin_parameters(), "CoinPage", coins},
      {get,
       "/coins/{tx}/{index}",
       "One coin",
       {tx, {"index", In::kPath, "the output's index in it"}},
       "Coin",
       coin},
      {get, "/transactions", "Its history, newest first",
       with_page(
           {{"status", In::kQuery,
             "pending, published, replaced, failed or orphaned; several with commas"},
            {"confirmed", In::kQuery, "only confirmed ones, or only others", kFlagParameter}}),
       "HistoryPage", history},
      {get,
       "/transactions/{tx}",
       "One transaction, with its inputs and outputs",
       {tx},
       "WalletTransaction",
       transaction},
      {get, "/labels", "Its labels", with_page({}), "LabelPage", labels},
      {get,
       "/pruned",
       "What pruning has taken away: with it, the history adds up",
       {},
       "PrunedTotals",
       pruned},
      {get, "/leases", "The leases that have not expired", with_page({}), "LeasePage", leases},
  };
}

}  // namespace coffer::wallet
