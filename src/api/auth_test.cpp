// Who may call what, over real HTTP.
#include "api/auth.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>

#include <thread>

#include "api/test_util.h"
#include "base/test_log.h"

namespace coffer::api {
namespace {

using http::Method;

// Routes of every scope; the handlers of those that write count their calls.
struct Guarded : Fixture {
  std::atomic<int> writes = 0;

  Guarded() {
    options.more_routes = [this](RouteTable& table) {
      add(table, Method::kGet, "/api/v1/read", Scope::kRead);
      add(table, Method::kPost, "/api/v1/write", Scope::kWrite);
      add(table, Method::kGet, "/api/v1/private", Scope::kPrivate);
      add(table, Method::kPost, "/api/v1/private", Scope::kPrivate);
    };
  }
  void add(RouteTable& table, Method method, std::string pattern, Scope scope) {
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
  int status(Method method, std::string_view path, http::Fields headers = {}) {
    return call(method, path, std::move(headers)).status;
  }
};

TEST(Auth, FirstStartMakesAPrivateToken) {
  Guarded f;
  f.start();
  struct stat info;
  ASSERT_EQ(::stat((f.dir.path() / "token").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  std::string token = f.token();
  EXPECT_EQ(token.size(), 64u);
  EXPECT_TRUE(from_hex(token));
  f.service.reset();
  f.start();
  EXPECT_EQ(f.token(), token);
  Guarded other;
  other.start();
  EXPECT_NE(other.token(), token);
}

TEST(Auth, LoopbackRules) {
  Guarded f;
  ASSERT_TRUE(ensure_read_token(f.dir.path()));
  f.start();
  auto write = bearer(f.token()), read = bearer(f.token("read-token"));
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/read"), 200);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write"), 401);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", read), 403);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/private", read), 403);
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/private"), 401);
  EXPECT_EQ(f.status(Method::kHead, "/api/v1/private"), 401);
  EXPECT_EQ(f.writes, 0);
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/private", read), 200);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/private", write), 200);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", write), 200);
  EXPECT_EQ(f.writes, 2);
  auto refused = f.call(Method::kPost, "/api/v1/write");
  EXPECT_EQ(http::find_header(refused.headers, "WWW-Authenticate"), "Bearer");
}

TEST(Auth, NearMissesAreRefused) {
  Guarded f;
  f.start();
  std::string token = f.token(), changed = token;
  changed.back() = changed.back() == '0' ? '1' : '0';
  for (std::string header :
       {std::string("Bearer "), std::string("Bearer"), "Bearer " + changed, "Basic " + token, token,
        "Bearer " + token + "0", "Bearer " + token.substr(1), std::string()})
    EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", {{"Authorization", header}}), 401) << header;
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", {{"authorization", "bearer " + token}}), 200);
}

TEST(Auth, BehindAProxyEverythingButHealthNeedsAToken) {
  Guarded f;
  f.options.behind_proxy = true;
  ASSERT_TRUE(ensure_read_token(f.dir.path()));
  f.start();
  auto read = bearer(f.token("read-token"));
  for (auto path :
       {"/", "/metrics", "/openapi.json", "/api/v1/status", "/api/v1/read", "/api/v1/events"})
    EXPECT_EQ(f.status(Method::kGet, path), 401) << path;
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/status", read), 200);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", read), 403);
  EXPECT_EQ(f.status(Method::kGet, "/health/live"), 200);
  EXPECT_EQ(f.status(Method::kGet, "/health/ready"), 200);
}

TEST(Auth, BeyondLoopbackNeedsTlsOrAProxy) {
  Guarded f;
  f.options.http.listen = "0.0.0.0:0";
  auto refused = Service::start(f.options, f.metrics, f.clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUsage);
  EXPECT_NE(refused.error().message.find("http.tls.cert"), std::string::npos);
}

TEST(Auth, TokenFileThatOthersCanReadIsRefused) {
  Guarded f;
  f.start();
  f.service.reset();
  auto path = f.dir.path() / "token";
  ::chmod(path.c_str(), 0640);
  auto refused = Service::start(f.options, f.metrics, f.clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kForbidden);
  EXPECT_NE(refused.error().message.find("chmod 600 " + path.string()), std::string::npos);
  ASSERT_TRUE(write_file_atomically(path, as_bytes("short\n"), {.mode = 0600}));
  EXPECT_EQ(Service::start(f.options, f.metrics, f.clock).error().code, Code::kInvalidInput);
}

