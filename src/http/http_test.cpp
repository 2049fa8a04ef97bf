// The parts that need no socket: addresses, routes, heads of answers.
#include <gtest/gtest.h>

#include "http/router.h"
#include "http/url.h"
#include "http/wire.h"

namespace coffer::http {
namespace {

TEST(Url, DecodesEscapesAndRefusesBadOnes) {
  EXPECT_EQ(percent_decode("a%20b%2Fc"), "a b/c");
  EXPECT_EQ(percent_decode("a+b"), "a+b");
  EXPECT_EQ(percent_decode("a+b", true), "a b");
  for (auto bad : {"%", "%2", "%zz", "a%00b", "%-1"}) EXPECT_FALSE(percent_decode(bad)) << bad;
  EXPECT_EQ(percent_decode(percent_encode("\xff /?#\n")), "\xff /?#\n");
}

TEST(Url, ParsesTargets) {
  auto target = parse_target("/a/b?x=1&y");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a/b");
  EXPECT_EQ(target->query, "x=1&y");
  target = parse_target("HTTP://evil.example:80?q");
  EXPECT_FALSE(target);  // no path after the authority, but a query
  target = parse_target("http://evil.example/p");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->authority, "evil.example");
  EXPECT_EQ(target->path, "/p");
  for (auto bad : {"", "*", "a", "http://", "/a#b"}) EXPECT_FALSE(parse_target(bad)) << bad;
}

TEST(Url, QueriesAreBounded) {
  auto query = parse_query("a=1&b=x%26y&&c&d=");
  ASSERT_TRUE(query);
  ASSERT_EQ(query->size(), 4u);
  EXPECT_EQ((*query)[1].value, "x&y");
  EXPECT_EQ(find(*query, "c"), "");
  EXPECT_FALSE(parse_query("a=%"));
  std::string many;
  for (int i = 0; i < 65; ++i) many += "a&";
  EXPECT_FALSE(parse_query(many));
}

TEST(Url, HostsAndPorts) {
  auto v6 = parse_host_port("[::1]:80");
  ASSERT_TRUE(v6);
  EXPECT_EQ(v6->host, "::1");
  EXPECT_EQ(v6->port, 80);
  EXPECT_FALSE(parse_host_port("host")->port);
  for (auto bad : {"", ":80", "[::1", "[]:1", "[::1]x", "h:", "h:99999", "h:8 0", "::1"})
    EXPECT_FALSE(parse_host_port(bad)) << bad;
}

TEST(Url, UrlsNeverShowAPassword) {
  auto url = parse_url("https://example:8443/a?b#c");
  ASSERT_TRUE(url);
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->port, 8443);
  EXPECT_EQ(url->target, "/a?b");
  EXPECT_EQ(parse_url("http://h")->target, "/");
  for (auto bad : {"ftp://h/", "http://", "http://u:secret@h/", "http://h/a b"}) {
    auto refused = parse_url(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message.find("secret"), std::string::npos);
  }
}

TEST(HostList, ComparesWithoutPortAndCase) {
  HostList hosts({"Coffer.Example", "192.0.2.1:8080", "[2001:db8::1]"});
  for (auto good : {"localhost", "LOCALHOST:1", "127.0.0.1:65535", "127.0.0.2:80", "[::1]",
                    "[::1]:80", "coffer.example:443", "192.0.2.1", "[2001:db8::1]:9"})
    EXPECT_TRUE(hosts.allows(good)) << good;
  for (auto bad : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil", "localhost:x",
                   "128.0.0.2", "127.0.0.2.evil", "localhost@evil"})
    EXPECT_FALSE(hosts.allows(bad)) << bad;
}

Response nothing(const Request&) {
  return {};
}

TEST(Router, MatchesLiteralsBeforeParameters) {
  Router router;
  auto any = router.add(Method::kGet, "/utxos/{tx}/{index}", nothing);
  auto stats = router.add(Method::kGet, "/utxos/stats", nothing);
  auto proof = router.add(Method::kGet, "/utxos/{tx}/proof", nothing);
  auto root = router.add(Method::kGet, "/", nothing);
  auto write = router.add(Method::kPost, "/utxos/stats", nothing);
  auto id = [&](Method method, std::string_view path) -> std::optional<std::size_t> {
    auto match = router.match(method, path);
    if (!match.route) return std::nullopt;
    return match.route->info.id;
  };
  EXPECT_EQ(id(Method::kGet, "/utxos/ab/0"), any);
  EXPECT_EQ(id(Method::kGet, "/utxos/ab/proof"), proof);
  EXPECT_EQ(id(Method::kGet, "/utxos/stats/7"), any);  // goes back when the literal leads nowhere
  EXPECT_EQ(id(Method::kGet, "/utxos/stats"), stats);
  EXPECT_EQ(id(Method::kHead, "/utxos/stats"), stats);
  EXPECT_EQ(id(Method::kPost, "/utxos/stats"), write);
  EXPECT_EQ(id(Method::kGet, "/"), root);
  for (auto none : {"/utxos", "/utxos/", "/utxos//0", "/utxos/a/b/c", "//", "x", ""})
    EXPECT_EQ(id(Method::kGet, none), std::nullopt) << none;
  EXPECT_EQ(id(Method::kGet, std::string(4000, '/')), std::nullopt);
  EXPECT_EQ(router.match(Method::kDelete, "/utxos/stats").allow, "GET, HEAD, POST");
  EXPECT_EQ(router.match(std::nullopt, "/").allow, "GET, HEAD");
}

TEST(Router, DecodesParametersAfterSplitting) {
  Router router;
  router.add(Method::kGet, "/a/{x}", nothing);
  auto match = router.match(Method::kGet, "/a/b%2Fc");
  ASSERT_TRUE(match.route);
  EXPECT_EQ(find(match.params, "x"), "b/c");
  EXPECT_TRUE(router.match(Method::kGet, "/a/%0").malformed);
}

TEST(Wire, ValueCannotEndItsLine) {
  Response response = text_response("hi");
  response.headers = {{"X-Good", "1"}, {"X-Bad", "1\r\nSet-Cookie: a"}, {"X\r\n", "1"}};
  std::string head = response_head(response, {.keep_alive = true, .date = http_date(784111777)});
  EXPECT_NE(head.find("X-Good: 1\r\n"), std::string::npos);
  EXPECT_EQ(head.find("Cookie"), std::string::npos);
  EXPECT_NE(head.find("Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"), std::string::npos);
  EXPECT_NE(head.find("Content-Length: 2\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(Problem, ComesFromTheOneTable) {
  Response response = problem(make_error(Code::kNotFound, "no block \"7\""), "/api/v1/blocks/7");
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.body,
            R"({"type":"about:blank","title":"Not Found","status":404,"detail":"no block \"7\"",)"
            R"("code":"not_found","instance":"/api/v1/blocks/7"})");
  Error refused = make_error(Code::kConflict, "too little");
  refused.reason = "insufficient_balance";
  EXPECT_EQ(problem(refused).body,
            R"({"type":"about:blank","title":"Conflict","status":409,"detail":"too little",)"
            R"("code":"conflict","reason":"insufficient_balance"})");
}

}  // namespace
}  // namespace coffer::http
