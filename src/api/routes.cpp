#include "api/routes.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/result.h"
#include "json/writer.h"

namespace coffer::api {
std::string_view name(Scope scope) {
  constexpr std::string_view kNames[] = {"public", "read", "write", "private", "own"};
  return kNames[static_cast<int>(scope)];
}

bool is_write(const Route& route) {
  return route.scope == Scope::kWrite ||
         (route.scope == Scope::kPrivate && http::changes_state(route.method));
}

Result<> check_query(const Route& route, const http::Fields& query) {
  constexpr std::size_t kShown = 100;  // of a name that a stranger chose
  std::vector<std::string_view> known;
  for (const Parameter& parameter : route.parameters)
    if (parameter.in == Parameter::In::kQuery) known.push_back(parameter.name);
  for (auto field = query.begin(); field != query.end(); ++field) {
    if (std::ranges::find(known, field->name) == known.end())
      return fail(Code::kInvalidInput, "unknown parameter '{}'; known {} {}",
                  std::string_view(field->name).substr(0, kShown), known.size() == 1 ? "is" : "are",
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
    if (std::any_of(query.begin(), field, [&](const auto& f) { return f.name == field->name; }))
      return fail(Code::kInvalidInput, "parameter '{}' is there twice", field->name);
  }
  return {};
}

RouteTable::RouteTable() {
  add_schema("Problem", problem_schema());
}

void RouteTable::add(Route route) {
  CHECK((route.handler != nullptr) + (route.stream != nullptr) + (route.async != nullptr) == 1);
  // What changes state must say so: otherwise nothing would guard or audit it.
  CHECK(!http::changes_state(route.method) || is_write(route) || route.scope == Scope::kOwn);
  for (std::size_t at = route.pattern.find('{'); at != std::string::npos;
       at = route.pattern.find('{', at + 1)) {
    std::string param = route.pattern.substr(at + 1, route.pattern.find('}', at) - at - 1);
    CHECK(std::any_of(route.parameters.begin(), route.parameters.end(), [&](const Parameter& p) {
      return p.in == Parameter::In::kPath && p.name == param;
    }));
  }
  routes_.push_back(std::move(route));
}

void RouteTable::add_schema(std::string schema_name, std::string json) {
  schemas_.emplace_back(std::move(schema_name), std::move(json));
}

http::Router RouteTable::router(const OnUnauthorized& on_unauthorized) const {
  http::Router router;
  for (const Route& route : routes_) {
    const bool watched = route.scope == Scope::kOwn && on_unauthorized != nullptr;
    const auto watch = [watched, on_unauthorized](const http::Request& request,
                                                  http::Response response) {
      if (watched && response.status == 401) on_unauthorized(request);
      return response;
    };
    const auto to_response = [watch](const http::Request& request, Result<http::Response> result) {
      return watch(request,
                   result ? *std::move(result) : http::problem(result.error(), request.path));
    };
    const http::RouteOptions options{
        .body_bytes = route.body_bytes, .pool = route.pool, .on_io_thread = route.on_io_thread};
    if (route.stream) {
      const auto stream =
          [&route, handler = route.stream, watch](
              const http::Request& request,
              const std::shared_ptr<http::EventStream>& to) -> std::optional<http::Response> {
        if (const auto known = check_query(route, request.query); !known)
          return http::problem(known.error(), request.path);
        auto refused = handler(request, to);
        if (refused) refused = watch(request, *std::move(refused));
        return refused;
      };
      router.add_stream(route.pattern, stream, options);
    } else if (route.async) {
      const auto answer_later = [&route, handler = route.async, to_response](
                                    const http::Request& request, http::Respond respond) {
        if (const auto known = check_query(route, request.query); !known)
          return respond(http::problem(known.error(), request.path));
        // The request lives as long as `respond` does.
        handler(request, [&request, to_response,
                          respond = std::move(respond)](Result<http::Response> result) {
          respond(to_response(request, std::move(result)));
        });
      };
      router.add_async(route.method, route.pattern, answer_later, options);
    } else {
      const auto answer = [&route, handler = route.handler,
                           to_response](const http::Request& request) {
        if (const auto known = check_query(route, request.query); !known)
          return http::problem(known.error(), request.path);
        return to_response(request, handler(request));
      };
      router.add(route.method, route.pattern, answer, options);
    }
  }
  return router;
}

}  // namespace coffer::api
