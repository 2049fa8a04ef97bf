#include "http/wire.h"
#include "base/result.h"

#include <ctime>

#include <fmt/format.h>

namespace coffer::http {
namespace {

void append_header(std::string& out, std::string_view key, std::string_view value) {
  if (key.empty() || key.find_first_of("\r\n:") != std::string_view::npos) return;
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) return;
  out += key;
  out += ": ";
  out += value;
  out += "\r\n";
}

}  // namespace

std::string response_head(const Response& response, const HeadOptions& options) {
  std::string out;
  out.reserve(384);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\n", response.status,
                 reason(response.status));
  if (!options.date.empty()) append_header(out, "Date", options.date);
  if (!response.content_type.empty()) append_header(out, "Content-Type", response.content_type);
  bool has_length = options.with_length && response.status != 204 && response.status != 304;
  if (has_length)
    fmt::format_to(std::back_inserter(out), "Content-Length: {}\r\n", response.content().size());
  out += options.keep_alive ? "Connection: keep-alive\r\n" : "Connection: close\r\n";
  out += "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n";
  if (options.is_tls) out += "Strict-Transport-Security: max-age=31536000\r\n";
  if (!find_header(response.headers, "Cache-Control")) out += "Cache-Control: no-store\r\n";
  if (response.content_type.starts_with("text/html") &&
      !find_header(response.headers, "Content-Security-Policy"))
    out += "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n";
  for (const Field& header : response.headers) append_header(out, header.name, header.value);
  out += "\r\n";
  return out;
}

std::string http_date(std::int64_t unix_s) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::time_t time = unix_s;
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return {};
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[parts.tm_wday], parts.tm_mday,
                     kMonths[parts.tm_mon], parts.tm_year + 1900, parts.tm_hour, parts.tm_min,
                     parts.tm_sec);
}

}  // namespace coffer::http
