// For tests: keys that sign JWTs with OpenSSL alone, so that libcjose is checked by something else,
// and with whatever header and claims a test wants.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/base/bytes.h>
#include "base/check.h"
#include "base/result.h"

namespace coffer::oidc {

inline std::string encode_base64url(ByteView bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string text;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = (bits << 8) | byte;
    for (count += 8; count >= 6; count -= 6) text += kDigits[(bits >> (count - 6)) & 63];
  }
  if (count > 0) text += kDigits[(bits << (6 - count)) & 63];
  return text;
}
inline std::string encode_base64url(std::string_view text) {
  return encode_base64url(as_bytes(text));
}

class SigningKey {
 public:
  static SigningKey rsa(std::string id, unsigned bits = 2048) {
    return SigningKey(std::move(id), EVP_RSA_gen(bits), "");
  }
  // P-256, P-384 or P-521.
  static SigningKey ec(std::string id, const std::string& curve = "P-256") {
    return SigningKey(std::move(id), EVP_EC_gen(curve.c_str()), curve);
  }

  const std::string& id() const { return id_; }
  // The members of the public key, without braces.
  std::string public_members() const {
    if (curve_.empty())
      return fmt::format(R"("kty":"RSA","n":"{}","e":"{}")", number(OSSL_PKEY_PARAM_RSA_N),
                         number(OSSL_PKEY_PARAM_RSA_E));
    return fmt::format(R"("kty":"EC","crv":"{}","x":"{}","y":"{}")", curve_,
                       number(OSSL_PKEY_PARAM_EC_PUB_X), number(OSSL_PKEY_PARAM_EC_PUB_Y));
  }
  // As a member of a key set.
  std::string jwk(std::string_view more = R"(,"use":"sig")") const {
    return fmt::format(R"({{"kid":"{}",{}{}}})", id_, public_members(), more);
  }
  // "header.claims.signature" of these very texts, by what the algorithm's name says.
  std::string sign(std::string_view algorithm, std::string_view header,
                   std::string_view claims) const {
    const std::string input = encode_base64url(header) + "." + encode_base64url(claims);
    return input + "." + encode_base64url(signature(algorithm, input));
  }
  // With the header that a provider writes.
  std::string sign(std::string_view algorithm, std::string_view claims) const {
    return sign(algorithm, fmt::format(R"({{"alg":"{}","kid":"{}"}})", algorithm, id_), claims);
  }
  std::string public_pem() const {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), &BIO_free);
    CHECK(PEM_write_bio_PUBKEY(out.get(), key_.get()) == 1);
    char* data = nullptr;
    const long size = BIO_get_mem_data(out.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  }
  // The modulus or a coordinate as base64url.
  std::string number(const char* name) const {
    BIGNUM* value = nullptr;
    CHECK(EVP_PKEY_get_bn_param(key_.get(), name, &value) == 1);
    Bytes bytes(curve_.empty() ? static_cast<std::size_t>(BN_num_bytes(value)) : coordinate());
    CHECK(BN_bn2binpad(value, bytes.data(), static_cast<int>(bytes.size())) >= 0);
    BN_free(value);
    return encode_base64url(bytes);
  }

 private:
  SigningKey(std::string id, EVP_PKEY* key, std::string curve)
      : id_(std::move(id)), key_(key, &EVP_PKEY_free), curve_(std::move(curve)) {
    CHECK(key != nullptr);
  }

  std::size_t coordinate() const {
    return (static_cast<std::size_t>(EVP_PKEY_get_bits(key_.get())) + 7) / 8;
  }

  Bytes signature(std::string_view algorithm, std::string_view input) const {
    const EVP_MD* digest = algorithm.ends_with("256")   ? EVP_sha256()
                           : algorithm.ends_with("384") ? EVP_sha384()
                                                        : EVP_sha512();
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    EVP_PKEY_CTX* parameters = nullptr;
    CHECK(EVP_DigestSignInit(context.get(), &parameters, digest, nullptr, key_.get()) == 1);
    if (algorithm.starts_with("PS")) {
      CHECK(EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1);
      CHECK(EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1);
    }
    std::size_t size = 0;
    const auto* data = reinterpret_cast<const unsigned char*>(input.data());
    CHECK(EVP_DigestSign(context.get(), nullptr, &size, data, input.size()) == 1);
    Bytes bytes(size);
    CHECK(EVP_DigestSign(context.get(), bytes.data(), &size, data, input.size()) == 1);
    bytes.resize(size);
    return curve_.empty() ? bytes : both_numbers(bytes);
  }

  // r and s of an ECDSA signature at their full length (RFC 7518 §3.4).
  Bytes both_numbers(const Bytes& der) const {
    const unsigned char* at = der.data();
    ECDSA_SIG* signature = d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size()));
    CHECK(signature != nullptr);
    const int size = static_cast<int>(coordinate());
    Bytes bytes(2 * coordinate());
    CHECK(BN_bn2binpad(ECDSA_SIG_get0_r(signature), bytes.data(), size) == size);
    CHECK(BN_bn2binpad(ECDSA_SIG_get0_s(signature), bytes.data() + size, size) == size);
    ECDSA_SIG_free(signature);
    return bytes;
  }

  std::string id_;
  std::shared_ptr<EVP_PKEY> key_;
  std::string curve_;
};

inline Bytes hmac_sha256(std::string_view secret, std::string_view input) {
  Bytes mac(32);
  CHECK(HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()), as_bytes(input).data(),
             input.size(), mac.data(), nullptr) != nullptr);
  return mac;
}

// A key set of these keys, each written as JSON.
inline std::string key_set_of(const std::vector<std::string>& keys) {
  return fmt::format(R"({{"keys":[{}]}})", fmt::join(keys, ","));
}

}  // namespace coffer::oidc
