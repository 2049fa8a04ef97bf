#include "http/url.h"
#include "base/result.h"
#include "http/peer_group.h"

#include <algorithm>
#include <charconv>

namespace coffer::http {
namespace {

constexpr std::size_t kMaxQueryParams = 64;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return port;
}

bool is_unreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += c == '+' && plus_is_blank ? ' ' : c;
    }
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (is_unreserved(c)) {
      out += c;
    } else {
      auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

std::optional<Target> parse_target(std::string_view target) {
  Target parsed;
  for (std::string_view scheme : {"http://", "https://"}) {
    if (target.size() <= scheme.size() ||
        !equal_ignoring_case(target.substr(0, scheme.size()), scheme))
      continue;
    target.remove_prefix(scheme.size());
    std::size_t end = std::min(target.find_first_of("/?#"), target.size());
    parsed.authority = target.substr(0, end);
    target.remove_prefix(end);
    if (parsed.authority.empty()) return std::nullopt;
    if (target.empty()) target = "/";
    break;
  }
  if (target.empty() || target.front() != '/') return std::nullopt;
  if (target.find('#') != std::string_view::npos) return std::nullopt;
  std::size_t mark = target.find('?');
  parsed.path = target.substr(0, mark);
  if (mark != std::string_view::npos) parsed.query = target.substr(mark + 1);
  return parsed;
}

std::optional<Fields> parse_query(std::string_view query) {
  Fields fields;
  while (!query.empty()) {
    std::size_t end = std::min(query.find('&'), query.size());
    std::string_view item = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (item.empty()) continue;
    if (fields.size() == kMaxQueryParams) return std::nullopt;
    std::size_t equals = item.find('=');
    auto key = percent_decode(item.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::string()
                                                  : percent_decode(item.substr(equals + 1), true);
    if (!key || !value) return std::nullopt;
    fields.push_back({std::move(*key), std::move(*value)});
  }
  return fields;
}

std::optional<HostPort> parse_host_port(std::string_view text) {
  HostPort result;
  if (text.starts_with('[')) {
    std::size_t end = text.find(']');
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    result.host = text.substr(1, end - 1);
    result.is_ipv6 = true;
    text.remove_prefix(end + 1);
    if (text.empty()) return result;
    if (text.front() != ':') return std::nullopt;
  } else {
    std::size_t colon = std::min(text.find(':'), text.size());
    if (colon == 0) return std::nullopt;
    result.host = text.substr(0, colon);
    text.remove_prefix(colon);
    if (text.empty()) return result;
  }
  result.port = parse_port(text.substr(1));
  if (!result.port) return std::nullopt;
  return result;
}

Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    url.tls = true;
  } else {
    return fail(Code::kInvalidInput, "an address begins with http:// or https://");
  }
  std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  url.authority = rest.substr(0, end);
  url.target = rest.substr(end);
  if (url.target.empty() || url.target.front() != '/') url.target.insert(0, "/");
  url.target = url.target.substr(0, url.target.find('#'));
  auto host = parse_host_port(url.authority);
  bool has_blank = std::any_of(url.target.begin(), url.target.end(), [](char c) {
    return static_cast<unsigned char>(c) <= 0x20 || c == 0x7f;
  });
  // Not repeated in the message: the part before an '@' may be a password.
  if (!host || has_blank || url.authority.find('@') != std::string::npos)
    return fail(Code::kInvalidInput, "not an address of the form http://host:port/path");
  url.host = host->host;
  url.port = host->port.value_or(url.tls ? 443 : 80);
  return url;
}

HostList::HostList(const std::vector<std::string>& more) : hosts_{"localhost"} {
  for (const std::string& entry : more) {
    auto parsed = parse_host_port(entry);
    // A bare IPv6 address has no port to take off.
    hosts_.push_back(parsed ? parsed->host : entry);
  }
}

bool HostList::allows(std::string_view host_header) const {
  auto parsed = parse_host_port(host_header);
  if (!parsed) return false;
  // An address is no name: it cannot be pointed elsewhere, and whoever has all of 127/8 may listen
  // on any of it.
  if (peer_group(parsed->host) == kLoopbackGroup) return true;
  return std::any_of(hosts_.begin(), hosts_.end(), [&](const std::string& host) {
    return equal_ignoring_case(host, parsed->host);
  });
}

}  // namespace coffer::http
