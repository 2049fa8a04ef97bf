#include "crypto/bip32.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/check.h"
#include "base/result.h"
#include "crypto/base58.h"

namespace coffer::crypto {
namespace {

// version 4, depth 1, parent 4, child 4, chain code 32, key 33
constexpr std::size_t kSerializedBytes = 78;
constexpr std::size_t kKeyAt = 45;
constexpr std::uint8_t kMaxDepth = 255;

// Half of this is a tweak for the key, the other the child's chain code.
std::array<std::uint8_t, 64> hmac_sha512(const Hash256& key, ByteView data) {
  std::array<std::uint8_t, 64> out;
  unsigned size = 0;
  CHECK(::HMAC(::EVP_sha512(), key.data(), static_cast<int>(key.size()), data.data(), data.size(),
               out.data(), &size) != nullptr);
  CHECK(size == out.size());
  return out;
}

bool is_wif_payload(ByteView payload) {
  constexpr std::uint8_t kMainnet = 0x80, kTestnet = 0xef;
  return (payload.size() == 33 || payload.size() == 34) &&
         (payload[0] == kMainnet || payload[0] == kTestnet);
}

// 5…, K…, L… on mainnet and 9…, c… on the test networks, by length and first character alone.
bool looks_like_wif(std::string_view text) {
  return (text.size() == 51 || text.size() == 52) &&
         std::string_view("5KL9c").find(text[0]) != std::string_view::npos &&
         base58_decode(text).has_value();
}

}  // namespace

bool is_private_key(std::string_view text) {
  if (text.size() >= 4 && text.substr(1, 3) == "prv") return true;
  if (looks_like_wif(text)) return true;
  const auto payload = base58check_decode(text);
  if (!payload) return false;
  // Whatever its prefix says, an extended key that begins with 00 is the private one.
  return is_wif_payload(*payload) ||
         (payload->size() == kSerializedBytes && (*payload)[kKeyAt] == 0);
}

std::unexpected<Error> refuse_private_key() {
  return fail(Code::kInvalidInput,
              "this is a private key: Coffer never holds any; give the public key (xpub) instead");
}

Result<ExtendedPublicKey> ExtendedPublicKey::parse(std::string_view text) {
  if (is_private_key(text)) return refuse_private_key();
  const Bytes data = TRY(base58check_decode(text));
  if (data.size() != kSerializedBytes)
    return fail(Code::kInvalidInput, "an extended key has {} bytes, not {}", kSerializedBytes,
                data.size());
  ExtendedPublicKey out;
  out.version = load_be32(data.data());
  if (out.version != kXpubVersion && out.version != kTpubVersion)
    return fail(Code::kInvalidInput,
                "an extended key of version {:08x} is neither xpub nor tpub; convert it (a "
                "descriptor says the kind of script by its function)",
                out.version);
  out.depth = data[4];
  out.parent = Fingerprint::from(&data[5]);
  out.child = load_be32(&data[9]);
  if (out.depth == 0 && (!out.parent.is_zero() || out.child != 0))
    return fail(Code::kInvalidInput, "an extended key of depth 0 that has a parent");
  out.chain_code = Hash256::from(&data[13]);
  out.key = TRY(parse_public_key(ByteView(data).subspan(kKeyAt)));
  return out;
}

std::string ExtendedPublicKey::text() const {
  Bytes data;
  data.reserve(kSerializedBytes);
  append_be32(data, version);
  data.push_back(depth);
  append(data, parent.view());
  append_be32(data, child);
  append(data, chain_code.view());
  append(data, key.view());
  return base58check_encode(data).value();  // fails for long data only
}

Fingerprint ExtendedPublicKey::fingerprint() const {
  return Fingerprint::from(hash160(key.view()).data());
}

Result<ExtendedPublicKey> ExtendedPublicKey::derive(std::uint32_t step) const {
  if ((step & kHardened) != 0)
    return fail(
        Code::kInvalidInput,
        "the hardened step {}h needs the private key; give the extended public key below it",
        step & ~kHardened);
  if (depth == kMaxDepth)
    return fail(Code::kInvalidInput, "an extended key at depth {} has no children", kMaxDepth);
  Bytes data(key.begin(), key.end());
  append_be32(data, step);
  const auto mac = hmac_sha512(chain_code, data);
  ExtendedPublicKey out;
  out.version = version;
  out.depth = static_cast<std::uint8_t>(depth + 1);
  out.parent = fingerprint();
  out.child = step;
  out.chain_code = Hash256::from(&mac[32]);
  out.key = TRY(tweak_add(key, Hash256::from(mac.data())));
  return out;
}

Result<ExtendedPublicKey> ExtendedPublicKey::derive(std::span<const std::uint32_t> path) const {
  ExtendedPublicKey out = *this;
  for (const std::uint32_t step : path) out = TRY(out.derive(step));
  return out;
}

}  // namespace coffer::crypto
