// The JSON Schemas of what output.cpp and reports.h write. routes/txs_test.cpp compares the two.
#include "json/schema.h"
#include "base/result.h"
#include "txstore/json/output.h"
#include "txstore/json/reports.h"

namespace coffer::txstore {
namespace {

using namespace json::schema;

std::string or_null(std::string_view schema) {
  return fmt::format(R"({{"oneOf":[{},{{"type":"null"}}]}})", refer(schema));
}

std::string one_of_texts(const std::vector<std::string>& names) {
  return fmt::format(R"({{"type":"string","enum":["{}"]}})", fmt::join(names, "\",\""));
}

Properties stored_tx_properties() {
  return {{"tx_hash", kHash},
          {"state", one_of_texts({"unmined", "mined", "conflicting"})},
          {"coinbase", kFlag},
          {"valid", kFlag},
          {"locked", kFlag},
          {"genesis", kFlag},
          {"blocks", list_of(refer("TxBlock"))},
          {"output_count", kWhole},
          {"spendable_outputs", kWhole},
          {"spent_outputs", kWhole},
          {"unspent_outputs", kWhole},
          {"unmined_since", kWholeOrNull},
          {"absent_since", kWholeOrNull},
          {"delete_at_height", kWholeOrNull},
          {"preserve_until", kWholeOrNull},
          {"due_at", kWholeOrNull},
          {"kept", kTextOrNull}};
}

Properties output_properties(chain::Family family) {
  Properties all = {{"index", kWhole}, {"amount", kAmount}, {"owner_addr", kTextOrNull}};
  if (family == chain::Family::kBitcoin)
    all.insert(all.end(), {{"script_pub_key", kHexOrNull}});
  else
    all.insert(all.end(), {{"assets", list_of(refer("TxAsset"))},
                           {"data_hash", kHashOrNull},
                           {"inline_datum", kHexOrNull},
                           {"script_ref", kHexOrNull}});
  all.insert(all.end(), {{"spendable", kFlag},
                         {"spent", kFlag},
                         {"spent_by", kHashOrNull},
                         {"spent_by_input", kWholeOrNull},
                         {"removed_by_ledger", kFlag},
                         {"spender_final", kFlag},
                         {"frozen", kFlag},
                         {"spendable_at", kWholeOrNull}});
  return all;
}

Properties decoded_properties(chain::Family family) {
  if (family == chain::Family::kBitcoin)
    return {{"wtxid", kHash},  {"version", kWhole}, {"lock_time", kWhole},
            {"segwit", kFlag}, {"weight", kWhole},  {"vsize", kWhole}};
  const std::string outpoints = list_of(refer("TxOutpoint"));
  return {{"reference_inputs", outpoints},
          {"collateral_inputs", outpoints},
          {"total_collateral", kAmountOrNull},
          {"collateral_return", kFlag},
          {"minted", list_of(refer("TxAsset"))}};
}

void add_parts(api::RouteTable& table, chain::Family family) {
  table.add_schema("TxKeptCount", json::schema_of_fields<KeptCount>());
  table.add_schema("TxBlock",
                   answer({{"height", kWhole}, {"block_id", kHex}, {"on_longest_chain", kFlag}}));
  table.add_schema(
      "TxInput", answer({{"tx_hash", kHash}, {"output_index", kWhole}, {"amount", kAmountOrNull}}));
  table.add_schema("TxOutput", answer(output_properties(family)));
  if (family == chain::Family::kCardano) {
    table.add_schema("TxOutpoint", answer({{"tx_hash", kHash}, {"output_index", kWhole}}));
    table.add_schema("TxAsset",
                     answer({{"unit", kHex},
                             {"policy_id", kHex},
                             {"asset_name", kHex},
                             {"quantity", R"({"type":"string","pattern":"^-?[0-9]+$"})"}}));
  }
  table.add_schema("TxDecoded", answer(decoded_properties(family)));
}

}  // namespace

void add_tx_schemas(api::RouteTable& table, chain::Family family) {
  add_parts(table, family);
  Properties tx = stored_tx_properties();
  tx.insert(tx.end(), {{"height", kWholeOrNull},
                       {"block_hash", kHashOrNull},
                       {"confirmations", kWhole},
                       {"size", kWhole},
                       {"unit", kText},
                       {"fee", kAmountOrNull},
                       {"decoded", or_null("TxDecoded")},
                       {"inputs", list_of(refer("TxInput"))},
                       {"outputs", list_of(refer("TxOutput"))},
                       {"next_outputs_from", kWholeOrNull},
                       {"tip_height", kWholeOrNull},
                       {"tip_hash", kHashOrNull}});
  table.add_schema("StoredTransaction", answer(tx));
  table.add_schema("RawTransaction", answer({{"tx_hash", kHash}, {"hex", kHex}}));
  std::vector<std::string> reasons = keep_reasons();
  reasons.insert(reasons.begin(), "deletable");
  table.add_schema("TxRetention", answer({{"tx_hash", kHash},
                                          {"state", kText},
                                          {"deletable", kFlag},
                                          {"reason", one_of_texts(reasons)},
                                          {"text", kText},
                                          {"output_index", kWholeOrNull},
                                          {"child", kHashOrNull},
                                          {"child_state", kTextOrNull},
                                          {"child_height", kWholeOrNull},
                                          {"earliest_height", kWholeOrNull},
                                          {"delete_at_height", kWholeOrNull},
                                          {"preserve_until", kWholeOrNull},
                                          {"due_at", kWholeOrNull},
                                          {"unspent_outputs", kWhole},
                                          {"spent_outputs", kWhole},
                                          {"tip_height", kWholeOrNull},
                                          {"tip_hash", kHashOrNull},
                                          {"final_height", kWholeOrNull},
                                          {"window", kWhole}}));
  table.add_schema("PrunedTxs", json::schema_of_fields<PruneReport>());
  table.add_schema("TxMark", json::schema_of_fields<MarkReport>());
  table.add_schema(prune_verb().schema, node::body_schema(prune_verb()));
  table.add_schema(preserve_verb().schema, node::body_schema(preserve_verb()));
}

}  // namespace coffer::txstore
