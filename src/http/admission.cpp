#include "http/admission.h"

#include <algorithm>

namespace coffer::http {
namespace {

Admission refuse(Response response) {
  return {nullptr, std::move(response)};
}

// Nothing if the request names a host that we answer to.
std::optional<Response> check_host(const RequestLine& line, std::string_view authority,
                                   const HostList& hosts, const Request& request) {
  auto given =
      std::count_if(request.headers.begin(), request.headers.end(),
                    [](const Field& field) { return equal_ignoring_case(field.name, "Host"); });
  if (given > 1 || (given == 0 && line.version >= 11))
    return problem(400, "invalid_input", "exactly one Host header is needed", request.path);
  // In absolute form the target's own authority counts, whatever the header says. HTTP/1.0 may name
  // none: no browser speaks it, so no page elsewhere is behind such a request.
  std::string_view host = authority.empty() ? request.header("Host").value_or("") : authority;
  if ((given == 0 && host.empty()) || hosts.allows(host)) return std::nullopt;
  return problem(403, "forbidden",
                 "this server does not answer to that Host; http.allowed_hosts names those it does",
                 request.path);
}

}  // namespace

std::optional<Response> check_framing(unsigned version, const Fields& headers) {
  std::size_t codings = 0, lengths = 0;
  bool is_chunked = true;
  for (const Field& field : headers) {
    if (equal_ignoring_case(field.name, "Content-Length")) ++lengths;
    if (!equal_ignoring_case(field.name, "Transfer-Encoding")) continue;
    ++codings;
    is_chunked = is_chunked && equal_ignoring_case(field.value, "chunked");
  }
  if (codings + lengths > 1)
    return problem(400, "invalid_input",
                   "the length of the body is given more than once: send one Content-Length or one "
                   "Transfer-Encoding");
  if (codings == 0) return std::nullopt;
  if (version < 11)
    return problem(400, "invalid_input", "HTTP/1.0 has no Transfer-Encoding: send Content-Length");
  if (!is_chunked)
    return problem(501, "not_implemented", "the only Transfer-Encoding here is 'chunked'");
  return std::nullopt;
}

Admission admit(const RequestLine& line, const HostList& hosts, const Router& router,
                Request& request) {
  auto target = parse_target(line.target);
  if (!target) return refuse(problem(400, "invalid_input", "malformed request target"));
  auto path = percent_decode(target->path);
  auto query = parse_query(target->query);
  if (!path || !query)
    return refuse(problem(400, "invalid_input", "malformed escape in the request target"));
  request.path = std::move(*path);
  request.query = std::move(*query);
  if (auto foreign = check_host(line, target->authority, hosts, request))
    return refuse(std::move(*foreign));
  auto method = parse_method(line.method);
  if (method) request.method = *method;
  auto match = router.match(method, target->path);
  if (match.malformed) return refuse(problem(400, "invalid_input", "malformed path", request.path));
  if (!match.allow.empty()) {
    auto response = problem(405, "method_not_allowed", "allowed: " + match.allow, request.path);
    response.headers.push_back({"Allow", match.allow});
    return refuse(std::move(response));
  }
  if (match.route == nullptr)
    return refuse(problem(404, "not_found", "no such route", request.path));
  request.path_params = std::move(match.params);
  return {match.route, std::nullopt};
}

}  // namespace coffer::http
