#include "http/peer_group.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>

namespace coffer::http {
namespace {

constexpr std::size_t kPrefixBytes = 8;  // of an IPv6 address, that one holder has

std::string v4_peer(const in_addr& address) {
  if (ntohl(address.s_addr) >> 24 == 127) return std::string(kLoopbackGroup);
  std::array<char, INET_ADDRSTRLEN> text{};
  ::inet_ntop(AF_INET, &address, text.data(), text.size());
  return text.data();
}

}  // namespace

std::optional<std::string> peer_group(std::string_view address) {
  const std::string text(address.substr(0, address.find('%')));  // without the zone
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return v4_peer(v4);
  in6_addr v6{};
  if (::inet_pton(AF_INET6, text.c_str(), &v6) != 1) return std::nullopt;
  if (IN6_IS_ADDR_LOOPBACK(&v6)) return std::string(kLoopbackGroup);
  if (IN6_IS_ADDR_V4MAPPED(&v6)) {
    std::copy_n(&v6.s6_addr[12], 4, reinterpret_cast<std::uint8_t*>(&v4.s_addr));
    return v4_peer(v4);
  }
  std::fill(std::begin(v6.s6_addr) + kPrefixBytes, std::end(v6.s6_addr), std::uint8_t{0});
  std::array<char, INET6_ADDRSTRLEN> prefix{};
  ::inet_ntop(AF_INET6, &v6, prefix.data(), prefix.size());
  return std::string(prefix.data()) + "/64";
}

}  // namespace coffer::http
