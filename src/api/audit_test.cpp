// The audit log: what is in it, how large it becomes, and who may write it at once.
#include "api/audit.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <boost/json.hpp>

#include "api/guarded_test_util.h"
#include "api/refusals.h"
#include "base/result.h"

namespace coffer::api {
namespace {

using http::Method;

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  const auto bytes = read_file(file, 64u << 20);
  if (!bytes) return lines;
  std::string_view text = as_text(*bytes);
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1))
    lines.emplace_back(text.substr(0, end));
  EXPECT_TRUE(text.empty()) << "a torn line: " << text;
  return lines;
}

// From the oldest file to the newest.
std::vector<std::string> all_lines(const std::filesystem::path& log, int files) {
  std::vector<std::string> all;
  for (int i = files; i >= 0; --i)
    for (std::string& line :
         lines_of(i == 0 ? log.string() : fmt::format("{}.{}", log.string(), i)))
      all.push_back(std::move(line));
  return all;
}

TEST(AuditLog, RotatesBySizeAndKeepsABoundedNumber) {
  const TempDir dir;
  const auto path = dir.path() / "audit.log";
  const auto log = AuditLog::open(path, {.max_bytes = 1'000, .files = 3});
  ASSERT_TRUE(log) << log.error().message;
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE((*log)->append_line(fmt::format(R"({{"line":{}}})", i)));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
    ++files;
    EXPECT_LT(std::filesystem::file_size(entry), 1'020u);
  }
  EXPECT_EQ(files, 3u);
  const auto lines = all_lines(path, 5);
  ASSERT_GT(lines.size(), 100u);  // the newest, each once and in order
  for (std::size_t i = 0; i < lines.size(); ++i)
    EXPECT_EQ(lines[i], fmt::format(R"({{"line":{}}})", 200 - lines.size() + i));
  // With fewer files from now on, those that are too many go.
  const auto fewer = AuditLog::open(path, {.max_bytes = 10, .files = 2});
  ASSERT_TRUE((*fewer)->append_line("{}"));
  EXPECT_FALSE(std::filesystem::exists(path.string() + ".2"));
}

// A crash between two renames leaves a gap; the next rotation goes on over it.
TEST(AuditLog, GapBetweenItsFilesLosesNothing) {
  const TempDir dir;
  const auto path = dir.path() / "audit.log";
  ASSERT_TRUE(write_file_atomically(path, as_bytes("{\"line\":2}\n")));
  ASSERT_TRUE(write_file_atomically(path.string() + ".2", as_bytes("{\"line\":1}\n")));
  const auto log = AuditLog::open(path, {.max_bytes = 10, .files = 8});
  ASSERT_TRUE((*log)->append_line(R"({"line":3})"));
  EXPECT_EQ(all_lines(path, 8),
            (std::vector<std::string>{R"({"line":1})", R"({"line":2})", R"({"line":3})"}));
}

TEST(AuditLog, SeveralProcessesWriteWholeLines) {
  constexpr int kProcesses = 4, kLines = 300;
  const TempDir dir;
  const auto path = dir.path() / "audit.log";
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    const auto log = AuditLog::open(path, {.max_bytes = 4'000, .files = 900});
    for (int i = 0; log && i < kLines; ++i)
      if (!(*log)->append_line(fmt::format(R"({{"process":{},"line":{}}})", process, i)))
        ::_exit(1);
    ::_exit(log ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  std::vector<int> next(kProcesses, 0);
  for (const std::string& line : all_lines(path, 100)) {
    const auto object = boost::json::parse(line);
    int& expected = next.at(object.at("process").to_number<std::size_t>());
    EXPECT_EQ(object.at("line").to_number<int>(), expected++);  // each once, in order
  }
  EXPECT_EQ(next, std::vector<int>(kProcesses, kLines));
}

struct Changing : Fixture {
  Changing() {
    options.more_routes = [](RouteTable& table) {
      table.add({.method = Method::kPost,
                 .pattern = "/api/v1/things/{id}",
                 .summary = "for the test",
                 .scope = Scope::kWrite,
                 .parameters = {{.name = "id", .in = Parameter::In::kPath}},
                 .handler = [](const http::Request&) { return http::json_response("{}"); },
                 .audited = {"amount", "coins"}});
    };
    start();
  }
  int post(const std::string& body, http::Fields headers) const {
    http::ClientOptions client;
    client.headers = std::move(headers);
    client.body = body;
    const auto answer = http::request(Method::kPost, service->url() + "/api/v1/things/7", client);
    return answer ? answer->status : 0;
  }
};

TEST(Audit, AsynchronousWritesAreInIt) {
  Fixture f;
  f.options.more_routes = [](RouteTable& table) {
    table.add({.method = Method::kPost,
               .pattern = "/api/v1/later",
               .summary = "for the test",
               .scope = Scope::kWrite,
               .parameters = {{.name = "fail", .description = "whether it fails"}},
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
  EXPECT_TRUE(http::eventually([&] { return http::count(f.file("audit.log"), "\n") == 3; }));
  const std::string log = f.file("audit.log");
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
  f.status(Method::kPost, "/api/v1/private?secret=1", bearer(f.token()));
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

TEST(Audit, SaysWhatChanged) {
  Changing f;
  EXPECT_EQ(f.post(R"({"amount":"12","passphrase":"hidden","coins":[1,2]})", bearer(f.token())),
            200);
  EXPECT_EQ(f.post("no json", bearer(f.token())), 200);
  EXPECT_EQ(f.post(R"({"amount":")" + std::string(5'000, 'x') + "\"}", bearer(f.token())), 200);
  const auto lines = lines_of(f.dir.path() / "audit.log");
  ASSERT_EQ(lines.size(), 3u);
  const auto first = boost::json::parse(lines[0]);
  EXPECT_EQ(first.at("path").as_string(), "/api/v1/things/7");
  EXPECT_EQ(first.at("change"), boost::json::parse(R"({"amount":"12","coins":[1,2]})"));
  EXPECT_EQ(lines[0].find("hidden"), std::string::npos);
  EXPECT_FALSE(boost::json::parse(lines[1]).as_object().contains("change"));
  EXPECT_LT(lines[2].size(), 1'000u);
}

// 111 MB in 5 seconds, from a web page: a few lines a minute.
TEST(Audit, RefusedRequestsAreSampled) {
  Changing f;
  const std::filesystem::path log = f.dir.path() / "audit.log";
  const auto before = f.get("/metrics").body;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(f.post("{}", {{"Origin", "http://evil.example"}}), 403);
    EXPECT_EQ(f.post("{}", {}), 401);
  }
  EXPECT_TRUE(http::eventually([&] { return lines_of(log).size() == Refusals::kMaxPerMinute; }));
  EXPECT_EQ(f.post("{}", bearer(f.token())), 200);
  EXPECT_EQ(lines_of(log).size(), Refusals::kMaxPerMinute + 1);  // what was done is always there
  f.clock.advance_ms(60'000);
  EXPECT_TRUE(
      http::eventually([&] { return lines_of(log).size() == Refusals::kMaxPerMinute + 2; }));
  EXPECT_NE(lines_of(log).back().find(R"("requests":590)"), std::string::npos);
  const std::string metrics = f.get("/metrics").body;
  for (const char* status : {"401", "403"})
    EXPECT_NE(metrics.find(fmt::format(
                  R"(method="POST",route="/api/v1/things/{{id}}",status="{}"}} 300)", status)),
              std::string::npos)
        << metrics;
}

}  // namespace
}  // namespace coffer::api
