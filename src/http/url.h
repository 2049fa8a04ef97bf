// Addresses, targets and host names as text: percent-decoding, queries, host:port, URLs.
// Invariant: what does not parse is refused, never guessed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/message.h"

namespace coffer::http {

// Nothing on a bad escape or an encoded NUL. `plus_is_blank` is for queries.
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank = false);

// Bytes outside the unreserved set become %XX.
std::string percent_encode(std::string_view text);

// A request target in origin or absolute form, taken apart but not decoded.
struct Target {
  std::string_view path;       // begins with '/'
  std::string_view query;      // without the '?'
  std::string_view authority;  // only in absolute form
};
std::optional<Target> parse_target(std::string_view target);

// "a=1&b=x%20y" decoded; nothing on a bad escape or more than 64 parameters.
std::optional<Fields> parse_query(std::string_view query);

struct HostPort {
  std::string host;  // IPv6 without brackets
  std::optional<std::uint16_t> port;
  bool is_ipv6 = false;
};
// "host", "host:port", "[v6]", "[v6]:port".
std::optional<HostPort> parse_host_port(std::string_view text);

struct Url {
  bool tls = false;
  std::string host;  // IPv6 without brackets
  std::uint16_t port = 0;
  std::string authority;  // as it goes into the Host header
  std::string target;     // path and query
};
// http:// and https:// only. Errors: kInvalidInput.
Result<Url> parse_url(std::string_view text);

// The host names a server answers to. A foreign name in the Host header means that a page elsewhere
// pointed its own name at this machine (DNS rebinding).
class HostList {
 public:
  // Loopback's names are always in the list. Names are compared without case and port.
  explicit HostList(const std::vector<std::string>& more = {});
  // Thread-safe.
  bool allows(std::string_view host_header) const;

 private:
  std::vector<std::string> hosts_;
};

}  // namespace coffer::http
