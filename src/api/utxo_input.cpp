#include "api/utxo_input.h"

#include <charconv>

#include "chain/address.h"
#include "crypto/bech32.h"
#include "utxo/keys.h"

namespace coffer::api {
namespace {

using chain::Family;

constexpr std::size_t kPolicyDigits = 2 * Hash224::kSize;
constexpr std::size_t kMaxAssetName = 32;
constexpr std::uint64_t kMaxPage = 1'000'000'000;  // as a number; what it costs is the state's

bool is_hex(std::string_view text) {
  return !text.empty() && text.size() % 2 == 0 &&
         text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

// A stake address is an account, not a place where outputs lie.
bool is_stake_address(Family family, ByteView raw) {
  return family == Family::kCardano && !raw.empty() && raw[0] >> 4 >= 14;
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

Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view tx,
                                       std::string_view index) {
  if (tx.size() != 2 * Hash256::kSize || !is_hex(tx))
    return fail(Code::kInvalidInput, "transaction: expected 64 hex digits");
  const Bytes bytes = TRY(from_hex(tx));
  const Hash256 hash = Hash256::from(bytes.data());
  const bool is_bitcoin = network.family == Family::kBitcoin;
  const std::uint64_t largest = is_bitcoin ? 0xffffffffu : utxo::kMaxCardanoIndex;
  const std::uint64_t number = TRY_IN("output index", parse_whole(index, 0, largest));
  return chain::Outpoint{is_bitcoin ? reversed(hash) : hash, static_cast<std::uint32_t>(number)};
}

Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view text) {
  const std::size_t at = text.find_first_of("#:");
  if (at == std::string_view::npos)
    return fail(Code::kInvalidInput, "an output is TX#INDEX, such as {}#0", "5f0e…(64 hex digits)");
  return parse_outpoint(network, text.substr(0, at), text.substr(at + 1));
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

Result<std::uint64_t> parse_whole(std::string_view text, std::uint64_t min, std::uint64_t max) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < min || number > max)
    return fail(Code::kInvalidInput, "expected a whole number from {} to {}", min, max);
  return number;
}

Result<utxo::PageRequest> parse_page_request(const http::Fields& query) {
  constexpr std::uint64_t kMaxSlot = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kMaxCount = 100;
  utxo::PageRequest request;
  if (const auto text = http::find(query, "page"))
    request.page = TRY_IN("page", parse_whole(*text, 1, kMaxPage));
  if (const auto text = http::find(query, "count"))
    request.count = TRY_IN("count", parse_whole(*text, 1, kMaxCount));
  if (const auto text = http::find(query, "order")) {
    if (*text != "asc" && *text != "desc")
      return fail(Code::kInvalidInput, "order: expected asc or desc");
    request.descending = *text == "desc";
  }
  if (const auto text = http::find(query, "cursor")) request.cursor = *text;
  if (const auto text = http::find(query, "asset")) request.asset = TRY(parse_asset(*text));
  if (const auto text = http::find(query, "from_slot"))
    request.from_slot = Slot(TRY_IN("from_slot", parse_whole(*text, 0, kMaxSlot)));
  if (const auto text = http::find(query, "to_slot"))
    request.to_slot = Slot(TRY_IN("to_slot", parse_whole(*text, 0, kMaxSlot)));
  if (request.from_slot && request.to_slot && *request.from_slot > *request.to_slot)
    return fail(Code::kInvalidInput, "from_slot: {} is after to_slot {}", request.from_slot->value,
                request.to_slot->value);
  return request;
}

}  // namespace coffer::api
