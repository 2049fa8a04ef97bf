// Who may call what, over real HTTP.
#include "api/auth.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>

#include <thread>

#include "api/guarded_test_util.h"
#include "base/test_log.h"
#include "http/peer_group.h"

namespace coffer::api {
namespace {

using http::Method;

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
  f.start();
  auto read = bearer(f.token("read-token"));
  for (auto path :
       {"/metrics", "/openapi.json", "/api/v1/status", "/api/v1/read", "/api/v1/events"})
    EXPECT_EQ(f.status(Method::kGet, path), 401) << path;
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/status", read), 200);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", read), 403);
  EXPECT_EQ(f.status(Method::kGet, "/"), 200);  // the page asks for the token
  EXPECT_EQ(f.status(Method::kGet, "/health/live"), 200);
  EXPECT_EQ(f.status(Method::kGet, "/health/ready"), 200);
}

TEST(Auth, StrangersLearnNoReasons) {
  Guarded f;
  f.Fixture::status.ready = false;
  f.Fixture::status.not_ready_because = {"source: rpc:http://user@10.1.2.3:8332 cannot be reached"};
  f.Fixture::status.consumers[0] = {"wallet",  "halted", {}, 0, "no role \"shop\" at 10.1.2.4",
                                    "ask shop"};
  f.options.behind_proxy = true;
  f.start();
  const auto seen = f.get("/health/ready");
  EXPECT_EQ(seen.status, 503);
  EXPECT_NE(seen.body.find("wallet"), std::string::npos);
  for (const char* hidden : {"10.1.2", "shop", "user"})
    EXPECT_EQ(seen.body.find(hidden), std::string::npos) << seen.body;
  const auto known = f.get("/health/ready", bearer(f.token("read-token")));
  EXPECT_EQ(known.status, 503);
  EXPECT_NE(known.body.find("user@10.1.2.3"), std::string::npos);
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

TEST(Auth, DataDirectoryThatOthersCanWriteIsRefused) {
  Guarded f;
  ::chmod(f.dir.path().c_str(), 0770);
  const auto refused = Service::start(f.options, f.metrics, f.clock);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kForbidden);
  EXPECT_NE(refused.error().message.find("chmod go-w " + f.dir.path().string()), std::string::npos);
  ::chmod(f.dir.path().c_str(), 0755);
  f.start();
}

// Without a signal: whoever replaces a token need not tell.
TEST(Auth, ChangedTokensAreReadAgain) {
  Guarded f;
  f.start();
  EXPECT_EQ(f.token("read-token").size(), 64u);  // made by the first start
  const std::string fresh_read(64, 'a'), fresh(64, 'b');
  const auto replace = [&](const char* name, const std::string& secret) {
    ASSERT_TRUE(
        write_file_atomically(f.dir.path() / name, as_bytes(secret + "\n"), {.mode = 0600}));
  };
  replace("read-token", fresh_read);
  EXPECT_TRUE(http::eventually([&] {
    f.clock.advance_ms(1'000);  // so that asking is no guessing
    return f.status(Method::kGet, "/api/v1/private", bearer(fresh_read)) == 200;
  }));
  replace("token", fresh);
  EXPECT_TRUE(http::eventually([&] {
    f.clock.advance_ms(1'000);
    return f.status(Method::kPost, "/api/v1/write", bearer(fresh)) == 200;
  }));
  ::chmod((f.dir.path() / "read-token").c_str(), 0644);
  EXPECT_FALSE(f.service->reload());
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/private", bearer(fresh_read)), 200);  // the old stay
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

TEST(Auth, OwnScopeLeavesItToTheHandler) {
  OwnScope f;
  for (const Method method : {Method::kGet, Method::kPost}) {
    EXPECT_EQ(f.call(method, "/api/v1/own", {{"X-Key", "good"}}).body, "member");
    EXPECT_EQ(f.call(method, "/api/v1/own", bearer(f.token())).body, "token+w");
    const auto refused = f.call(method, "/api/v1/own");
    EXPECT_EQ(refused.status, 401);
    EXPECT_NE(refused.body.find("the engine's own words"), std::string::npos);
  }
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
  EXPECT_NE(seen.find("a wrong token"), std::string::npos);
  EXPECT_EQ(seen.find(token), std::string::npos);
  EXPECT_EQ(seen.find(wrong), std::string::npos);
}

}  // namespace
}  // namespace coffer::api
