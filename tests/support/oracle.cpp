#include "support/oracle.h"

#include <set>

namespace coffer::oracle {
namespace {

namespace bj = boost::json;

// About the file, or about the chain before the block: a block alone does not tell.
const std::set<std::string> kNotOfTheBlock = {"file", "height", "utxo_count", "utxo_value", "acc"};

void to_text(bj::value& number) {
  if (number.is_number()) number = bj::serialize(number);
}
// Of each row of a list the column that is an amount.
void column_to_text(bj::object& of, std::string_view list, std::size_t column) {
  bj::value* rows = of.if_contains(list);
  if (rows == nullptr) return;
  for (bj::value& row : rows->as_array()) to_text(row.as_array().at(column));
}
void output_to_text(bj::value& output) {
  if (!output.is_object()) return;
  to_text(output.as_object().at("lovelace"));
  column_to_text(output.as_object(), "assets", 2);
}

}  // namespace

bj::value with_text_amounts(bj::value block) {
  for (bj::value& each : block.as_object()["txs"].as_array()) {
    bj::object& tx = each.as_object();
    column_to_text(tx, "out", 0);
    if (!tx.contains("outputs")) continue;
    for (bj::value& output : tx.at("outputs").as_array()) output_to_text(output);
    for (const char* key : {"fee", "total_collateral"})
      if (tx.contains(key)) to_text(tx.at(key));
    if (tx.contains("collateral_return")) output_to_text(tx.at("collateral_return"));
    column_to_text(tx, "mint", 2);
    column_to_text(tx, "withdrawals", 1);
  }
  return block;
}

std::string first_difference(const bj::value& expected, const bj::value& got,
                             const std::string& path) {
  if (expected.is_object() && got.is_object()) {
    for (const auto& [key, value] : expected.as_object()) {
      const std::string name(key), inner = path.empty() ? name : path + "." + name;
      if (path.empty() && kNotOfTheBlock.contains(name)) continue;
      const bj::value* ours = got.as_object().if_contains(key);
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
  const std::string want = bj::serialize(expected), have = bj::serialize(got);
  return want == have ? "" : path + ": expected " + want + ", got " + have;
}

}  // namespace coffer::oracle
