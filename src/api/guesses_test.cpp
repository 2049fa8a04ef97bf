// Whoever guesses tokens is slowed down, and nobody else.
#include <gtest/gtest.h>

#include "api/auth.h"
#include "api/guarded_test_util.h"
#include "base/result.h"
#include "http/peer_group.h"

namespace coffer::api {
namespace {

using http::Method;

// 37,000 guesses a second and the right one among them: neither any more.
TEST(Auth, GuessesAreSlowedDownAndTheRightOneWaitsToo) {
  Guarded f;
  f.start();
  const auto wrong = bearer(std::string(64, '0')), right = bearer(f.token());
  for (int i = 0; i <= Failures::kFree; ++i)
    EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", wrong), 401);
  for (const auto& token : {wrong, right}) {
    const auto refused = f.call(Method::kPost, "/api/v1/write", token);
    EXPECT_EQ(refused.status, 429);
    EXPECT_EQ(http::find_header(refused.headers, "Retry-After"), "1");
  }
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write"), 401);       // no token is no guess
  EXPECT_EQ(f.status(Method::kGet, "/api/v1/read", right), 200);  // no token is needed
  EXPECT_EQ(f.writes, 0);
  f.clock.advance_ms(1'000);
  EXPECT_EQ(f.status(Method::kPost, "/api/v1/write", right), 200);
  // Ten minutes of guessing.
  int guesses = 0;
  for (int ms = 0; ms < 600'000; ms += 500, f.clock.advance_ms(500))
    if (f.status(Method::kPost, "/api/v1/write", wrong) == 401) ++guesses;
  EXPECT_LT(guesses, 620);
}

// Beyond loopback, and not for others.
TEST(Auth, GuessingHoldsUpNobodyElse) {
  TempDir dir;
  const auto tokens = Tokens::open(dir.path());
  ASSERT_TRUE(tokens) << tokens.error().message;
  ManualClock clock{0};
  Gate gate(**tokens, clock, {});
  Route route;
  route.method = Method::kPost;
  route.scope = Scope::kWrite;
  const auto secret = read_file(dir.path() / "token", 100);
  ASSERT_TRUE(secret);
  const auto status = [&](std::string_view address, std::string_view token) {
    http::Request request;
    request.method = Method::kPost;
    request.peer_group = http::peer_group(address).value();
    request.headers = bearer(std::string(token));
    const auto refused = gate.check(request, route);
    return refused ? refused->status : 200;
  };
  const std::string right(as_text(*secret).substr(0, 64)), wrong(64, '0');
  int guesses = 0;
  for (int s = 0; s < 3'600; ++s, clock.advance_ms(1'000))
    for (int i = 0; i < 5; ++i)  // from all of a /64
      if (status(fmt::format("2001:db8:1:2::{:x}", s * 5 + i), wrong) == 401) ++guesses;
  EXPECT_LT(guesses, 100);
  EXPECT_GT(guesses, 50);
  EXPECT_EQ(status("2001:db8:1:2::7", right), 429);
  EXPECT_EQ(status("2001:db8:1:3::7", right), 200);
  EXPECT_EQ(status("192.0.2.7", right), 200);
  // Whoever has many addresses does not make the table forget one that guesses now.
  for (int i = 0; i < 20'000; ++i) {
    (void)status(fmt::format("10.{}.{}.1", i / 256, i % 256), wrong);
    if (i % 1'000 == 0) (void)status("192.0.2.9", wrong);
  }
  EXPECT_EQ(status("192.0.2.9", right), 429);
  clock.advance_ms(60'000);
  EXPECT_EQ(status("192.0.2.9", right), 200);
}

// A guess is a guess, whoever judges it.
TEST(Auth, GuessesAtAnOwnScopeCountAsWell) {
  OwnScope f;
  const auto wrong = bearer(std::string(64, 'e'));
  for (int i = 0; i < 40; ++i)  // without a credential nothing is guessed
    EXPECT_EQ(f.call(i % 2 == 0 ? Method::kGet : Method::kPost, "/api/v1/own").status, 401);
  for (int i = 0; i < Failures::kFree - 1; ++i)
    EXPECT_EQ(f.call(i % 2 == 0 ? Method::kGet : Method::kPost, "/api/v1/own", wrong).status, 401);
  EXPECT_EQ(f.get("/api/v1/own/events", wrong).status, 401);
  EXPECT_EQ(f.get("/api/v1/own", wrong).status, 401);
  EXPECT_EQ(f.get("/api/v1/own", wrong).status, 429);
  EXPECT_EQ(f.get("/api/v1/own/events", wrong).status, 429);
  EXPECT_EQ(f.get("/api/v1/own", bearer(f.token())).status, 429);
  EXPECT_EQ(f.get("/api/v1/own", {{"X-Key", "good"}}).status, 200);
  f.clock.advance_ms(2'000);
  EXPECT_EQ(f.get("/api/v1/own", bearer(f.token())).status, 200);
}

}  // namespace
}  // namespace coffer::api
