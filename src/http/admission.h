// What must hold before a handler sees a request: one way to read its length, a sound target, a
// Host we answer to, a known route.
#pragma once

#include <optional>
#include <string_view>

#include "http/message.h"
#include "http/router.h"
#include "http/url.h"

namespace coffer::http {

struct RequestLine {
  std::string_view method;
  std::string_view target;
  unsigned version = 11;  // 10 for HTTP/1.0
};

struct Admission {
  const Router::Route* route = nullptr;
  std::optional<Response> refused;  // 400, 403, 404 or 405; then there is no route
};

// An answer unless every reader of these headers sees the same body: a proxy that reads it
// otherwise would take the rest for another request (request smuggling). "chunked" is the only
// transfer coding, alone and in HTTP/1.1. Thread-safe.
std::optional<Response> check_framing(unsigned version, const Fields& headers);

// Fills method, path, path_params and query of `request`, whose headers are set already.
// Thread-safe.
Admission admit(const RequestLine& line, const HostList& hosts, const Router& router,
                Request& request);

}  // namespace coffer::http
