#include "oidc/key_set.h"

#include <cjose/jwk.h>
#include <cjose/jws.h>
#include <openssl/err.h>

#include <algorithm>
#include <bit>

#include "json/reader.h"
#include "json/writer.h"
#include "oidc/base64url.h"

namespace coffer::oidc {
namespace {

constexpr json::Limits kKeySetLimits = {.max_bytes = kMaxKeySetBytes, .max_depth = 8};
constexpr std::size_t kMaxExponentBytes = 8;  // OpenSSL takes no longer one with a large modulus

// What was left on OpenSSL's queue of errors would be taken for one of the next TLS connection.
struct ClearErrors {
  ~ClearErrors() { ::ERR_clear_error(); }
};

struct ReleaseJws {
  void operator()(cjose_jws_t* jws) const { ::cjose_jws_release(jws); }
};

std::optional<std::string> text_of(const json::Value& object, std::string_view name) {
  const auto member = object.find(name);
  return member ? member->string() : std::nullopt;
}

bool is_odd(const Bytes& big_endian) {
  return !big_endian.empty() && (big_endian.back() & 1) != 0;
}

std::size_t bit_length(const Bytes& big_endian) {
  const auto first = std::ranges::find_if(big_endian, [](std::uint8_t b) { return b != 0; });
  if (first == big_endian.end()) return 0;
  return static_cast<std::size_t>(big_endian.end() - first - 1) * 8 +
         static_cast<std::size_t>(std::bit_width(*first));
}

// "sig", or nothing said. A list of operations must have "verify" (RFC 7517 §4.3).
bool is_for_signatures(const json::Value& object) {
  if (const auto use = object.find("use"); use && use->string() != "sig") return false;
  const auto operations = object.find("key_ops");
  if (!operations) return true;
  return std::ranges::any_of(operations->elements(), [](const json::Value& operation) {
    return operation.string() == "verify";
  });
}

// A secret that anybody can read protects nothing.
bool has_private_part(const json::Value& object) {
  return object.find("d") || object.find("p") || object.find("q") || object.find("k");
}

}  // namespace

// One key of a set from JSON, with nothing but its public members handed on to libcjose.
class KeyReader {
 public:
  static std::optional<PublicKey> read(const json::Value& object, const Algorithms& accepted) {
    if (!object.is_object() || !is_for_signatures(object) || has_private_part(object))
      return std::nullopt;
    PublicKey key;
    if (const auto id = object.find("kid")) {
      key.id_ = id->string();
      if (!key.id_ || key.id_->size() > kMaxKeyIdBytes) return std::nullopt;
    }
    if (const auto algorithm = object.find("alg")) {
      key.algorithm_ = algorithm->string();
      if (!key.algorithm_) return std::nullopt;
    }
    const auto type = text_of(object, "kty");
    if (type == "RSA" ? !read_rsa(key, object) : type != "EC" || !read_ec(key, object))
      return std::nullopt;
    if (std::ranges::none_of(accepted, [&](const Algorithm* one) { return key.fits(*one); }))
      return std::nullopt;
    return key;
  }

 private:
  static bool read_rsa(PublicKey& key, const json::Value& object) {
    const auto modulus = text_of(object, "n"), exponent = text_of(object, "e");
    if (!modulus || !exponent) return false;
    const auto n = decode_base64url(*modulus), e = decode_base64url(*exponent);
    if (!n || !e || !is_odd(*n) || !is_odd(*e)) return false;
    const std::size_t bits = bit_length(*n);
    if (bits < kMinRsaBits || bits > kMaxRsaBits) return false;
    if (bit_length(*e) < 2 || e->size() > kMaxExponentBytes) return false;
    key.type_ = KeyType::kRsa;
    key.modulus_bytes_ = (bits + 7) / 8;
    return import(key, json::Writer()
                           .begin_object()
                           .field("kty", "RSA")
                           .field("n", *modulus)
                           .field("e", *exponent)
                           .end_object()
                           .take());
  }

  // That the point is on the curve is checked by OpenSSL.
  static bool read_ec(PublicKey& key, const json::Value& object) {
    const auto curve = text_of(object, "crv"), x = text_of(object, "x"), y = text_of(object, "y");
    if (!curve || curve->empty() || !x || !y) return false;
    const auto known = std::ranges::find(known_algorithms(), *curve, &Algorithm::curve);
    if (known == known_algorithms().end()) return false;
    for (const auto* coordinate : {&*x, &*y}) {
      const auto bytes = decode_base64url(*coordinate);
      if (!bytes || bytes->size() != known->coordinate_bytes) return false;
    }
    key.type_ = KeyType::kEc;
    key.curve_ = *curve;
    return import(key, json::Writer()
                           .begin_object()
                           .field("kty", "EC")
                           .field("crv", *curve)
                           .field("x", *x)
                           .field("y", *y)
                           .end_object()
                           .take());
  }

  static bool import(PublicKey& key, const std::string& text) {
    const ClearErrors clear;
    cjose_jwk_t* imported = ::cjose_jwk_import(text.data(), text.size(), nullptr);
    if (imported == nullptr) return false;
    key.key_ = std::shared_ptr<cjose_jwk_t>(imported, &::cjose_jwk_release);
    return true;
  }
};

bool PublicKey::fits(const Algorithm& algorithm) const {
  return type_ == algorithm.key_type && curve_ == algorithm.curve &&
         (!algorithm_ || *algorithm_ == algorithm.name);
}

bool PublicKey::verify(std::string_view jws, const Algorithm& algorithm,
                       std::size_t signature_bytes) const {
  if (!fits(algorithm) || signature_bytes != algorithm.signature_bytes(modulus_bytes_))
    return false;
  const ClearErrors clear;
  const std::unique_ptr<cjose_jws_t, ReleaseJws> parsed(
      ::cjose_jws_import(jws.data(), jws.size(), nullptr));
  return parsed &&
         ::cjose_jws_verify(parsed.get(), static_cast<const cjose_jwk_t*>(key_.get()), nullptr);
}

Result<KeySet> KeySet::parse(std::string_view text, const Algorithms& accepted) {
  auto document = json::parse(text, kKeySetLimits);
  if (!document && document.error().code == Code::kTooLarge)
    return fail(std::move(document).error());
  const auto keys = document ? document->find("keys") : std::nullopt;
  if (!keys || !keys->is_array())
    return fail(Code::kCorrupt, "not a set of keys (JSON with a list 'keys')");
  if (keys->size() > kMaxKeys)
    return fail(Code::kTooLarge, "a set of {} keys, at most {} are read", keys->size(), kMaxKeys);
  KeySet set;
  for (const json::Value& element : keys->elements()) {
    auto key = KeyReader::read(element, accepted);
    if (key)
      set.keys_.push_back(std::move(*key));
    else
      ++set.ignored_;
  }
  return set;
}

const PublicKey* KeySet::find(const std::optional<std::string>& id,
                              const Algorithm& algorithm) const {
  const PublicKey* found = nullptr;
  for (const PublicKey& key : keys_) {
    if (!key.fits(algorithm) || (id && key.id() != id)) continue;
    if (id) return &key;
    if (found != nullptr) return nullptr;  // which of the two is not said
    found = &key;
  }
  return found;
}

bool KeySet::has(std::string_view id) const {
  return std::ranges::any_of(keys_, [&](const PublicKey& key) { return key.id() == id; });
}

}  // namespace coffer::oidc
