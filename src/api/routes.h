// Every route is declared once; the router, the rule of who may call it and /openapi.json follow.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "http/router.h"

namespace coffer::api {

enum class Scope {
  kPublic,   // anyone, anywhere: health, and the page without what it shows
  kRead,     // open on loopback, a token beyond it
  kWrite,    // a token that may write, everywhere; audited
  kPrivate,  // a token everywhere, one that may write if the method changes state; then audited
  // The handler itself authenticates, authorises and audits: every request reaches it, but for a
  // foreign Host or Origin, one with a body but no credential, and one with a credential from an
  // address that gave too many wrong ones; audit.log has no line. It answers 401 when
  // authentication fails: with a credential that counts as a wrong one of the peer's address.
  kOwn,
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

// A handler that answers later, from any thread, through http::Respond: see http::AsyncHandler. The
// request lives as long as a copy of the function.
using Respond = std::function<void(Result<http::Response>)>;
using AsyncHandler = std::function<void(const http::Request&, Respond)>;

// Whose token of the data directory a request carries.
struct Identity {
  std::string name;  // of its file
  bool can_write = false;
};
using Identify = std::function<std::optional<Identity>(const http::Request&)>;

// The initialisers let a declaration name only the fields it sets, without a warning.
struct Route {
  http::Method method = http::Method::kGet;
  std::string pattern = {};  // "/api/v1/utxos/{tx}/{index}"
  std::string summary = {};
  Scope scope = Scope::kRead;
  std::vector<Parameter> parameters = {};
  std::string response_schema = {};  // a name given to add_schema(); empty for other than JSON
  std::string content_type = "application/json";
  std::string request_schema = {};     // likewise, for a JSON body
  std::vector<int> successes = {200};  // the statuses of an answer that is no problem
  int failure = 0;                     // another status with the shape of a success; 0: none
  Handler handler = nullptr;
  http::StreamHandler stream = nullptr;  // instead of `handler`
  AsyncHandler async = nullptr;          // instead of `handler`
  std::size_t body_bytes = 0;            // of a request; 0: http::Limits::body_bytes
  // The pool of workers that the handler waits on: see http::RouteOptions. A module whose routes
  // wait for its SQL database names one pool for all of them.
  std::string pool = {};
  bool on_io_thread = false;  // likewise; only for what computes
  // Fields of the JSON body that the audit log shows, for a route that changes state: which object
  // and the essentials of the change, nothing that is secret or personal.
  std::vector<std::string> audited = {};
};

// A parameter that the route does not declare, or that is there twice, is an error that names it: a
// misspelled filter would show or change too much. Every route is asked before its handler.
// Thread-safe. Errors: kInvalidInput.
Result<> check_query(const Route& route, const http::Fields& query);

// The JSON Schema of a problem document.
std::string problem_schema();

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

  // For handlers of Scope::kOwn: who holds a valid token of the data directory, the administrator
  // of this host. Copy it in add_routes() and call it within a handler; thread-safe, constant time.
  // It knows nobody in a table that no server serves.
  const Identify& identify() const { return identify_; }
  void set_identify(Identify identify) { identify_ = std::move(identify); }

  // Sees a request to which a handler of Scope::kOwn answers 401.
  using OnUnauthorized = std::function<void(const http::Request&)>;
  // RouteInfo::id of the result is the index in routes(). The table must outlive it.
  http::Router router(const OnUnauthorized& on_unauthorized = nullptr) const;
  // OpenAPI 3.1. Cost: builds the text each time.
  std::string openapi(std::string_view version) const;

 private:
  std::vector<Route> routes_;
  std::vector<std::pair<std::string, std::string>> schemas_;
  Identify identify_ = [](const http::Request&) { return std::nullopt; };
};

}  // namespace coffer::api
