// The JSON Schemas of what utxo_json.cpp writes. utxo_routes_test.cpp compares the two.
#include "json/schema.h"
#include "base/result.h"
#include "utxo/json/output.h"

namespace coffer::utxo {
namespace {

using namespace json::schema;

Properties utxo_properties(chain::Family family) {
  Properties all = {{"tx_hash", kHash},
                    {"output_index", kWhole},
                    {"owner_addr", kText},
                    {"owner_stake_addr", kTextOrNull},
                    {"owner_payment_credential", kHexOrNull},
                    {"owner_stake_credential", kHexOrNull},
                    {amount_field(family), kAmount},
                    {"amounts", list_of(refer("Amount"))},
                    {"data_hash", kHashOrNull},
                    {"inline_datum", kHexOrNull},
                    {"script_ref", kHexOrNull},
                    {"reference_script_hash", kHexOrNull},
                    {"is_collateral_return", kFlag}};
  if (family == chain::Family::kBitcoin)
    all.insert(all.end(), {{"script_pub_key", kHex}, {"coinbase", kFlag}});
  all.insert(all.end(), {{"slot", kWhole},
                         {"block", kWhole},
                         {"block_number", kWhole},
                         {"block_hash", kHashOrNull},
                         {"epoch", kWholeOrNull},
                         {"block_time", R"({"type":"integer","format":"int64"})"}});
  return all;
}

Properties spent_properties() {
  return {{"spent", kFlag},
          {"spent_tx_hash", kHashOrNull},
          {"spent_at_slot", kWholeOrNull},
          {"spent_at_block", kWholeOrNull},
          {"spent_at_block_hash", kHashOrNull},
          {"spent_block_time", R"({"type":["integer","null"],"format":"int64"})"},
          {"spent_epoch", kWholeOrNull}};
}

void add_delta_schemas(api::RouteTable& table) {
  table.add_schema("Outpoint", answer({{"tx_hash", kHash}, {"output_index", kWhole}}));
  table.add_schema(
      "TxFlag",
      answer({{"tx_hash", kHash}, {"is_invalid", kFlag}, {"had_collateral_return", kFlag}}));
  table.add_schema("MmrDelta", answer({{"first_leaf", kWhole},
                                       {"leaves_added", kWhole},
                                       {"leaves_spent", list_of(kWhole)},
                                       {"peaks", list_of(kHash)},
                                       {"root", kHash}}));
  const std::string outpoints = list_of(refer("Outpoint"));
  table.add_schema(
      "BlockDelta",
      answer({{"block", kWhole},
              {"block_number", kWhole},
              {"slot", kWhole},
              {"block_hash", kHash},
              {"created", outpoints},
              {"spent", outpoints},
              {"created_and_spent", outpoints},
              {"replaced", outpoints},
              {"flags", answer({{"contains_invalid_tx", kFlag}})},
              {"tx_flags", list_of(refer("TxFlag"))},
              {"mmr", fmt::format(R"({{"oneOf":[{},{{"type":"null"}}]}})", refer("MmrDelta"))}}));
}

}  // namespace

void add_utxo_schemas(api::RouteTable& table, chain::Family family) {
  table.add_schema("Amount", answer({{"unit", kText},
                                     {"policy_id", kHexOrNull},
                                     {"asset_name", kHexOrNull},
                                     {"quantity", kAmount}}));
  Properties properties = utxo_properties(family);
  table.add_schema("Utxo", answer(properties));
  for (auto& more : spent_properties()) properties.push_back(std::move(more));
  table.add_schema("SpentUtxo", answer(properties));
  table.add_schema("UtxoPage", answer({{"utxos", list_of(refer("Utxo"))},
                                       {"next_cursor", kTextOrNull},
                                       {"block", kWholeOrNull},
                                       {"block_hash", kHashOrNull}}));
  table.add_schema("Balance", answer({{"address", kText},
                                      {amount_field(family), kAmount},
                                      {"amounts", list_of(refer("Amount"))},
                                      {"utxo_count", kWhole},
                                      {"next_cursor", kTextOrNull},
                                      {"block", kWholeOrNull},
                                      {"block_hash", kHashOrNull}}));
  add_delta_schemas(table);
  table.add_schema("MmrRoot", answer({{"root", kHash},
                                      {"leaves", kWhole},
                                      {"block", kWhole},
                                      {"block_number", kWhole},
                                      {"block_hash", kHashOrNull}}));
}

}  // namespace coffer::utxo
