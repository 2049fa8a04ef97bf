// For the tests of api: services with routes of every scope.
#pragma once

#include <atomic>
#include <thread>

#include "api/test_util.h"

namespace coffer::api {

// Routes of every scope; the handlers of those that write count their calls.
struct Guarded : Fixture {
  std::atomic<int> writes = 0;

  Guarded() {
    options.more_routes = [this](RouteTable& table) {
      add(table, http::Method::kGet, "/api/v1/read", Scope::kRead);
      add(table, http::Method::kPost, "/api/v1/write", Scope::kWrite);
      add(table, http::Method::kGet, "/api/v1/private", Scope::kPrivate);
      add(table, http::Method::kPost, "/api/v1/private", Scope::kPrivate);
    };
  }
  void add(RouteTable& table, http::Method method, std::string pattern, Scope scope) {
    Route route;
    route.method = method;
    route.pattern = std::move(pattern);
    route.summary = "for the test";
    route.scope = scope;
    route.handler = [this, method](const http::Request&) {
      if (http::changes_state(method)) ++writes;
      return http::json_response("{}");
    };
    table.add(std::move(route));
  }
  int status(http::Method method, std::string_view path, http::Fields headers = {}) {
    return call(method, path, std::move(headers)).status;
  }
};

// A handler that authenticates by itself: the host's token, or the header X-Key.
inline http::Response own_answer(const Identify& identify, const http::Request& request) {
  const auto host = identify(request);
  if (!host && request.header("X-Key") != "good")
    return http::problem(401, "unauthorized", "the engine's own words", request.path);
  return http::text_response(host ? host->name + (host->can_write ? "+w" : "-w") : "member");
}

struct OwnScope : Fixture {
  OwnScope() {
    options.more_routes = [](RouteTable& table) {
      const auto identify = table.identify();
      table.add({.method = http::Method::kPost,
                 .pattern = "/api/v1/own",
                 .summary = "for the test",
                 .scope = Scope::kOwn,
                 .handler = [identify](const http::Request& request) {
                   return own_answer(identify, request);
                 }});
      table.add({.pattern = "/api/v1/own",
                 .summary = "for the test",
                 .scope = Scope::kOwn,
                 .async = [identify](const http::Request& request, const Respond& respond) {
                   std::thread([identify, &request, respond] {
                     respond(own_answer(identify, request));
                   }).detach();
                 }});
      table.add({.pattern = "/api/v1/own/events",
                 .summary = "for the test",
                 .scope = Scope::kOwn,
                 .stream = [](const http::Request& request, const auto&) {
                   return std::optional(http::problem(401, "unauthorized", "no", request.path));
                 }});
    };
    start();
  }
};

}  // namespace coffer::api
