// The OpenAPI document of a table of routes.
#include <algorithm>
#include <cctype>
#include <map>

#include "api/routes.h"
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

// A problem of this status, with the reason that every route has for it.
struct Refusal {
  int status;
  std::string_view reason;
};

std::vector<Refusal> refusals_of(const Route& route) {
  std::vector<Refusal> all = {{400, "a parameter or the body is malformed, or not known"}};
  const bool has_path = route.pattern.find('{') != std::string::npos;
  const bool changes = http::changes_state(route.method);
  if (route.scope != Scope::kPublic) {
    all.push_back({401, "a token is needed, or this one is unknown"});
    all.push_back({403, "this token may not do that, or a foreign Host or Origin"});
  }
  if (has_path) all.push_back({404, "no such object"});
  if (has_path || changes) all.push_back({409, "the state forbids it"});
  if (changes) all.push_back({413, "the body is too large"});
  if (route.scope != Scope::kPublic)
    all.push_back({429, "too many wrong tokens or requests; wait as Retry-After says"});
  if (!route.on_io_thread)
    all.push_back({503, "something needed is away, or too many requests wait"});
  return all;
}

void write_responses(json::Writer& json, const Route& route) {
  json.key("responses").begin_object();
  for (const int status : route.successes) {
    json.key(std::to_string(status)).begin_object();
    json.field("description", http::reason(status));
    write_content(json, route.content_type, route.response_schema);
    json.end_object();
  }
  for (const Refusal& refusal : refusals_of(route)) {
    json.key(std::to_string(refusal.status)).begin_object();
    json.field("description", refusal.reason);
    write_content(json, "application/problem+json", "Problem");
    json.end_object();
  }
  // What it says itself with another status than success, in the shape of its success.
  if (route.failure != 0) {
    json.key(std::to_string(route.failure)).begin_object();
    json.field("description", http::reason(route.failure));
    write_content(json, route.content_type, route.response_schema);
    json.end_object();
  }
  json.key("default").begin_object().field("description", "a problem");
  write_content(json, "application/problem+json", "Problem");
  json.end_object().end_object();
}

void write_operation(json::Writer& json, const Route& route) {
  std::string method(http::name(route.method));
  std::transform(method.begin(), method.end(), method.begin(),
                 [](char c) { return static_cast<char>(c - 'A' + 'a'); });
  json.key(method).begin_object();
  json.field("operationId", operation_id(route)).field("summary", route.summary);
  write_security(json, route.scope);
  if (!route.pool.empty()) json.field("x-coffer-pool", route.pool);
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
  write_responses(json, route);
  json.end_object();
}

}  // namespace

std::string problem_schema() {
  return std::string(kProblemSchema);
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
  json.key("license").raw(R"({"name":"Apache License 2.0","identifier":"Apache-2.0"})");
  json.end_object();
  json.key("servers").raw(R"([{"url":"/","description":"this Coffer"}])");
  json.key("paths").begin_object();
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
