#include "api/routes.h"

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/result.h"
#include "json/writer.h"

namespace coffer::api {
namespace {

constexpr std::string_view kProblemSchema =
    R"({"type":"object","description":"An RFC 9457 problem document","required":["type","title",)"
    R"("status","detail","code"],"properties":{"type":{"type":"string"},"title":{"type":"string"},)"
    R"("status":{"type":"integer"},"detail":{"type":"string"},"code":{"type":"string",)"
    R"("description":"stable: programs may rely on it"},"reason":{"type":"string","description":)"
    R"("finer than code, where there is one, and as stable"},"instance":{"type":"string"}}})";

std::string reference(std::string_view schema) {
  return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", schema);
}

void write_content(json::Writer& json, std::string_view content_type, std::string_view schema) {
  json.key("content").begin_object().key(content_type).begin_object();
  json.key("schema").raw(schema.empty() ? R"({"type":"string"})" : reference(schema));
  json.end_object().end_object();
}

void write_parameter(json::Writer& json, const Parameter& parameter) {
  constexpr std::string_view kIn[] = {"path", "query", "header"};
  bool required = parameter.required || parameter.in == Parameter::In::kPath;
  json.begin_object().field("name", parameter.name);
  json.field("in", kIn[static_cast<int>(parameter.in)]).field("required", required);
  json.field("description", parameter.description).key("schema").raw(parameter.schema).end_object();
}

// "GET /api/v1/utxos/{tx}" is "get_api_v1_utxos_tx".
std::string operation_id(const Route& route) {
  std::string id;
  for (char c : fmt::format("{}{}", http::name(route.method), route.pattern)) {
    if (c == '{' || c == '}') continue;
    bool is_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    id += is_word ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : '_';
  }
  while (id.ends_with('_')) id.pop_back();
  return id;
}

void write_security(json::Writer& json, Scope scope) {
  json.key("security").begin_array();
  if (scope == Scope::kRead) json.begin_object().end_object();  // none on loopback
  if (scope != Scope::kPublic) json.raw(R"({"token":[]})");
  json.end_array().field("x-coffer-scope", name(scope));
}

void write_operation(json::Writer& json, const Route& route) {
  std::string method(http::name(route.method));
  std::transform(method.begin(), method.end(), method.begin(),
                 [](char c) { return static_cast<char>(c - 'A' + 'a'); });
  json.key(method).begin_object();
  json.field("operationId", operation_id(route)).field("summary", route.summary);
  write_security(json, route.scope);
  if (!route.parameters.empty()) {
    json.key("parameters").begin_array();
    for (const Parameter& parameter : route.parameters) write_parameter(json, parameter);
    json.end_array();
  }
  if (!route.request_schema.empty()) {
    json.key("requestBody").begin_object().field("required", true);
    write_content(json, "application/json", route.request_schema);
    json.end_object();
  }
  json.key("responses").begin_object();
  json.key("200").begin_object().field("description", "success");
  write_content(json, route.content_type, route.response_schema);
  json.end_object();
  json.key("default").begin_object().field("description", "a problem");
  write_content(json, "application/problem+json", "Problem");
  json.end_object().end_object().end_object();
}

}  // namespace

std::string_view name(Scope scope) {
  constexpr std::string_view kNames[] = {"public", "read", "write", "private", "own"};
  return kNames[static_cast<int>(scope)];
}

bool is_write(const Route& route) {
  return route.scope == Scope::kWrite ||
         (route.scope == Scope::kPrivate && http::changes_state(route.method));
}

RouteTable::RouteTable() {
  add_schema("Problem", std::string(kProblemSchema));
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
    const auto watch = [&route, watched, on_unauthorized](const http::Request& request,
                                                          http::Response response) {
      if (!watched || response.status != 401) return response;
      return on_unauthorized(request, route, std::move(response));
    };
    const auto to_response = [watch](const http::Request& request, Result<http::Response> result) {
      return watch(request,
                   result ? *std::move(result) : http::problem(result.error(), request.path));
    };
    const http::RouteLimits limits{.body_bytes = route.body_bytes};
    if (route.stream) {
      const auto stream = [handler = route.stream, watch](
                              const http::Request& request,
                              const std::shared_ptr<http::EventStream>& to) {
        auto refused = handler(request, to);
        if (refused) refused = watch(request, *std::move(refused));
        return refused;
      };
      router.add_stream(route.pattern, stream);
    } else if (route.async) {
      const auto answer_later = [handler = route.async, to_response](const http::Request& request,
                                                                     http::Respond respond) {
        // The request lives as long as `respond` does.
        handler(request, [&request, to_response,
                          respond = std::move(respond)](Result<http::Response> result) {
          respond(to_response(request, std::move(result)));
        });
      };
      router.add_async(route.method, route.pattern, answer_later, limits);
    } else {
      const auto answer = [handler = route.handler, to_response](const http::Request& request) {
        return to_response(request, handler(request));
      };
      router.add(route.method, route.pattern, answer, limits);
    }
  }
  return router;
}

std::string RouteTable::openapi(std::string_view version) const {
  std::map<std::string_view, std::vector<const Route*>> by_path;
  for (const Route& route : routes_) by_path[route.pattern].push_back(&route);
  json::Writer json;
  json.begin_object().field("openapi", "3.1.0").key("info").begin_object();
  json.field("title", "Coffer").field("version", version);
  json.field("description",
             "A ledger-state engine. On loopback reading is open; what changes state, "
             "and everything beyond loopback but /health, needs a token.");
  json.end_object().key("paths").begin_object();
  for (const auto& [path, routes] : by_path) {
    json.key(path).begin_object();
    for (const Route* route : routes) write_operation(json, *route);
    json.end_object();
  }
  json.end_object().key("components").begin_object().key("schemas").begin_object();
  for (const auto& [schema_name, schema] : schemas_) json.key(schema_name).raw(schema);
  json.end_object().key("securitySchemes").begin_object();
  json.key("token").raw(R"({"type":"http","scheme":"bearer"})");
  json.end_object().end_object().end_object();
  return json.take();
}

}  // namespace coffer::api
