#include "api/input.h"

#include <charconv>

#include <coffer/chain/address.h>
#include "base/result.h"

namespace coffer::api {
namespace {

constexpr std::uint64_t kMaxCardanoIndex = 0xffff;  // outputs are numbered with 16 bits

// A stake address is an account, not a place where outputs lie.
bool is_stake_address(chain::Family family, ByteView raw) {
  return family == chain::Family::kCardano && !raw.empty() && raw[0] >> 4 >= 14;
}

}  // namespace

Result<Bytes> parse_owner(const chain::Network& network, std::string_view text) {
  auto raw = chain::parse_address(network, text);
  // Text forms have checksums, so nothing that is one can be meant as hex.
  if (!raw && is_hex(text)) raw = from_hex(text);
  if (!raw) {
    if (raw.error().code == Code::kTooLarge)
      return fail(Code::kInvalidInput, "address: {}", raw.error().message);
    return fail(std::move(raw).error().in("address"));
  }
  if (is_stake_address(network.family, *raw))
    return fail(Code::kInvalidInput,
                "address: a stake address holds no outputs; give an addr… address, or ask by "
                "payment credential");
  return std::move(*raw);
}

Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view tx,
                                       std::string_view index) {
  const Hash256 hash = TRY_IN("transaction", chain::parse_display(network.family, tx));
  const bool is_bitcoin = network.family == chain::Family::kBitcoin;
  const std::uint64_t largest = is_bitcoin ? 0xffffffffu : kMaxCardanoIndex;
  const std::uint64_t number = TRY_IN("output index", parse_whole(index, 0, largest));
  return chain::Outpoint{hash, static_cast<std::uint32_t>(number)};
}

Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view text) {
  const std::size_t at = text.find_first_of("#:");
  if (at == std::string_view::npos)
    return fail(Code::kInvalidInput, "an output is TX#INDEX, such as {}#0", "5f0e…(64 hex digits)");
  return parse_outpoint(network, text.substr(0, at), text.substr(at + 1));
}

Result<std::uint64_t> parse_whole(std::string_view text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < min || number > max)
    return fail(Code::kInvalidInput, "expected a whole number from {} to {}", min, max);
  return number;
}

}  // namespace coffer::api
