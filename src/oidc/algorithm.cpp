#include "oidc/algorithm.h"

#include <algorithm>
#include <array>

namespace coffer::oidc {
namespace {

constexpr std::array<Algorithm, 9> kTable = {{
    {"RS256", KeyType::kRsa, "", 0},
    {"RS384", KeyType::kRsa, "", 0},
    {"RS512", KeyType::kRsa, "", 0},
    {"PS256", KeyType::kRsa, "", 0},
    {"PS384", KeyType::kRsa, "", 0},
    {"PS512", KeyType::kRsa, "", 0},
    {"ES256", KeyType::kEc, "P-256", 32},
    {"ES384", KeyType::kEc, "P-384", 48},
    {"ES512", KeyType::kEc, "P-521", 66},
}};

}  // namespace

std::span<const Algorithm> known_algorithms() {
  return kTable;
}

const Algorithm* find_algorithm(std::string_view name, const Algorithms& accepted) {
  const auto found = std::ranges::find(accepted, name, &Algorithm::name);
  return found == accepted.end() ? nullptr : *found;
}

Result<Algorithms> parse_algorithms(const std::vector<std::string>& names) {
  Algorithms all, chosen;
  for (const Algorithm& algorithm : kTable) all.push_back(&algorithm);
  for (const std::string& name : names) {
    const Algorithm* found = find_algorithm(name, all);
    if (found == nullptr)
      return fail(Code::kUsage, "'{}' is no signature algorithm that can be accepted; there are {}",
                  name.substr(0, 20), names_of(all));
    if (find_algorithm(name, chosen) != nullptr)
      return fail(Code::kUsage, "the signature algorithm {} is listed twice", name);
    chosen.push_back(found);
  }
  if (chosen.empty())
    return fail(Code::kUsage, "list at least one signature algorithm, e.g. RS256");
  return chosen;
}

std::string names_of(const Algorithms& algorithms) {
  std::string text;
  for (const Algorithm* algorithm : algorithms) {
    if (!text.empty()) text += ", ";
    text += algorithm->name;
  }
  return text;
}

}  // namespace coffer::oidc
