// Where a provider's key set is read from: a file, or what the discovery document of the issuer
// names (OpenID Connect Discovery 1.0).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "base/result.h"

namespace coffer::oidc {

class KeySource {
 public:
  virtual ~KeySource() = default;

  // The key set as text, at most kMaxKeySetBytes. One call at a time. Errors say what is wrong and
  // where: kUnavailable, kTimeout, kCorrupt, kTooLarge, kNotFound, kInvalidInput, kCancelled.
  virtual Result<std::string> read() = 0;
  // Ends the read under way and every later one. Thread-safe.
  virtual void cancel() {}
};

std::unique_ptr<KeySource> file_key_source(std::filesystem::path file);

struct DiscoveryOptions {
  std::string issuer;
  std::filesystem::path ca_file;  // PEM; empty takes the system's
  std::int64_t timeout_ms = 0;    // for both documents; the look-up of a host's name comes on top
};

// https only, but on loopback. Redirects are not followed. Errors: kUsage (the issuer's address).
Result<std::unique_ptr<KeySource>> discovery_key_source(DiscoveryOptions options);

}  // namespace coffer::oidc
