#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include <coffer/base/bytes.h>
#include <coffer/base/clock.h>
#include <coffer/base/strong.h>
#include "base/file.h"
#include "base/log_stderr.h"
#include "base/queue.h"
#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"

namespace coffer {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return fail(Code::kInvalidInput, "{} is odd", n);
  return n / 2;
}
Result<int> quarter(int n) {
  int h = TRY_IN("first half", half(n));
  return TRY(half(h));
}

TEST(Result, TryPassesValuesAndErrors) {
  EXPECT_EQ(quarter(8).value(), 2);
  auto odd = quarter(7);
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().code, Code::kInvalidInput);
  EXPECT_EQ(odd.error().message, "first half: 7 is odd");
  EXPECT_EQ(quarter(6).error().message, "3 is odd");
}

TEST(Result, TryMovesMoveOnlyValues) {
  auto make = []() -> Result<std::unique_ptr<int>> { return std::make_unique<int>(3); };
  auto use = [&]() -> Result<int> {
    std::unique_ptr<int> p = TRY(make());
    return *p;
  };
  EXPECT_EQ(use().value(), 3);
}

TEST(Error, EveryCodeHasItsRow) {
  for (int code = 0; code <= static_cast<int>(Code::kCancelled); ++code) {
    const CodeInfo& row = info(static_cast<Code>(code));
    EXPECT_FALSE(row.name.empty());
    EXPECT_GE(row.http_status, 400);
    EXPECT_GE(row.exit_code, 1);
  }
  EXPECT_EQ(info(Code::kUsage).exit_code, 2);
  EXPECT_EQ(info(Code::kUnavailable).exit_code, 3);
  EXPECT_EQ(info(Code::kConflict).exit_code, 1);
}

TEST(Bytes, HexRoundTripAndPosition) {
  Bytes all(256);
  for (int i = 0; i < 256; ++i) all[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(from_hex(to_hex(all)).value(), all);
  EXPECT_EQ(from_hex("AbCd").value(), (Bytes{0xab, 0xcd}));
  EXPECT_EQ(from_hex("00zz").error().message, "not a hex digit at character 2");
  EXPECT_FALSE(from_hex("abc"));
}

TEST(Bytes, Integers) {
  Bytes out;
  append_le<std::uint32_t>(out, 0x01020304);
  append_be64(out, 0x0102030405060708);
  EXPECT_EQ(to_hex(out), "040302010102030405060708");
  EXPECT_EQ(load_be64(out.data() + 4), 0x0102030405060708u);
}

TEST(Bytes, ConstantTimeEqual) {
  EXPECT_TRUE(equal_constant_time(as_bytes("abc"), as_bytes("abc")));
  EXPECT_FALSE(equal_constant_time(as_bytes("abc"), as_bytes("abd")));
  EXPECT_FALSE(equal_constant_time(as_bytes("abc"), as_bytes("abcd")));
}

TEST(Strong, AddRefusesOverflow) {
  EXPECT_EQ(add(Amount(1), Amount(2))->value, 3u);
  EXPECT_FALSE(add(Amount(~0ull), Amount(1)));
  EXPECT_EQ(Ordinal(5).minus(7).value, 0u);
}

TEST(Rng, SameSeedSameNumbersEverywhere) {
  Rng a(42), b(42), c(43);
  EXPECT_EQ(a(), b());
  EXPECT_NE(a(), c());
  Rng known(1);
  EXPECT_EQ(known(), 12966619160104079557ull);  // xoshiro256** seeded by splitmix64(1)
  for (int i = 0; i < 1000; ++i) EXPECT_LT(known.below(7), 7u);
}

TEST(Clock, ManualMovesAndSkews) {
  ManualClock clock(1000);
  clock.advance_ms(5);
  clock.skew_ms(-500);
  EXPECT_EQ(clock.unix_ms(), 505);
  EXPECT_EQ(clock.steady_ms(), 5);
  EXPECT_GT(system_clock().unix_ms(), 1'600'000'000'000);
}

TEST(Log, RendersTextAndJson) {
  const auto text = [](std::string_view event, log::Fields fields) {
    return log::render(log::Format::kText, event, std::span(fields.begin(), fields.size()));
  };
  EXPECT_EQ(text("block applied", {{"number", 17}, {"path", "a b"}, {"ok", true}, {"name", "x"}}),
            "block applied number=17 path=\"a b\" ok=true name=x");
  EXPECT_EQ(text("e", {{"k", "a\nforged=1"}}), "e k=\"a\\nforged=1\"");
  EXPECT_EQ(text("e", {{"seconds", 0.25}, {"none", std::optional<int>()}}),
            "e seconds=0.25 none=null");
  const log::Field field("k", "a\nb");
  EXPECT_EQ(log::render(log::Format::kJson, "e\"v", std::span(&field, 1)),
            "\"event\":\"e\\\"v\",\"k\":\"a\\nb\"");
  EXPECT_FALSE(log::parse_level("loud"));
}

TEST(Log, GoesOnlyToTheSinkOfTheProgram) {
  EXPECT_FALSE(log::enabled(log::Level::kError));
  log::error("nobody hears this");
  std::vector<std::string> seen;
  log::set_sink(log::Level::kWarn, [&](log::Level, std::string_view event, const auto& fields) {
    seen.push_back(std::string(event) + "/" + std::string(fields[0].value));
  });
  log::info("too low", {{"n", 1}});
  log::warn("disk is slow", {{"n", 2}});
  log::set_sink(log::Level::kTrace, {});
  log::error("nobody hears this either");
  EXPECT_EQ(seen, std::vector<std::string>{"disk is slow/2"});
}

TEST(File, WritesAtomicallyWithMode) {
  TempDir dir;
  auto path = dir.path() / "secret";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("hello"), {.mode = 0600}));
  EXPECT_EQ(as_text(read_file(path, 100).value()), "hello");
  struct stat status;
  ASSERT_EQ(::stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(read_file(path, 4).error().code, Code::kTooLarge);
  EXPECT_EQ(read_file(dir.path() / "none", 4).error().code, Code::kNotFound);
  EXPECT_FALSE(write_file_atomically(dir.path() / "no" / "dir", as_bytes("x")));
  EXPECT_EQ(make_directory(path).error().code, Code::kUsage);
  EXPECT_TRUE(make_directory(dir.path() / "a" / "b"));
}

