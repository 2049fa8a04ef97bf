// The routes every Coffer has, over real HTTP.
#include "api/service.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/status_json.h"
#include "api/test_schema.h"
#include "api/test_util.h"
#include "api/web_page.h"
#include "base/result.h"

namespace coffer::api {
namespace {

namespace json = boost::json;

TEST(Service, LiveAndReady) {
  Fixture f;
  f.start();
  EXPECT_EQ(f.get("/health/live").status, 200);
  EXPECT_EQ(f.get("/health/ready").status, 200);
  {
    std::lock_guard lock(f.mutex);
    f.status.ready = false;
    f.status.not_ready_because = {"17 blocks behind"};
    f.status.consumers[0].state = "halted";
    f.status.consumers[0].problem = "rollback too deep";
    f.status.consumers[0].repair = "coffer utxo rebuild";
  }
  EXPECT_TRUE(http::eventually([&] { return f.get("/health/ready").status == 503; }));
  auto answer = f.get("/health/ready");
  EXPECT_EQ(json::parse(answer.body),
            json::parse(R"({"ready":false,"state":"stale","reasons":["17 blocks behind"],
      "halted":[{"name":"utxo","problem":"rollback too deep","repair":"coffer utxo rebuild"}]})"));
  EXPECT_EQ(f.get("/health/live").status, 200);
  {
    std::lock_guard lock(f.mutex);
    f.status.not_ready = {{"utxo", "utxo waits", false}};
  }
  EXPECT_TRUE(http::eventually(
      [&] { return f.get("/health/ready").body.find("unavailable") != std::string::npos; }));
  EXPECT_EQ(f.get("/health/ready?consumer=utxo").status, 503);
  EXPECT_EQ(f.get("/health/ready?consumer=txstore").status, 200);
  EXPECT_EQ(f.get("/health/ready?consumer=none").status, 404);
  {
    std::lock_guard lock(f.mutex);
    f.status = sample_status();
  }
  EXPECT_TRUE(http::eventually([&] { return f.get("/health/ready").status == 200; }));
}

// The status of a process whose database hangs cannot be read: health is answered all the same.
TEST(Service, HealthIsAnsweredWhileTheStatusHangs) {
  Fixture f;
  f.options.http.limits.workers = 1;
  f.options.http.limits.queued_requests = 1;
  f.start();
  {
    std::lock_guard hangs(f.mutex);
    http::RawClient first(f.service->address()), second(f.service->address());
    for (auto* client : {&first, &second}) client->send(http::get_request("/api/v1/status"));
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(f.get("/health/live").status, 200);
      EXPECT_EQ(f.get("/health/ready").status, 200);  // of a moment ago
    }
  }
  EXPECT_TRUE(http::eventually([&] { return f.get("/api/v1/status").status == 200; }));
}

TEST(Service, EveryRouteTakesOnlyItsParametersAndEachOnce) {
  Fixture f;
  f.start();
  for (const char* path : {"/", "/metrics", "/health/live", "/health/ready", "/openapi.json",
                           "/api/v1/status", "/api/v1/events"}) {
    const auto answer = f.get(std::string(path) + "?nosuch=1");
    EXPECT_EQ(answer.status, 400) << path;
    EXPECT_NE(answer.body.find("unknown parameter 'nosuch'"), std::string::npos) << answer.body;
  }
  const auto twice = f.get("/api/v1/events?last=1&last=2");
  EXPECT_EQ(twice.status, 400);
  EXPECT_NE(twice.body.find("parameter 'last' is there twice"), std::string::npos);
}

// All of 127/8 is this machine, and so is ::1: reading is open, and the address is a good Host.
TEST(Service, EveryLoopbackAddressCountsAsLoopback) {
  for (const char* listen : {"127.0.0.2:0", "127.255.0.1:0", "localhost:0"}) {
    Fixture f;
    f.options.http.listen = listen;
    f.start();
    if (!f.service) continue;
    EXPECT_EQ(f.get("/api/v1/status").status, 200) << listen;
  }
  EXPECT_TRUE(http::is_loopback_address("[::1]:0").value());  // not every machine has it
}

TEST(Service, StatusJsonRoundTrip) {
  Fixture f;
  f.start();
  auto answer = f.get("/api/v1/status");
  EXPECT_EQ(answer.content_type, "application/json");
  auto object = json::parse(answer.body).as_object();
  EXPECT_EQ(object.at("source_tip_number").to_number<int>(), 18);
  EXPECT_TRUE(object.at("consumers").at(1).at("tip").is_null());
  EXPECT_EQ(object.at("utxo").at("addresses").to_number<int>(), 7);
  EXPECT_EQ(answer.body.find("\"digest\""), answer.body.rfind("\"digest\""));  // each key once
  auto parsed = parse_status(answer.body);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(to_json(*parsed), answer.body);
  EXPECT_EQ(parsed->totals.bytes, 18'446'744'073'709'551'615u);
  for (auto bad : {"", "{}", "[]", R"({"version":1})"})
    EXPECT_EQ(parse_status(bad).error().code, Code::kCorrupt);
  EXPECT_EQ(parse_status(R"({"version":1})").error().message,
            "not a status of Coffer: version is of another type");
  std::string altered = answer.body;
  altered.replace(altered.find("\"digest\""), 8, "\"digests\"");
  EXPECT_EQ(parse_status(altered).error().message, "not a status of Coffer: digest is missing");
}

// Every "$ref" in the document points at something.
void check_references(const json::value& at, const json::value& document) {
  if (auto* array = at.if_array()) {
    for (const auto& item : *array) check_references(item, document);
  } else if (auto* object = at.if_object()) {
    for (const auto& [key, value] : *object) {
      if (key == "$ref") {
        std::string pointer(value.as_string().c_str());
        ASSERT_TRUE(pointer.starts_with("#/")) << pointer;
        boost::system::error_code error;
        EXPECT_NE(document.find_pointer(pointer.substr(1), error), nullptr) << pointer;
      } else {
        check_references(value, document);
      }
    }
  }
}

Route test_route(http::Method method, std::string pattern, Scope scope) {
  Route route;
  route.method = method;
  route.pattern = std::move(pattern);
  route.summary = "for the test";
  route.scope = scope;
  route.handler = [](const http::Request&) { return http::json_response("{}"); };
  return route;
}

TEST(Service, OpenapiDescribesEveryRoute) {
  Fixture f;
  RouteTable all;
  f.options.more_routes = [&](RouteTable& table) {
    Route route = test_route(http::Method::kPost, "/api/v1/things/{id}", Scope::kWrite);
    route.parameters = {{.name = "id", .in = Parameter::In::kPath, .description = "which"}};
    route.request_schema = route.response_schema = "Thing";
    table.add_schema("Thing", R"({"type":"object"})");
    table.add(std::move(route));
    all = table;
  };
  f.start();
  json::value document = json::parse(f.get("/openapi.json").body);
  EXPECT_EQ(document.at("openapi").as_string(), "3.1.0");
  EXPECT_EQ(document.at("info").at("version").as_string(), "1.2.3");
  check_references(document, document);
  std::size_t operations = 0;
  std::set<std::string> ids;
  for (const auto& [path, methods] : document.at("paths").as_object()) {
    for (const auto& [method, operation] : methods.as_object()) {
      ++operations;
      EXPECT_TRUE(ids.insert(operation.at("operationId").as_string().c_str()).second);
      EXPECT_TRUE(operation.at("responses").as_object().contains("200"));
      EXPECT_TRUE(operation.at("responses").as_object().contains("400"));
      EXPECT_TRUE(operation.at("responses").as_object().contains("default"));
      EXPECT_FALSE(operation.at("summary").as_string().empty());
    }
  }
  EXPECT_EQ(operations, all.routes().size());
  EXPECT_EQ(operations, 8u);
  for (const Route& route : all.routes())
    EXPECT_TRUE(document.at("paths").as_object().contains(route.pattern)) << route.pattern;
  EXPECT_EQ(document.at("servers").at(0).at("url").as_string(), "/");
  const auto& thing = document.at("paths").at("/api/v1/things/{id}").at("post");
  const std::set<std::string> statuses = {"200", "400", "401", "403", "404",
                                          "409", "413", "429", "503", "default"};
  EXPECT_EQ(keys_of(thing.at("responses")), statuses);
  const auto& ready = document.at("paths").at("/health/ready").at("get").at("responses");
  EXPECT_EQ(ready.at("503").at("content"), ready.at("200").at("content"));  // its own shape
  EXPECT_EQ(thing.at("security"), json::parse(R"([{"token":[]}])"));
  EXPECT_EQ(thing.at("parameters").at(0).at("required"), true);
  EXPECT_EQ(document.at("paths").at("/health/live").at("get").at("security"), json::array());
}

TEST(Service, MetricsCountByPattern) {
  Fixture f;
  f.options.more_routes = [](RouteTable& table) {
    Route route = test_route(http::Method::kGet, "/api/v1/things/{id}", Scope::kRead);
    route.parameters = {{.name = "id", .in = Parameter::In::kPath, .description = "which"}};
    table.add(std::move(route));
  };
  f.start();
  f.get("/api/v1/things/one");
  f.get("/api/v1/things/two");
  f.get("/secret-path");
  auto answer = f.get("/metrics");
  EXPECT_TRUE(answer.content_type.starts_with("text/plain; version=0.0.4"));
  const std::string& text = answer.body;
  EXPECT_NE(
      text.find(
          R"(coffer_http_requests_total{method="GET",route="/api/v1/things/{id}",status="200"} 2)"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find(R"(route="none",status="404"} 1)"), std::string::npos);
  EXPECT_NE(text.find("coffer_tip_number 16"), std::string::npos);
  EXPECT_NE(text.find(R"(coffer_consumer_behind_blocks{consumer="txstore"} 17)"),
            std::string::npos);
  EXPECT_EQ(text.find("secret-path"), std::string::npos);
  EXPECT_EQ(text.find("things/one"), std::string::npos);
}

TEST(Service, PageAllowsOnlyItsOwnScript) {
  Fixture f;
  f.start();
  auto page = f.get("/");
  EXPECT_EQ(page.status, 200);
  auto policy = http::find_header(page.headers, "content-security-policy");
  ASSERT_TRUE(policy);
  EXPECT_NE(policy->find("script-src 'sha256-"), std::string_view::npos);
  EXPECT_EQ(policy->find("unsafe"), std::string_view::npos);
  EXPECT_EQ(http::count(page.body, "<script>"), 1u);
  EXPECT_EQ(http::count(page.body, " style="), 0u);  // the policy would refuse them
  EXPECT_EQ(page.body.find("http://"), std::string::npos);
  EXPECT_EQ(page.body.find("https://"), std::string::npos);
}

TEST(Service, ErrorsOfHandlersBecomeProblems) {
  Fixture f;
  f.options.more_routes = [](RouteTable& table) {
    Route route = test_route(http::Method::kGet, "/api/v1/gone", Scope::kRead);
    route.handler = [](const http::Request&) -> Result<http::Response> {
      return fail(Code::kBeyondWindow, "too deep");
    };
    table.add(std::move(route));
  };
  f.start();
  auto answer = f.get("/api/v1/gone");
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(answer.content_type, "application/problem+json");
  EXPECT_EQ(
      json::parse(answer.body),
      json::parse(R"({"type":"about:blank","title":"Conflict","status":409,"detail":"too deep",
                            "code":"beyond_window","instance":"/api/v1/gone"})"));
}

TEST(Service, PortInUseIsOneClearLine) {
  Fixture f, g;
  f.start();
  g.options.http.listen = f.service->address();
  auto refused = Service::start(g.options, g.metrics, g.clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

TEST(Metrics, SameNameIsTheSameMetric) {
  Metrics metrics;
  metrics.counter("a_total", "help", {{"x", "1"}}).add(2);
  metrics.counter("a_total", "help", {{"x", "1"}}).add();
  int calls = 0;
  auto id = metrics.on_collect([&](Metrics& m) {
    ++calls;
    m.gauge("b", "help").set(calls);
  });
  EXPECT_NE(metrics.text().find("a_total{x=\"1\"} 3"), std::string::npos);
  metrics.remove(id);
  EXPECT_NE(metrics.text().find("b 1"), std::string::npos);
  EXPECT_EQ(calls, 1);
  EXPECT_DEATH(metrics.gauge("a_total", "help"), "metrics.cpp");
  EXPECT_DEATH(metrics.gauge("no good name", "help"), "metrics.cpp");
}

}  // namespace
}  // namespace coffer::api
