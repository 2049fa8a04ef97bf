// Every route is declared once; the router, the rule of who may call it and /openapi.json follow.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/router.h"

namespace coffer::api {

enum class Scope {
  kPublic,   // anyone, anywhere: health only
  kRead,     // open on loopback, a token beyond it
  kWrite,    // a token that may write, everywhere; audited
  kPrivate,  // a token everywhere, one that may write if the method changes state; then audited
};
std::string_view name(Scope scope);

struct Parameter {
  enum class In { kPath, kQuery, kHeader };
  std::string name = {};
  In in = In::kQuery;
  std::string description = {};
  std::string schema = R"({"type":"string"})";  // JSON Schema
  bool required = false;                        // those in the path always are
};

// An error becomes a problem document by the table in base/error.h.
using Handler = std::function<Result<http::Response>(const http::Request&)>;

// The initialisers let a declaration name only the fields it sets, without a warning.
struct Route {
  http::Method method = http::Method::kGet;
  std::string pattern = {};  // "/api/v1/utxos/{tx}/{index}"
  std::string summary = {};
  Scope scope = Scope::kRead;
  std::vector<Parameter> parameters = {};
  std::string response_schema = {};  // a name given to add_schema(); empty for other than JSON
  std::string content_type = "application/json";
  std::string request_schema = {};  // likewise, for a JSON body
  Handler handler = nullptr;
  http::StreamHandler stream = nullptr;  // instead of `handler`
};

// True if a call of the route needs a token that may write, and is audited.
bool is_write(const Route& route);

// Built before the server starts, then only read.
class RouteTable {
 public:
  RouteTable();

  // A route without handler, with an undeclared path parameter, or twice: fails a CHECK.
  void add(Route route);
  // A named JSON Schema; others refer to it as "#/components/schemas/NAME".
  void add_schema(std::string schema_name, std::string json);

  const std::vector<Route>& routes() const { return routes_; }
  // RouteInfo::id of the result is the index in routes().
  http::Router router() const;
  // OpenAPI 3.1. Cost: builds the text each time.
  std::string openapi(std::string_view version) const;

 private:
  std::vector<Route> routes_;
  std::vector<std::pair<std::string, std::string>> schemas_;
};

}  // namespace coffer::api
