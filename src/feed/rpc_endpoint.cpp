#include "feed/rpc_endpoint.h"

#include <optional>

#include "base/result.h"
#include "http/url.h"

namespace coffer::feed {
namespace {

constexpr std::string_view kTcp = "tcp://";

std::optional<http::HostPort> zmq_host_port(std::string_view address) {
  if (!address.starts_with(kTcp)) return std::nullopt;
  auto parsed = http::parse_host_port(address.substr(kTcp.size()));
  if (!parsed || parsed->host.empty() || !parsed->port || *parsed->port == 0) return std::nullopt;
  return parsed;
}

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

Result<RpcEndpoint> RpcEndpoint::parse(std::string_view text) {
  const auto refused = [] {
    return fail(Code::kUsage,
                "not a node's address; use rpc:http://user:password@host:port or "
                "rpc:http://host:port?cookie=FILE, either with zmq=tcp://host:port after the '?'");
  };
  RpcEndpoint endpoint;
  const std::size_t scheme = text.find("://");
  if (scheme == std::string_view::npos) return refused();
  std::string_view rest = text.substr(scheme + 3);
  const std::size_t mark = rest.find('?');
  if (mark != std::string_view::npos) {
    const auto query = http::parse_query(rest.substr(mark + 1));
    if (!query) return refused();
    for (const http::Field& field : *query) {
      if (field.name == "cookie" && !field.value.empty())
        endpoint.cookie = field.value;
      else if (field.name == "zmq" && zmq_host_port(field.value))
        endpoint.zmq = field.value;
      else
        return refused();
    }
    rest = rest.substr(0, mark);
  }
  // The last one: a password may hold an '@'.
  if (const std::size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const auto decoded = http::percent_decode(rest.substr(0, at));
    if (!decoded || decoded->find(':') == std::string::npos) return refused();
    endpoint.user_password = *decoded;
    rest = rest.substr(at + 1);
  }
  endpoint.url = fmt::format("{}://{}", text.substr(0, scheme), rest);
  if (!http::parse_url(endpoint.url)) return refused();
  return endpoint;
}

std::string RpcEndpoint::reachable(std::string_view zmq_address) const {
  // '*' is no host name; 0.0.0.0 says the same.
  const bool star = zmq_address.starts_with("tcp://*:");
  const auto offered = zmq_host_port(star ? fmt::format("tcp://0.0.0.0:{}", zmq_address.substr(8))
                                          : std::string(zmq_address));
  const auto node = http::parse_url(url);
  if (!offered || !node) return {};
  const bool everywhere = offered->host == "0.0.0.0" || offered->host == "::";
  if (!everywhere && is_loopback(offered->host) && !is_loopback(node->host)) return {};
  const std::string& host = everywhere ? node->host : offered->host;
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return fmt::format("tcp://{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "",
                     *offered->port);
}

}  // namespace coffer::feed
