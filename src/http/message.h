// What a handler sees and gives back: plain values, no sockets, no library types.
// Invariant: a Request is whole, decoded and within the server's limits before any handler sees it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/base/error.h>

namespace coffer::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kDelete, kPatch };
inline constexpr std::size_t kMethodCount = 6;

std::string_view name(Method method);
// Nothing for a method that Coffer does not speak.
std::optional<Method> parse_method(std::string_view name);
// GET and HEAD change nothing; everything else may.
inline bool changes_state(Method method) {
  return method != Method::kGet && method != Method::kHead;
}

// A name and its value: of a header, a query or a path.
struct Field {
  std::string name;
  std::string value;
};
using Fields = std::vector<Field>;

// The first of that name; `find` compares exactly, `find_header` without regard to case.
std::optional<std::string_view> find(const Fields& fields, std::string_view name);
std::optional<std::string_view> find_header(const Fields& fields, std::string_view name);
bool equal_ignoring_case(std::string_view a, std::string_view b);

struct Request {
  Method method = Method::kGet;
  std::string path;    // decoded; never a key for metrics, which use the route's pattern
  Fields path_params;  // decoded
  Fields query;        // decoded, in order
  Fields headers;
  std::string body;
  std::string remote;        // address and port of the peer
  std::string peer_group;    // whose requests count together: see http/peer_group.h
  bool is_loopback = false;  // the peer is on this machine

  std::optional<std::string_view> path_param(std::string_view param) const {
    return find(path_params, param);
  }
  std::optional<std::string_view> query_param(std::string_view param) const {
    return find(query, param);
  }
  std::optional<std::string_view> header(std::string_view header_name) const {
    return find_header(headers, header_name);
  }
};

struct Response {
  int status = 200;
  std::string content_type;
  Fields headers;  // Content-Length, Date, Connection and the security headers come by themselves
  std::string body;
  std::shared_ptr<const std::string> shared_body;  // goes out instead of `body`, without a copy

  std::string_view content() const { return shared_body ? *shared_body : body; }
};

Response json_response(std::string body, int status = 200);
Response text_response(std::string body, int status = 200);

// The standard's words for a status, e.g. "Not Found".
std::string_view reason(int status);

// An RFC 9457 problem document. `code` is the stable name a program may act on.
Response problem(int status, std::string_view code, std::string_view detail,
                 std::string_view instance = {});
// The same with Retry-After in seconds; other problems with 429 or 503 say 1.
Response problem_with_retry(int status, std::string_view code, std::string_view detail,
                            std::int64_t retry_after_s, std::string_view instance = {});
// The same from an Error, by the one table in base/error.h; its reason, if it has one, is the
// member "reason".
Response problem(const Error& error, std::string_view instance = {});

}  // namespace coffer::http
