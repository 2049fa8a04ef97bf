// Keys and shortcuts of the descriptor tests.
#pragma once

#include <gtest/gtest.h>

#include "wallet/descriptor/descriptor.h"

namespace coffer::wallet {

// BIP32, test vectors 2 (m/0/2147483647h/1/2147483646h; m/0; m) and 3 (m/0h).
inline const std::string kKeyA =
    "xpub6ERApfZwUNrhLCkDtcHTcxd75RbzS1ed54G1LkBUHQVHQKqhMkhgbmJbZRkrgZw4koxb5JaHWkY4ALHY2grBGRjaDM"
    "zQLcgJvLJuZZvRcEL";
inline const std::string kKeyB =
    "xpub68NZiKmJWnxxS6aaHmn81bvJeTESw724CRDs6HbuccFQN9Ku14VQrADWgqbhhTHBaohPX4CjNLf9fq9MYo6oDaPPLP"
    "xSb7gwQN3ih19Zm4Y";
inline const std::string kKeyC =
    "xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7ap6"
    "r1D3tgFxHmwMkQTPH";
inline const std::string kTestnetKey =
    "tpubD6NzVbkrYhZ4WaWSyoBvQwbpLkojyoTZPRsgXELWz3Popb3qkjcJyJUGLnL4qHHoQvao8ESaAstxYSnhyswJ76uZPS"
    "tJRJCTKvosUCJZL5B";
inline const std::string kPlain =
    "03a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd";
inline const std::string kUncompressed =
    "04a34b99f22c790c4e36b2b3c2c35a36db06226e41c692fc82b8b56ac1c540c5bd5b8dec5235a0fa8722476c7709c0"
    "2"
    "559e3aa73aa03918ba2d492eea75abea235";
// Private, from the same BIPs.
inline const std::string kSecretXprv =
    "xprvA1RpRA33e1JQ7ifknakTFpgNXPmW2YvmhqLQYMmrj4xJXXWYpDPS3xz7iAxn8L39njGVyuoseXzU6rcxFLJ8HFsTjS"
    "yQbLYnMpCqE2VbFWc";
inline const std::string kSecretWif = "L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1";

inline chain::Network bitcoin(std::string_view name = "mainnet") {
  return chain::find_network("bitcoin", name).value();
}

inline std::string message_of(std::string_view text, std::string_view network = "mainnet") {
  const auto result = parse_descriptors(bitcoin(network), text);
  return result ? "accepted" : result.error().message;
}

// No piece of eight characters of a secret stands in a text.
inline bool leaks(std::string_view text, std::string_view secret) {
  for (std::size_t i = 0; i + 8 <= secret.size(); ++i)
    if (text.find(secret.substr(i, 8)) != std::string_view::npos) return true;
  return false;
}

}  // namespace coffer::wallet
