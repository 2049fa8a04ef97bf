#include "http/message.h"

#include <algorithm>

#include "json/writer.h"

namespace coffer::http {
namespace {

constexpr std::string_view kMethods[kMethodCount] = {"GET", "HEAD",   "POST",
                                                     "PUT", "DELETE", "PATCH"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::string_view name(Method method) {
  return kMethods[static_cast<std::size_t>(method)];
}

std::optional<Method> parse_method(std::string_view text) {
  for (std::size_t i = 0; i < kMethodCount; ++i)
    if (kMethods[i] == text) return static_cast<Method>(i);
  return std::nullopt;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string_view> find(const Fields& fields, std::string_view wanted) {
  for (const Field& field : fields)
    if (field.name == wanted) return field.value;
  return std::nullopt;
}

std::optional<std::string_view> find_header(const Fields& fields, std::string_view wanted) {
  for (const Field& field : fields)
    if (equal_ignoring_case(field.name, wanted)) return field.value;
  return std::nullopt;
}

Response json_response(std::string body, int status) {
  Response response;
  response.status = status;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

Response text_response(std::string body, int status) {
  Response response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::move(body);
  return response;
}

std::string_view reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

namespace {

Response make_problem(int status, std::string_view code, std::string_view detail,
                      std::string_view finer_reason, std::string_view instance,
                      bool may_retry = true) {
  json::Writer json;
  json.begin_object();
  json.field("type", "about:blank").field("title", reason(status)).field("status", status);
  json.field("detail", detail).field("code", code);
  if (!finer_reason.empty()) json.field("reason", finer_reason);
  if (!instance.empty()) json.field("instance", instance);
  json.end_object();
  Response response = json_response(json.take(), status);
  response.content_type = "application/problem+json";
  if ((status == 503 && may_retry) || status == 429)
    response.headers.push_back({"Retry-After", "1"});
  if (status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

}  // namespace

Response problem(int status, std::string_view code, std::string_view detail,
                 std::string_view instance) {
  return make_problem(status, code, detail, "", instance);
}

Response problem(const Error& error, std::string_view instance) {
  const CodeInfo& code = info(error.code);
  return make_problem(code.http_status, code.name, error.message, error.reason, instance,
                      error.retryable);
}

}  // namespace coffer::http
