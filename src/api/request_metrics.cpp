#include "api/request_metrics.h"

namespace coffer::api {
namespace {

// Seconds.
const std::vector<double> kBounds = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5};

}  // namespace

void RequestMetrics::record(const http::Request& request, const http::RouteInfo* info,
                            const http::Finished& finished) {
  constexpr std::size_t kNone = ~std::size_t{0};
  Key key{info ? info->id : kNone, info ? request.method : http::Method::kGet, finished.status};
  std::lock_guard lock(mutex_);
  auto at = handles_.find(key);
  if (at == handles_.end()) {
    std::string route = info ? info->pattern : "none";
    std::string method = info ? std::string(http::name(request.method)) : "any";
    Labels by_status{
        {"route", route}, {"method", method}, {"status", std::to_string(finished.status)}};
    Handles handles{
        metrics_.counter("coffer_http_requests_total", "Requests answered", by_status),
        metrics_.counter("coffer_http_response_bytes_total", "Bytes of bodies", {{"route", route}}),
        metrics_.histogram("coffer_http_request_duration_seconds",
                           "From the request read to the answer ready", {{"route", route}},
                           kBounds)};
    at = handles_.emplace(key, handles).first;
  }
  at->second.requests.add();
  at->second.bytes.add(static_cast<double>(finished.bytes));
  at->second.duration.observe(static_cast<double>(finished.duration.count()) / 1e6);
}

}  // namespace coffer::api
