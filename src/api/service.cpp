#include "api/service.h"

#include <mutex>
#include <unordered_map>

#include <coffer/base/log.h>
#include "api/audit.h"
#include "api/auth.h"
#include "api/periodic_task.h"
#include "api/readiness_cache.h"
#include "api/refusals.h"
#include "api/request_metrics.h"
#include "api/status_json.h"
#include "api/status_metrics.h"
#include "api/web_page.h"
#include "base/result.h"
#include "json/writer.h"

namespace coffer::api {

struct Service::Impl {
  Impl(ServiceOptions o, Metrics& m, const Clock& c)
      : options(std::move(o)),
        metrics(m),
        clock(c),
        audit_failures(m.counter("coffer_audit_failures_total",
                                 "State changes whose audit line could not be written")) {}
  ~Impl() { stop(std::chrono::milliseconds(5000)); }

  Result<> start();
  void add_health(RouteTable& table);
  void add_routes(RouteTable& table);
  void add_events(RouteTable& table);
  std::optional<http::Response> authorize(const http::Request& request,
                                          const http::RouteInfo& info);
  std::optional<http::Response> before(const http::Request& request, const http::RouteInfo& info);
  void after(const http::Request& request, const http::RouteInfo* info,
             const http::Finished& finished);
  void keep_house();
  void stop(std::chrono::milliseconds timeout);