// Each writes the whole file or is told that another one is at it; nobody's bytes are mixed.
TEST(File, ConcurrentWritersNeverMix) {
  const TempDir dir;
  const auto path = dir.path() / "f";
  constexpr std::size_t kBytes = 300'000;
  std::atomic<int> written{0};
  std::vector<std::thread> writers;
  for (char letter = 'a'; letter < 'e'; ++letter)
    writers.emplace_back([&, letter] {
      const std::string text(kBytes, letter);
      for (int own = 0; own < 10;) {
        const auto wrote = write_file_atomically(path, as_bytes(text), {.sync = false});
        if (wrote) {
          ++own;
          ++written;
        } else {
          EXPECT_EQ(wrote.error().code, Code::kConflict) << wrote.error().message;
        }
      }
    });
  std::size_t mixed = 0;
  while (written < 40) {
    const auto bytes = read_file(path, kBytes);
    if (!bytes) continue;
    const std::string_view text = as_text(*bytes);
    if (text.size() != kBytes || text.find_first_not_of(text[0]) != std::string_view::npos) ++mixed;
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(mixed, 0u);
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".tmp"));
}

TEST(File, OnlyOneMakesANewName) {
  const TempDir dir;
  EXPECT_TRUE(make_new_directory(dir.path() / "d"));
  EXPECT_EQ(make_new_directory(dir.path() / "d").error().code, Code::kConflict);
  EXPECT_TRUE(make_new_file(dir.path() / "f"));
  EXPECT_EQ(make_new_file(dir.path() / "f").error().code, Code::kConflict);
  EXPECT_EQ(make_new_file(dir.path() / "none" / "f").error().code, Code::kNotFound);
}

TEST(File, PipesAndDevicesAreNoRegularFiles) {
  TempDir dir;
  const auto pipe = dir.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const auto& [path, kind] : {std::pair{pipe, "a pipe"}, std::pair{dir.path(), "a directory"},
                                   std::pair{std::filesystem::path("/dev/zero"), "a device"}}) {
    const auto data = read_file(path, 1u << 30);
    ASSERT_FALSE(data) << path;
    EXPECT_EQ(data.error().code, Code::kInvalidInput);
    EXPECT_NE(data.error().message.find(kind), std::string::npos) << data.error().message;
  }
  std::thread writer([&] { EXPECT_TRUE(write_file_atomically(pipe, as_bytes("through"))); });
  EXPECT_EQ(as_text(read_file_or_pipe(pipe, 100).value()), "through");
  writer.join();
}

TEST(Queue, KeepsOrderAndBoundsAcrossThreads) {
  BoundedQueue<int> queue(4);
  std::thread producer([&] {
    for (int i = 0; i < 1000; ++i) queue.push(i);
    queue.close();
  });
  int expected = 0;
  while (auto item = queue.pop()) {
    EXPECT_LE(queue.size(), 4u);
    EXPECT_EQ(*item, expected++);
  }
  producer.join();
  EXPECT_EQ(expected, 1000);
}

TEST(Queue, CloseWakesAWaitingProducer) {
  BoundedQueue<int> queue(1);
  ASSERT_TRUE(queue.push(1));
  std::thread producer([&] { EXPECT_FALSE(queue.push(2)); });
  queue.abort();
  producer.join();
  EXPECT_FALSE(queue.pop());
}

TEST(Bytes, IsHexTakesWholeBytesOnly) {
  for (const char* text : {"00", "aF", "0123456789abcdefABCDEF"}) EXPECT_TRUE(is_hex(text)) << text;
  for (const char* text : {"", "0", "abc", "0g", " 0", "0x", "g0"})
    EXPECT_FALSE(is_hex(text)) << text;
  EXPECT_TRUE(has_only_hex_digits("abc"));
  EXPECT_TRUE(has_only_hex_digits(""));
  EXPECT_FALSE(has_only_hex_digits("ab c"));
}

TEST(File, ReadAtEndsWhereTheFileDoes) {
  TempDir dir;
  const auto path = dir.path() / "some";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("0123456789")));
  const int fd = open_regular_file(path).value();
  EXPECT_EQ(as_text(read_at(fd, 2, 3).value()), "234");
  EXPECT_EQ(as_text(read_at(fd, 8, 100).value()), "89");
  EXPECT_TRUE(read_at(fd, 10, 1).value().empty());
  ::close(fd);
  EXPECT_FALSE(read_at(-1, 0, 1));
}

}  // namespace
}  // namespace coffer
