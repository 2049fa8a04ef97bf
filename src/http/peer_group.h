// Whose connections, requests and failures are counted together.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coffer::http {

inline constexpr std::string_view kLoopbackGroup = "loopback";

// "loopback" for every address of this machine's own loopback, else the IPv4 address, or the /64 of
// an IPv6 address, of which anybody who has one address has all: "2001:db8:1:2::/64". Nothing if it
// is no address. Thread-safe.
std::optional<std::string> peer_group(std::string_view address);

}  // namespace coffer::http
