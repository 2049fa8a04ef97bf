#include "oracle.h"

#include <set>

namespace coffer::oracle {
namespace {

namespace json = boost::json;

// About the file, or about the chain before the block: a block alone does not tell.
const std::set<std::string> kNotOfTheBlock = {"file", "height", "utxo_count", "utxo_value", "acc"};

}  // namespace

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
