#include "wallet/labels.h"

#include <charconv>

#include "chain/address.h"

namespace coffer::wallet {
namespace {

// As Bitcoin prints it.
Result<std::string> txid_text(std::string_view text) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != Hash256::kSize)
    return fail(Code::kInvalidInput, "transaction: expected 64 hex digits");
  return to_hex(*bytes);
}

Result<std::string> output_text(std::string_view text) {
  const std::size_t at = text.find_first_of("#:");
  if (at == std::string_view::npos)
    return fail(Code::kInvalidInput, "an output is TX#INDEX, such as 5f0e…(64 hex digits)#0");
  const std::string tx = TRY(txid_text(text.substr(0, at)));
  const std::string_view digits = text.substr(at + 1);
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size())
    return fail(Code::kInvalidInput, "output index: expected a whole number below 2^32");
  return fmt::format("{}:{}", tx, index);
}

}  // namespace

Result<LabelTarget> parse_label_target(const chain::Network& network, std::string_view kind,
                                       std::string_view ref) {
  if (kind == "tx") return LabelTarget {
      "tx", TRY(txid_text(ref))
    };
  if (kind == "output") return LabelTarget {
      "output", TRY(output_text(ref))
    };
  if (kind == "address") {
    const Bytes script = TRY_IN("address", chain::parse_address(network, ref));
    return LabelTarget{"address", chain::address_text(network, script).value_or(to_hex(script))};
  }
  return fail(Code::kInvalidInput, "kind: '{}' has no labels; tx, address and output have", kind);
}

}  // namespace coffer::wallet
