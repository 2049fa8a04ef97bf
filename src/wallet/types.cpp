#include <coffer/wallet/types.h>
#include "base/result.h"

namespace coffer::wallet {
namespace {

constexpr std::string_view kStatuses[] = {"pending", "published", "replaced", "failed", "orphaned"};
constexpr std::string_view kStates[] = {"confirmed", "unconfirmed", "immature", "pending",
                                        "locked",    "spent",       "dead",     "orphaned"};

template <typename T, std::size_t N>
Result<T> parse(const std::string_view (&names)[N], std::string_view what, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<T>(i);
  return fail(Code::kInvalidInput, "'{}' is no {}; known: {}", text, what, fmt::join(names, ", "));
}

}  // namespace

std::string_view to_string(TxStatus status) {
  return kStatuses[static_cast<std::size_t>(status)];
}
std::span<const std::string_view> tx_status_names() {
  return kStatuses;
}
Result<TxStatus> parse_status(std::string_view text) {
  return parse<TxStatus>(kStatuses, "status of a transaction", text);
}
std::string_view to_string(CoinState state) {
  return kStates[static_cast<std::size_t>(state)];
}
std::span<const std::string_view> coin_state_names() {
  return kStates;
}
Result<CoinState> parse_state(std::string_view text) {
  return parse<CoinState>(kStates, "state of a coin", text);
}

}  // namespace coffer::wallet