TEST(Auth, ReloadTakesANewReadToken) {
  Guarded f;
  f.start();
  ASSERT_TRUE(ensure_read_token(f.dir.path()));
  auto read = bearer(f.token("read-token"));
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/private", read), 401);
  ASSERT_TRUE(f.service->reload());
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/private", read), 200);
  ::chmod((f.dir.path() / "read-token").c_str(), 0644);
  EXPECT_FALSE(f.service->reload());
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/private", read), 200);  // the old ones stay
}

TEST(Auth, ForeignOriginsChangeNothing) {
  Guarded f;
  f.start();
  auto with_origin = [&](std::string origin) {
    auto headers = bearer(f.token());
    headers.push_back({"Origin", std::move(origin)});
    return f.status(Method::kPost, "/api/v1/write", headers);
  };
  for (auto origin : {"http://evil.example", "null", "http://localhost.evil.example", ""})
    EXPECT_EQ(with_origin(origin), 403) << origin;
  EXPECT_EQ(f.writes, 0);
  EXPECT_EQ(with_origin(f.service->url()), 200);
  auto answer = f.get("/api/v1/read", {{"Origin", "http://evil.example"}});
  EXPECT_FALSE(http::find_header(answer.headers, "Access-Control-Allow-Origin"));
}

TEST(Auth, RepeatedFailuresAreSlowedDown) {
  Guarded f;
  f.start();
  std::string wrong(64, '0');
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", bearer(wrong)), 401);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", bearer(wrong)), 429);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", bearer(f.token())),
            200);  // the right one works
  f.clock.advance_ms(60'000);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", bearer(wrong)), 401);
  EXPECT_EQ(http::count(f.file("audit.log"), "\n"), 22u);
}

// A handler that authenticates by itself: the host's token, or the header X-Key.
http::Response own_answer(const Identify& identify, const http::Request& request) {
  const auto host = identify(request);
  if (!host && request.header("X-Key") != "good")
    return http::problem(401, "unauthorized", "the engine's own words", request.path);
  return http::text_response(host ? host->name + (host->can_write ? "+w" : "-w") : "member");
}

