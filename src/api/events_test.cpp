// /api/v1/events over real HTTP: resuming, resets, many clients.
#include "api/events.h"

#include <gtest/gtest.h>

#include "api/test_util.h"
#include "base/result.h"

namespace coffer::api {
namespace {

// A client of the route; waits for what it is told to expect.
struct Listener {
  const Fixture& fixture;
  http::RawClient raw;

  Listener(const Fixture& f, std::string_view query, std::string_view headers = {})
      : fixture(f), raw(f.service->address()) {
    raw.send(http::get_request("/api/v1/events" + std::string(query), headers));
    raw.read_until("retry: ");
  }
  // All that has come once the event with this id has; ids in order, without gap.
  std::string until(std::uint64_t id) {
    const auto event = fixture.events.read(id - 1, 1);
    if (!event || event->empty()) return "no such event";
    return raw.read_until(fmt::format("\nid: {}\nevent: block\n", event_id(event->front())));
  }
};

void expect_blocks(const std::string& text, std::uint64_t first, std::uint64_t last) {
  std::size_t at = 0;
  for (std::uint64_t id = first; id <= last; ++id) {
    at = text.find(fmt::format("\nid: {}-", id), at);
    ASSERT_NE(at, std::string::npos) << id;
  }
  EXPECT_EQ(http::count(text, "event: block\n"), last - first + 1);
}

TEST(Events, WithoutIdOnlyNewEvents) {
  Fixture f;
  f.events.append_blocks(5);
  f.start();
  Listener listener(f, "");
  f.events.append_blocks(2);
  std::string text = listener.until(7);
  expect_blocks(text, 6, 7);
  EXPECT_NE(text.find("Content-Type: text/event-stream"), std::string::npos);
  EXPECT_NE(text.find("id: 5-"), std::string::npos);  // where to resume if it broke here
  f.events.append("rollback", R"({"to":{"number":3}})");
  EXPECT_NE(listener.raw.read_until("number\":3}}\n\n").find("event: rollback\ndata: {\"to\""),
            std::string::npos);
}

TEST(Events, ResumeByHeaderQueryOrCount) {
  Fixture f;
  f.events.append_blocks(1000);
  f.start();
  expect_blocks(Listener(f, "?after=0").until(1000), 1, 1000);
  expect_blocks(Listener(f, "?after=990").until(1000), 991, 1000);
  expect_blocks(Listener(f, "?after=0", "Last-Event-ID: 998\r\n").until(1000), 999, 1000);
  expect_blocks(Listener(f, "?last=3").until(1000), 998, 1000);
  expect_blocks(Listener(f, "?last=5000").until(1000), 1, 1000);
}

TEST(Events, ClientThatReconnectsMissesNothing) {
  Fixture f;
  f.start();
  std::uint64_t seen = 0;
  for (int round = 0; round < 20; ++round) {
    f.events.append_blocks(7);
    Listener listener(f, "", fmt::format("Last-Event-ID: {}\r\n", seen));
    f.events.append_blocks(4);
    expect_blocks(listener.until(seen + 11), seen + 1, seen + 11);
    seen += 11;
  }
}

TEST(Events, UnknownIdsGetAReset) {
  Fixture f(10);  // keeps 10
  f.events.append_blocks(30);
  f.start();
  for (auto query : {"?after=5", "?after=31", "?after=18446744073709551615"}) {
    std::string text = Listener(f, query).until(30);
    EXPECT_NE(text.find("id: 0\nevent: reset\ndata: {\"first\":21,\"last\":30}\n\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(http::count(text, "event: reset"), 1u);
    expect_blocks(text, 21, 30);
  }
  std::string text = Listener(f, "?after=20").until(30);
  EXPECT_EQ(http::count(text, "event: reset"), 0u);
  expect_blocks(text, 21, 30);
}

// What a client has from one replica, another one may know under another number, or not at all.
TEST(Events, IdOfAnotherReplicaGetsAReset) {
  Fixture here, other;
  here.events.append_blocks(8);
  other.events.append_blocks(4);
  other.events.append("rollback", R"({"to":{"number":3}})");
  for (int number = 4; number < 9; ++number)
    other.events.append("block", fmt::format(R"({{"number":{}}})", number));
  here.start();
  other.start();
  const auto id = [](const Fixture& f, std::uint64_t number) {
    return event_id(f.events.read(number - 1, 1).value().front());
  };
  const auto resumed = [&](const Fixture& f, const std::string& from, std::uint64_t last) {
    return Listener(f, "", "Last-Event-ID: " + from + "\r\n").until(last);
  };
  expect_blocks(resumed(here, id(here, 6), 8), 7, 8);
  EXPECT_EQ(id(here, 3), id(other, 3));  // the same event at the same place
  EXPECT_EQ(http::count(resumed(other, id(here, 3), 10), "event: reset"), 0u);
  const std::string moved = resumed(other, id(here, 6), 10);
  EXPECT_EQ(http::count(moved, "event: reset\ndata: {\"first\":1,\"last\":10}"), 1u) << moved;
  EXPECT_EQ(http::count(moved, "event: block\n"), 9u);  // all that it has
  EXPECT_EQ(http::count(resumed(here, id(other, 9), 8), "event: reset"), 1u);
}

TEST(Events, EmptyLogAndAFutureId) {
  Fixture f;
  f.start();
  Listener fresh(f, "?after=0"), future(f, "?after=7");
  EXPECT_NE(future.raw.read_until("event: reset\ndata: {\"first\":1,\"last\":0}\n\n").find("reset"),
            std::string::npos);
  f.events.append_blocks(1);
  expect_blocks(fresh.until(1), 1, 1);
  expect_blocks(future.until(1), 1, 1);
}

TEST(Events, LongHistoryGoesThroughASmallBuffer) {
  Fixture f(20'000);
  for (int i = 0; i < 5000; ++i)
    f.events.append("block", "{\"x\":\"" + std::string(1000, 'y') + "\"}");
  f.options.http.limits.stream_buffer_bytes = 512u << 10;
  f.start();
  expect_blocks(Listener(f, "?after=0").until(5000), 1, 5000);  // 5 MB, though 512 kB is the bound
}

TEST(Events, BadIdsAreRefused) {
  Fixture f;
  f.start();
  for (auto query :
       {"?after=x", "?after=-1", "?after=", "?last=x", "?after=99999999999999999999", "?after=5-",
        "?after=5-12", "?after=5-000000000000000G", "?after=-000000000000000a"})
    EXPECT_EQ(f.get("/api/v1/events" + std::string(query)).status, 400) << query;
  EXPECT_EQ(f.get("/api/v1/events", {{"Last-Event-ID", "abc"}}).status, 400);
}

TEST(Events, SubscribersAreBounded) {
  Fixture f;
  f.options.event_limits.max_subscribers = 100;
  f.start();
  std::vector<std::unique_ptr<Listener>> listeners;
  listeners.reserve(100);
  for (int i = 0; i < 100; ++i) listeners.push_back(std::make_unique<Listener>(f, "?after=0"));
  EXPECT_EQ(f.get("/api/v1/events").status, 503);
  f.events.append_blocks(200);
  for (auto& listener : listeners) expect_blocks(listener->until(200), 1, 200);
  listeners.clear();
  EXPECT_TRUE(http::eventually([&] {
    http::RawClient again(f.service->address());
    again.send(http::get_request("/api/v1/events"));
    return again.read_until("\r\n\r\n").starts_with("HTTP/1.1 200");
  }));
}

TEST(Events, FailingLogEndsTheStream) {
  Fixture f;
  f.start();
  Listener listener(f, "");
  f.events.fail_reads(true);
  f.events.append_blocks(1);
  listener.raw.read_all();
  EXPECT_TRUE(listener.raw.closed_by_server());
  f.events.fail_reads(false);
  expect_blocks(Listener(f, "?after=0").until(1), 1, 1);
}

TEST(Events, StopEndsStreamsWhileEventsCome) {
  Fixture f;
  f.start();
  Listener one(f, "?after=0"), two(f, "?after=0");
  std::atomic<bool> done = false;
  std::thread writer([&] {
    while (!done) f.events.append_blocks(1);
  });
  one.raw.read_until("event: block\n");
  two.raw.read_until("event: block\n");
  f.service->stop();
  done = true;
  writer.join();
  one.raw.read_all();
  two.raw.read_all();
  EXPECT_TRUE(one.raw.closed_by_server() && two.raw.closed_by_server());
}

}  // namespace
}  // namespace coffer::api