  ServiceOptions options;
  Metrics& metrics;
  const Clock& clock;
  Counter audit_failures;
  RouteTable table;
  std::string openapi;
  std::unique_ptr<Tokens> tokens;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<AuditLog> audit;
  Refusals refusals{clock};
  ReadinessCache readiness;
  std::unique_ptr<RequestMetrics> request_metrics;
  std::unique_ptr<EventHub> hub;
  std::size_t collect_id = 0;
  std::mutex stop_mutex;
  std::unique_ptr<http::Server> server;  // its threads use the rest
  std::optional<PeriodicTask> house;     // last, as does its thread
};

Result<> Service::Impl::start() {
  bool on_loopback = TRY(http::is_loopback_address(options.http.listen));
  if (!on_loopback && !options.http.tls && !options.behind_proxy)
    return fail(Code::kUsage,
                "{} can be reached from other machines: set http.tls.cert and http.tls.key, "
                "or http.behind_proxy if a proxy in front does TLS",
                options.http.listen);
  tokens = TRY(Tokens::open(options.data_dir));
  audit = TRY(AuditLog::open(options.data_dir / kAuditFile, options.audit));
  gate = std::make_unique<Gate>(
      *tokens, clock,
      Gate::Options{.reads_are_open = on_loopback && !options.behind_proxy,
                    .behind_proxy = options.behind_proxy,
                    .token_hint = "the token is in the file 'token' of the data directory"});
  request_metrics = std::make_unique<RequestMetrics>(metrics);
  table.set_identify([this](const http::Request& request) { return tokens->identify(request); });
  add_health(table);
  add_routes(table);
  if (options.events) add_events(table);
  if (options.more_routes) options.more_routes(table);
  const Status status = options.status();
  openapi = table.openapi(status.version);
  readiness.set(status);
  http::Options http = options.http;
  http.authorize = [this](const auto& request, const auto& info) {
    return authorize(request, info);
  };
  http.before = [this](const auto& request, const auto& info) { return before(request, info); };
  http.after = [this](const auto& request, const auto* info, const auto& finished) {
    after(request, info, finished);
  };
  const auto on_unauthorized = [this](const auto& request) { gate->count_failure(request); };
  server = TRY(http::Server::start(std::move(http), table.router(on_unauthorized)));
  collect_id = metrics.on_collect([this](Metrics& m) {
    set_status_metrics(m, options.status());
    auto counts = server->counts();
    m.gauge("coffer_http_connections", "Open connections")
        .set(static_cast<double>(counts.connections));
    m.gauge("coffer_http_streams", "Open event streams").set(static_cast<double>(counts.streams));
  });
  house.emplace([this](const auto&) { keep_house(); },
                [this](auto) { return PeriodicTask::Duration(options.readiness_age); });
  return {};
}

// What is done now and then, on a thread of its own.
void Service::Impl::keep_house() {
  readiness.set(options.status());
  if (auto read = tokens->reload_if_changed(); !read)
    log::error("token file not read; the old token remains in use",
               {{"problem", read.error().message}});
  if (auto written = refusals.flush(*audit); !written)
    log::warn("refused requests not written to the audit log",
              {{"problem", written.error().message}});
}

void Service::Impl::add_health(RouteTable& to) {
  to.add({.pattern = "/health/live",
          .summary = "Answer 200 while the process serves requests",
          .scope = Scope::kPublic,
          .response_schema = "Live",
          .handler = [](const http::Request&) { return http::json_response(R"({"live":true})"); },
          .on_io_thread = true});
  to.add({.pattern = "/health/ready",
          .summary = "Answer 200 when close enough to the source, otherwise 503 with the reasons",
          .scope = Scope::kPublic,
          .parameters = {{.name = "consumer",
                          .description = "Ask for this consumer alone, e.g. wallet"}},
          .response_schema = "Readiness",
          .failure = 503,
          .handler =
              [this](const http::Request& request) {
                return readiness.answer(request.query_param("consumer"), gate->may_read(request));
              },
          .on_io_thread = true});
}

void Service::Impl::add_routes(RouteTable& to) {
  add_status_schemas(to, options.module_schemas);
  to.add_schema("OpenApi", R"({"type":"object"})");
  to.add({.pattern = "/",
          .summary = "Get the status page, which asks for a token if it needs one",
          .scope = Scope::kPublic,
          .content_type = "text/html",
          .handler = [](const http::Request&) { return status_page(); }});
  to.add({.pattern = "/metrics",
          .summary = "Get metrics in the Prometheus text format",
          .content_type = "text/plain",
          .handler = [this](const http::Request&) {
            http::Response response = http::text_response(metrics.text());
            response.content_type = "text/plain; version=0.0.4; charset=utf-8";
            return response;
          }});
  to.add({.pattern = "/openapi.json",
          .summary = "Get this OpenAPI document",
          .response_schema = "OpenApi",
          .handler = [this](const http::Request&) { return http::json_response(openapi); }});
  to.add(
      {.pattern = "/api/v1/status",
       .summary = "Get the tip, the state of each consumer and how far behind the source they are",
       .response_schema = "Status",
       .handler = [this](const http::Request&) {
         return http::json_response(to_json(options.status()));
       }});
}

void Service::Impl::add_events(RouteTable& to) {
  hub = std::make_unique<EventHub>(*options.events, options.event_limits);
  const char* number = R"({"type":"integer","minimum":0})";
  const char* id = R"({"type":"string","pattern":"^[0-9]+(-[0-9a-f]{16})?$"})";
  to.add(
      {.pattern = "/api/v1/events",
       .summary =
           "Stream blocks and rollbacks as Server-Sent Events: block, rollback, and reset when the "
           "requested id is no longer kept, or was given by another Coffer",
       .parameters = {{.name = "after",
                       .in = Parameter::In::kQuery,
                       .description =
                           "Start after the event with this id; default: only new events",
                       .schema = id},
                      {.name = "last",
                       .in = Parameter::In::kQuery,
                       .description = "Start this many events back, as far as they are kept",
                       .schema = number},
                      {.name = "Last-Event-ID",
                       .in = Parameter::In::kHeader,
                       .description = "As `after`, and takes precedence; browsers send it",
                       .schema = id}},
       .content_type = "text/event-stream",
       .stream = [this](const http::Request& request,
                        const std::shared_ptr<http::EventStream>& stream) {
         return hub->subscribe(request, stream);
       }});
}

std::optional<http::Response> Service::Impl::authorize(const http::Request& request,
                                                       const http::RouteInfo& info) {
  return gate->check(request, table.routes()[info.id]);
}

std::optional<http::Response> Service::Impl::before(const http::Request& request,
                                                    const http::RouteInfo& info) {
  if (!is_write(table.routes()[info.id])) return std::nullopt;
  // Nothing changes state that could not be written down.
  if (auto ready = audit->ready(); !ready) return http::problem(ready.error(), request.path);
  return std::nullopt;
}

void Service::Impl::after(const http::Request& request, const http::RouteInfo* info,
                          const http::Finished& finished) {
  request_metrics->record(request, info, finished);
  if (info == nullptr) return;
  const Route& route = table.routes()[info->id];
  if (!is_write(route)) return;
  const auto identity = tokens->identify(request);
  AuditEntry entry{.unix_ms = clock.unix_ms(),
                   .method = http::name(request.method),
                   .route = route.pattern,
                   .path = request.path,
                   .status = finished.status,
                   .token = identity ? std::string_view(identity->name) : std::string_view(),
                   .remote = request.remote,
                   .change = {}};
  if (!finished.handled) return refusals.note(entry);
  const std::string change = audited_fields(request.body, route.audited);
  entry.change = change;
  if (const auto written = audit->append(entry); !written) {
    audit_failures.add();
    log::error("audit log not written; nothing more is changed until it can be",
               {{"problem", written.error().message}});
  }
}

void Service::Impl::stop(std::chrono::milliseconds timeout) {
  std::lock_guard lock(stop_mutex);
  if (collect_id != 0) metrics.remove(collect_id);
  collect_id = 0;
  house.reset();
  if (server) server->stop(timeout);
  if (hub) hub->stop();
}

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::~Service() = default;

Result<std::unique_ptr<Service>> Service::start(ServiceOptions options, Metrics& metrics,
                                                const Clock& clock) {
  auto impl = std::make_unique<Impl>(std::move(options), metrics, clock);
  TRY(impl->start());
  return std::unique_ptr<Service>(new Service(std::move(impl)));
}

const std::string& Service::address() const {
  return impl_->server->address();
}

std::string Service::url() const {
  return impl_->server->url();
}

Result<> Service::reload() {
  Result<> tls = impl_->options.http.tls ? impl_->server->reload_tls() : Result<>{};
  Result<> tokens = impl_->tokens->reload();
  Result<> audit = impl_->audit->reopen();
  if (!tls) return tls;
  return tokens ? audit : tokens;
}

void Service::stop(std::chrono::milliseconds timeout) {
  impl_->stop(timeout);
}

}  // namespace coffer::api