struct OwnScope : Fixture {
  OwnScope() {
    options.more_routes = [](RouteTable& table) {
      const auto identify = table.identify();
      table.add({.method = Method::kPost,
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

TEST(Auth, OwnScopeLeavesItToTheHandler) {
  OwnScope f;
  for (const Method method : {Method::kGet, Method::kPost}) {
    EXPECT_EQ(f.call(method, "/api/v1/own", {{"X-Key", "good"}}).body, "member");
    EXPECT_EQ(f.call(method, "/api/v1/own", bearer(f.token())).body, "token+w");
    const auto refused = f.call(method, "/api/v1/own");
    EXPECT_EQ(refused.status, 401);
    EXPECT_NE(refused.body.find("the engine's own words"), std::string::npos);
  }
  ASSERT_TRUE(ensure_read_token(f.dir.path()));
  ASSERT_TRUE(f.service->reload());
  EXPECT_EQ(f.get("/api/v1/own", bearer(f.token("read-token"))).body, "read-token-w");
  EXPECT_EQ(
      f.call(Method::kPost, "/api/v1/own", {{"X-Key", "good"}, {"Origin", "http://evil.example"}})
          .status,
      403);
  http::RawClient foreign(f.service->address());
  foreign.send("GET /api/v1/own HTTP/1.1\r\nHost: evil.example\r\nX-Key: good\r\n\r\n");
  EXPECT_EQ(http::status_of(foreign.read_until("\r\n\r\n")), 403);
  EXPECT_EQ(f.file("audit.log"), "");
  const auto document = boost::json::parse(f.get("/openapi.json").body);
  const auto& operation = document.at("paths").at("/api/v1/own").at("get");
  EXPECT_EQ(operation.at("x-coffer-scope").as_string(), "own");
  EXPECT_EQ(operation.at("security"), boost::json::parse(R"([{"token":[]}])"));
}

TEST(Auth, FailuresOfAnOwnScopeAreSlowedDown) {
  OwnScope f;
  for (int i = 0; i < 18; ++i)
    EXPECT_EQ(f.call(i % 2 == 0 ? Method::kGet : Method::kPost, "/api/v1/own").status, 401);
  EXPECT_EQ(f.get("/api/v1/own/events").status, 401);
  EXPECT_EQ(f.call(Method::kPost, "/api/v1/own").status, 401);
  EXPECT_EQ(f.get("/api/v1/own").status, 429);
  EXPECT_EQ(f.get("/api/v1/own/events").status, 429);
  EXPECT_EQ(f.get("/api/v1/own", {{"X-Key", "good"}}).status, 200);  // who is right gets on
  f.clock.advance_ms(60'000);
  EXPECT_EQ(f.get("/api/v1/own").status, 401);
}

TEST(Audit, AsynchronousWritesAreInIt) {
  Fixture f;
  f.options.more_routes = [](RouteTable& table) {
    table.add({.method = Method::kPost,
               .pattern = "/api/v1/later",
               .summary = "for the test",
               .scope = Scope::kWrite,
               .async =
                   [](const http::Request& request, const Respond& respond) {
                     if (request.query_param("fail"))
                       return respond(fail(Code::kNotFound, "nothing here"));
                     respond(http::text_response(std::to_string(request.body.size())));
                   },
               .body_bytes = 2u << 20});
  };
  f.start();
  http::ClientOptions large;
  large.headers = bearer(f.token());
  large.body = std::string(2u << 20, 'x');
  const auto answer = http::request(Method::kPost, f.service->url() + "/api/v1/later", large);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "2097152");
  EXPECT_EQ(f.call(Method::kPost, "/api/v1/later").status, 401);
  const auto missing = f.call(Method::kPost, "/api/v1/later?fail=1", bearer(f.token()));
  EXPECT_EQ(missing.status, 404);
  EXPECT_NE(missing.body.find(R"("detail":"nothing here")"), std::string::npos);
  const std::string log = f.file("audit.log");
  ASSERT_EQ(http::count(log, "\n"), 3u) << log;
  for (const char* status : {"200", "401", "404"})
    EXPECT_EQ(http::count(log, std::string("\"status\":") + status), 1u) << log;
  EXPECT_NE(
      f.get("/metrics")
          .body.find(
              R"(coffer_http_requests_total{method="POST",route="/api/v1/later",status="404"} 1)"),
      std::string::npos);
}

TEST(Audit, WritesALineForEachWrite) {
  Guarded f;
  f.start();
  f.status(Method::kPost, "/api/v1/write", bearer(f.token()));
  f.status(Method::kPost, "/api/v1/private?secret=1");
  f.status(Method::kGet, "/api/v1/private", bearer(f.token()));
  f.status(Method::kGet, "/api/v1/read");
  std::string log = f.file("audit.log");
  ASSERT_EQ(http::count(log, "\n"), 2u) << log;
  auto first = boost::json::parse(log.substr(0, log.find('\n')));
  EXPECT_EQ(first.at("time_unix_ms").to_number<std::int64_t>(), 1'700'000'000'000);
  EXPECT_EQ(first.at("route").as_string(), "/api/v1/write");
  EXPECT_EQ(first.at("status").to_number<int>(), 200);
  EXPECT_EQ(first.at("token").as_string(), "token");
  EXPECT_TRUE(first.at("remote").as_string().starts_with("127.0.0.1:"));
  EXPECT_NE(log.find(R"("status":401,"token":"")"), std::string::npos);
  EXPECT_EQ(log.find("secret"), std::string::npos);
  std::filesystem::rename(f.dir.path() / "audit.log", f.dir.path() / "audit.old");
  ASSERT_TRUE(f.service->reload());
  f.status(Method::kPost, "/api/v1/write", bearer(f.token()));
  EXPECT_EQ(http::count(f.file("audit.log"), "\n"), 1u);
}

TEST(Audit, NothingChangesWhileItCannotBeWritten) {
  Guarded f;
  std::filesystem::create_symlink("/dev/full", f.dir.path() / "audit.log");  // every write fails
  f.start();
  auto token = bearer(f.token());
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", token), 200);  // the first is noticed too late
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", token), 503);
  EXPECT_EQ(f.writes, 1);
  EXPECT_NE(f.get("/metrics").body.find("coffer_audit_failures_total"), std::string::npos);
  std::filesystem::remove(f.dir.path() / "audit.log");
  ASSERT_TRUE(f.service->reload());
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", token), 200);
  EXPECT_EQ(f.writes, 2);
}

TEST(Secrets, AreInNoLogAndNoAnswer) {
  const LogCapture captured;
  std::string seen, token, wrong(64, 'e');
  {
    Guarded f;
    f.start();
    token = f.token();
    for (auto path :
         {"/api/v1/write", "/api/v1/private", "/", "/api/v1/status", "/metrics", "/nowhere"})
      for (const std::string& secret : {token, wrong})
        for (Method method : {Method::kGet, Method::kPost}) {
          auto answer = f.call(method, path, bearer(secret));
          seen += answer.body;
          for (const auto& header : answer.headers) seen += header.name + header.value;
        }
    seen += f.file("audit.log");
  }
  seen += captured.text();
  EXPECT_NE(seen.find("without a valid token"), std::string::npos);
  EXPECT_EQ(seen.find(token), std::string::npos);
  EXPECT_EQ(seen.find(wrong), std::string::npos);
}

}  // namespace
}  // namespace coffer::api
