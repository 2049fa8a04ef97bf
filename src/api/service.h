// The HTTP face of a running Coffer: routes, who may call them, audit, metrics, events, the page.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <coffer/base/clock.h>
#include "api/audit.h"
#include "api/events.h"
#include "api/metrics.h"
#include "api/routes.h"
#include "api/status_json.h"
#include "chainstate/event_reader.h"
#include "http/server.h"

namespace coffer::api {

struct ServiceOptions {
  std::filesystem::path data_dir;  // must exist; holds token, read-token and audit.log
  http::Options http;              // its hooks are the service's own
  // A reverse proxy in front does TLS. Then requests from loopback come from outside as well, so
  // every route but /health needs a token. Who guesses tokens is told apart by the last address in
  // X-Forwarded-For, which the proxy writes.
  bool behind_proxy = false;
  AuditOptions audit;
  std::function<Status()> status;  // called on workers; thread-safe, quick
  // /health/ready answers what was read so long ago at most, as long as reading it does not hang.
  std::chrono::milliseconds readiness_age{250};
  std::vector<ModuleSchema> module_schemas;   // of Status::modules
  chainstate::EventReader* events = nullptr;  // outlives the service; null leaves the route out
  EventHub::Options event_limits;
  std::function<void(RouteTable&)> more_routes;  // of the modules
};

class Service {
 public:
  // Serves as soon as this returns; `metrics` and `clock` outlive it. Errors: those of
  // Server::start, Tokens::open and AuditLog::open; kUsage beyond loopback without TLS or
  // behind_proxy.
  static Result<std::unique_ptr<Service>> start(ServiceOptions options, Metrics& metrics,
                                                const Clock& clock);
  // Stops within 5 seconds if nobody did.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Thread-safe.
  const std::string& address() const;
  std::string url() const;

  // On SIGHUP: certificate, tokens and audit log anew. What cannot be read stays as it was; the
  // first error is returned. Thread-safe.
  Result<> reload();

  // As Server::stop(). Idempotent.
  void stop(std::chrono::milliseconds timeout = std::chrono::milliseconds(5000));

 private:
  struct Impl;
  explicit Service(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::api
