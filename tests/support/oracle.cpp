#include "support/oracle.h"

#include <set>

namespace coffer::oracle {
namespace {

namespace json = boost::json;

// About the file, or about the chain before the block: a block alone does not tell.
const std::set<std::string> kNotOfTheBlock = {"file", "height", "utxo_count", "utxo_value", "acc"};

void to_text(json::value& number) {
  if (number.is_number()) number = json::serialize(number);
}
// Of each row of a list the column that is an amount.
void column_to_text(json::object& of, std::string_view list, std::size_t column) {
  json::value* rows = of.if_contains(list);
  if (rows == nullptr) return;
  for (json::value& row : rows->as_array()) to_text(row.as_array().at(column));
}
void output_to_text(json::value& output) {
  if (!output.is_object()) return;
  to_text(output.as_object().at("lovelace"));
  column_to_text(output.as_object(), "assets", 2);
}

}  // namespace

json::value with_text_amounts(json::value block) {
  for (json::value& each : block.as_object()["txs"].as_array()) {
    json::object& tx = each.as_object();
    column_to_text(tx, "out", 0);
    if (!tx.contains("outputs")) continue;
    for (json::value& output : tx.at("outputs").as_array()) output_to_text(output);
    for (const char* key : {"fee", "total_collateral"})
      if (tx.contains(key)) to_text(tx.at(key));
    if (tx.contains("collateral_return")) output_to_text(tx.at("collateral_return"));
    column_to_text(tx, "mint", 2);
    column_to_text(tx, "withdrawals", 1);
  }
  return block;
}

std::string first_difference(const json::value& expected, const json::value& got,
                             const std::string& path) {
  if (expected.is_object() && got.is_object()) {
    for (const auto& [key, value] : expected.as_object()) {
      const std::string name(key), inner = path.empty() ? name : path + "." + name;
      if (path.empty() && kNotOfTheBlock.contains(name)) continue;
      const json::value* ours = got.as_object().if_contains(key);
      if (ours == nullptr) return inner + " is missing";
      if (std::string found = first_difference(value, *ours, inner); !found.empty()) return found;
    }
    return "";
  }
  if (expected.is_array() && got.is_array()) {
    const auto &a = expected.as_array(), &b = got.as_array();
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (std::string found = first_difference(a[i], b[i], path + "[" + std::to_string(i) + "]");
          !found.empty())
        return found;
    if (a.size() == b.size()) return "";
    return path + ": expected " + std::to_string(a.size()) + " items, got " +
           std::to_string(b.size());
  }
  const std::string want = json::serialize(expected), have = json::serialize(got);
  return want == have ? "" : path + ": expected " + want + ", got " + have;
}

}  // namespace coffer::oracle
