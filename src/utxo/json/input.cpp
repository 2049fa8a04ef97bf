#include "utxo/json/input.h"

#include "api/input.h"
#include "base/result.h"
#include "crypto/bech32.h"

namespace coffer::utxo {
namespace {

using chain::Family;

constexpr std::size_t kPolicyDigits = 2 * Hash224::kSize;
constexpr std::size_t kMaxAssetName = 32;
constexpr std::uint64_t kMaxPage = 1'000'000'000;  // as a number; what it costs is the state's

}  // namespace

Result<Hash224> parse_credential(const chain::Network& network, std::string_view text) {
  if (network.family == Family::kBitcoin)
    return fail(Code::kInvalidInput, "credential: bitcoin has none; ask by address");
  Bytes raw;
  if (is_hex(text)) {
    raw = TRY_IN("credential", from_hex(text));
  } else {
    const auto decoded = crypto::bech32_decode(text, crypto::kMaxBech32Cardano);
    if (!decoded)
      return fail(Code::kInvalidInput,
                  "credential: neither 56 hex digits nor addr_vkh1…, addr_shared_vkh1… or "
                  "script1…: {}",
                  decoded.error().message);
    if (decoded->hrp != "addr_vkh" && decoded->hrp != "addr_shared_vkh" && decoded->hrp != "script")
      return fail(Code::kInvalidInput,
                  "credential: the prefix {} is not of a payment credential; addr_vkh, "
                  "addr_shared_vkh and script are",
                  decoded->hrp);
    raw = TRY_IN("credential", crypto::from_base32(decoded->data));
  }
  return TRY_IN("credential", Hash224::from_view(raw));
}

Result<utxo::AssetFilter> parse_asset(std::string_view text) {
  std::string digits(text);
  if (digits.size() > kPolicyDigits && digits[kPolicyDigits] == '.') digits.erase(kPolicyDigits, 1);
  const bool bare_dot = text.ends_with('.');
  if (digits.size() < kPolicyDigits || !is_hex(digits) || bare_dot ||
      digits.size() > kPolicyDigits + 2 * kMaxAssetName)
    return fail(Code::kInvalidInput,
                "asset: expected the policy (56 hex digits), then the asset's name in hex, if any");
  const Bytes bytes = TRY(from_hex(digits));
  utxo::AssetFilter filter;
  filter.policy = Hash224::from(bytes.data());
  if (bytes.size() > Hash224::kSize)
    filter.name = Bytes(bytes.begin() + Hash224::kSize, bytes.end());
  return filter;
}

Result<utxo::PageRequest> parse_page_request(const http::Fields& query) {
  constexpr std::uint64_t kMaxSlot = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kMaxCount = 100;
  utxo::PageRequest request;
  if (const auto text = http::find(query, "page"))
    request.page = TRY_IN("page", api::parse_whole(*text, 1, kMaxPage));
  if (const auto text = http::find(query, "count"))
    request.count = TRY_IN("count", api::parse_whole(*text, 1, kMaxCount));
  if (const auto text = http::find(query, "order")) {
    if (*text != "asc" && *text != "desc")
      return fail(Code::kInvalidInput, "order: expected asc or desc");
    request.descending = *text == "desc";
  }
  if (const auto text = http::find(query, "cursor")) request.cursor = *text;
  if (const auto text = http::find(query, "asset")) request.asset = TRY(parse_asset(*text));
  if (const auto text = http::find(query, "from_slot"))
    request.from_slot = Slot(TRY_IN("from_slot", api::parse_whole(*text, 0, kMaxSlot)));
  if (const auto text = http::find(query, "to_slot"))
    request.to_slot = Slot(TRY_IN("to_slot", api::parse_whole(*text, 0, kMaxSlot)));
  if (request.from_slot && request.to_slot && *request.from_slot > *request.to_slot)
    return fail(Code::kInvalidInput, "from_slot: {} is after to_slot {}", request.from_slot->value,
                request.to_slot->value);
  return request;
}

}  // namespace coffer::utxo
