// The JSON Schemas of what output.cpp writes, which routes/wallets_test.cpp compares, and of what
// the verbs read.
#include "json/schema.h"
#include "base/result.h"

#include <set>

#include "wallet/json/output.h"
#include "wallet/json/verbs.h"

namespace coffer::wallet {
namespace {

using namespace json::schema;

std::string one_of(std::span<const std::string_view> names) {
  return fmt::format(R"({{"type":"string","enum":["{}"]}})", fmt::join(names, R"(",")"));
}
const std::string kStatus = one_of(wallet::tx_status_names());
const std::string kState = one_of(wallet::coin_state_names());

std::string page_of(std::string_view key, std::string_view schema) {
  return answer({{key, list_of(refer(schema))}, {"next_cursor", kTextOrNull}});
}

void add_wallet(api::RouteTable& table) {
  table.add_schema("Wallet", answer({{"name", kText},
                                     {"birthday_height", kWhole},
                                     {"gap_limit", kWhole},
                                     {"created_unix_ms", kWhole},
                                     {"rescan_next", kWholeOrNull},
                                     {"rescan_to", kWholeOrNull}}));
  table.add_schema("WalletPage", page_of("wallets", "Wallet"));
  table.add_schema("AccountList", answer({{"accounts", list_of(answer({{"name", kText}}))}}));
  table.add_schema("WalletDescriptor", answer({{"descriptor", kText},
                                               {"account", kText},
                                               {"internal", kFlag},
                                               {"is_ranged", kFlag},
                                               {"next_index", kWhole},
                                               {"watch_to", kWhole}}));
  table.add_schema("DescriptorList", answer({{"descriptors", list_of(refer("WalletDescriptor"))}}));
  table.add_schema("WalletAddress", answer({{"address", kTextOrNull},
                                            {"script_pub_key", kHex},
                                            {"type", kText},
                                            {"account", kText},
                                            {"branch", kWholeOrNull},
                                            {"index", kWholeOrNull},
                                            {"given_out", kFlag},
                                            {"used", kFlag},
                                            {"label", kTextOrNull}}));
  table.add_schema("WalletAddressPage", page_of("addresses", "WalletAddress"));
  table.add_schema("Imported", answer({{"descriptors", kWhole}, {"addresses", kWhole}}));
  table.add_schema("WalletStats", answer({{"wallets", kWhole},
                                          {"addresses", kWhole},
                                          {"transactions", kWhole},
                                          {"coins", kWhole},
                                          {"unspent", kWhole},
                                          {"leases", kWhole},
                                          {"active_leases", kWhole},
                                          {"replacements", kWhole},
                                          {"pruned", kWhole},
                                          {"database_bytes", kWhole},
                                          {"tables", list_of(refer("WalletTable"))},
                                          {"counted_unix_ms", kWhole}}));
  table.add_schema("WalletTable",
                   answer({{"table", kText}, {"rows", kWhole}, {"bytes", kWholeOrNull}}));
}

void add_coins(api::RouteTable& table) {
  table.add_schema("WalletBalance", answer({{"account", kTextOrNull},
                                            {"address", kTextOrNull},
                                            {"script_pub_key", kHexOrNull},
                                            {"confirmed", kAmount},
                                            {"unconfirmed", kAmount},
                                            {"immature", kAmount},
                                            {"locked", kAmount},
                                            {"leased", kAmount},
                                            {"spendable", kAmount},
                                            {"total", kAmount},
                                            {"coins", kWhole},
                                            {"tip_height", kWholeOrNull}}));
  table.add_schema("Coin", answer({{"tx_hash", kHash},
                                   {"output_index", kWhole},
                                   {"amount", kAmount},
                                   {"state", kState},
                                   {"account", kText},
                                   {"address", kTextOrNull},
                                   {"script_pub_key", kHex},
                                   {"height", kWholeOrNull},
                                   {"confirmations", kWhole},
                                   {"coinbase", kFlag},
                                   {"spent_by", kHashOrNull},
                                   {"lock_id", kHashOrNull},
                                   {"lease_expires_unix_ms", kWholeOrNull},
                                   {"label", kTextOrNull},
                                   {"address_label", kTextOrNull}}));
  table.add_schema("CoinPage", page_of("coins", "Coin"));
  table.add_schema("Lease", answer({{"tx_hash", kHash},
                                    {"output_index", kWhole},
                                    {"amount", kAmount},
                                    {"state", kState},
                                    {"lock_id", kHash},
                                    {"expires_unix_ms", kWhole}}));
  table.add_schema("LeasePage", page_of("leases", "Lease"));
  table.add_schema("Leased",
                   answer({{"lock_id", kHash}, {"coins", kWhole}, {"expires_unix_ms", kWhole}}));
  table.add_schema("SelectedCoins", answer({{"lock_id", kHash},
                                            {"amount", kAmount},
                                            {"expires_unix_ms", kWhole},
                                            {"coins", list_of(refer("Coin"))}}));
  table.add_schema("Released", answer({{"lock_id", kHash}, {"coins", kWhole}}));
  table.add_schema("CleanedLeases", answer({{"leases", kWhole}, {"more", kFlag}}));
}

Properties entry_properties() {
  return {{"tx_hash", kHash},
          {"status", kStatus},
          {"reason", kTextOrNull},
          {"height", kWholeOrNull},
          {"confirmations", kWhole},
          {"block_time", R"({"type":["integer","null"],"format":"int64"})"},
          {"received_unix_ms", kWhole},
          {"coinbase", kFlag},
          {"in_mempool", kFlag},
          {"pruned", kFlag},
          {"received", kAmountOrNull},
          {"sent", kAmountOrNull},
          {"fee", kAmountOrNull},
          {"replaces", list_of(kHash)},
          {"replaced_by", list_of(kHash)},
          {"label", kTextOrNull}};
}

void add_transactions(api::RouteTable& table) {
  Properties properties = entry_properties();
  table.add_schema("HistoryEntry", answer(properties));
  table.add_schema("HistoryPage", page_of("transactions", "HistoryEntry"));
  table.add_schema(
      "WalletInput",
      answer({{"tx_hash", kHash}, {"output_index", kWhole}, {"amount", kAmountOrNull}}));
  const std::string state_or_null = fmt::format(R"({{"oneOf":[{},{{"type":"null"}}]}})", kState);
  table.add_schema("WalletOutput", answer({{"output_index", kWhole},
                                           {"amount", kAmount},
                                           {"address", kTextOrNull},
                                           {"script_pub_key", kHex},
                                           {"mine", kFlag},
                                           {"state", state_or_null},
                                           {"label", kTextOrNull},
                                           {"address_label", kTextOrNull}}));
  properties.emplace_back("raw", kHexOrNull);
  properties.emplace_back("inputs", list_of(refer("WalletInput")));
  properties.emplace_back("outputs", list_of(refer("WalletOutput")));
  table.add_schema("WalletTransaction", answer(properties));
  table.add_schema("Recorded", answer({{"tx_hash", kHash},
                                       {"status", kStatus},
                                       {"height", kWholeOrNull},
                                       {"changed", kFlag},
                                       {"invalidated", list_of(kHash)}}));
  table.add_schema("PrunedTotals", answer({{"transactions", kWhole},
                                           {"coins", kWhole},
                                           {"received", kAmount},
                                           {"spent", kAmount},
                                           {"lowest_height", kWholeOrNull},
                                           {"highest_height", kWholeOrNull}}));
  table.add_schema("LabelPage", page_of("labels", "Label"));
  table.add_schema("PrunedWallet", answer({{"dry_run", kFlag},
                                           {"transactions", kWhole},
                                           {"stubs", kWhole},
                                           {"invalid", kWhole},
                                           {"coins", kWhole},
                                           {"more", kFlag}}));
}

void add_requests(api::RouteTable& table) {
  std::set<std::string> added;  // verbs may share one
  for_each_verb([&](const auto& verb) {
    if (added.insert(verb.schema).second) table.add_schema(verb.schema, node::body_schema(verb));
  });
  // As Core prints it, or the answer of its RPC interface around that: not ours to close.
  table.add_schema("CoreDescriptors", object_of({{"wallet_name", kText},
                                                 {"descriptors", list_of(R"({"type":"object"})")},
                                                 {"result", R"({"type":"object"})"}},
                                                {}, false));
}

}  // namespace

void add_wallet_schemas(api::RouteTable& table) {
  add_wallet(table);
  add_coins(table);
  add_transactions(table);
  add_requests(table);
}

}  // namespace coffer::wallet
