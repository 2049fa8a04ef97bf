#include "http/local_socket.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "base/temp_dir.h"
#include "http/client.h"
#include "http/test_certificate.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

namespace fs = std::filesystem;

class LocalSocket : public testing::Test {
 protected:
  fs::path path() const { return dir_.path() / "x.sock"; }
  // An answer, or the code of the error.
  std::string ask(const fs::path& socket, const std::string& target = "/query") const {
    const auto answer = get("http://localhost" + target,
                            {.headers = {}, .body = {}, .ca_file = {}, .local_socket = socket});
    return answer ? std::string(answer->content()) : std::string(info(answer.error().code).name);
  }
  std::unique_ptr<Server> serve_local(const fs::path& socket, Options options = any_port()) {
    options.local_socket = socket;
    return serve(std::move(options));
  }
  TempDir dir_;
};

TEST_F(LocalSocket, AnswersAsThePortDoes) {
  const auto server = serve_local(path());
  ASSERT_TRUE(server);
  EXPECT_EQ(ask(path()), "none loopback");
  EXPECT_EQ(ask(path(), "/hello/you"), "hello you");
  EXPECT_EQ(get(server->url() + "/hello/you").value().content(), "hello you");
}

TEST_F(LocalSocket, OnlyTheOwnerMayConnectAndStopRemovesIt) {
  auto server = serve_local(path());
  ASSERT_TRUE(server);
  struct stat status;
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  server->stop(std::chrono::seconds(5));
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_EQ(ask(path()), "not_found");
  EXPECT_EQ(ask(dir_.path() / "no" / "such" / "directory"), "not_found");
}

TEST_F(LocalSocket, SpeaksPlainHttpBesideTls) {
  Options options = any_port();
  options.tls = make_certificate(dir_.path(), "coffer.example", "DNS:coffer.example");
  const auto server = serve_local(path(), options);
  ASSERT_TRUE(server);
  EXPECT_EQ(ask(path()), "none loopback");
}

TEST_F(LocalSocket, OneOfAKilledProcessIsReplaced) {
  const int listener = listen_local(path()).value();
  ::close(listener);  // as a kill leaves it: the file stays
  ASSERT_TRUE(fs::exists(path()));
  EXPECT_EQ(ask(path()), "not_found");
  const auto server = serve_local(path());
  ASSERT_TRUE(server);
  EXPECT_EQ(ask(path()), "none loopback");
}

TEST_F(LocalSocket, WhatIsNoSocketIsNotReplaced) {
  std::ofstream(path()) << "mine";
  EXPECT_EQ(listen_local(path()).error().code, Code::kConflict);
  EXPECT_EQ(fs::file_size(path()), 4u);
}

// The address of a socket has 108 bytes.
TEST_F(LocalSocket, LongPathsWork) {
  const fs::path deep = dir_.path() / std::string(200, 'a') / std::string(200, 'b');
  fs::create_directories(deep);
  const auto server = serve_local(deep / "x.sock");
  ASSERT_TRUE(server);
  EXPECT_EQ(ask(deep / "x.sock"), "none loopback");
}

// Connections over TCP cannot shut it out.
TEST_F(LocalSocket, AnswersWhileThePortIsFull) {
  Options options = any_port();
  options.limits.connections = 2;
  const auto server = serve_local(path(), options);
  ASSERT_TRUE(server);
  const RawClient first(server->address()), second(server->address());
  ASSERT_TRUE(eventually([&] { return server->counts().connections >= 2; }));
  EXPECT_EQ(ask(path()), "none loopback");
}

// In a directory where others may make files, somebody else's socket gets nothing.
TEST_F(LocalSocket, AnotherUsersProcessIsNotAsked) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be another user";
  fs::permissions(dir_.path(), fs::perms::all);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool is_other = ::setgid(65534) == 0 && ::setuid(65534) == 0;
    const auto listener = listen_local(path());
    const char word = is_other && listener ? 'y' : 'n';
    (void)!::write(ready[1], &word, 1);
    // Holds what it would be told, until the parent closes its end.
    ::close(ready[1]);
    ::pause();
    ::_exit(0);
  }
  char word = 0;
  ASSERT_EQ(::read(ready[0], &word, 1), 1);
  EXPECT_EQ(word, 'y');
  EXPECT_EQ(ask(path()), "forbidden");
  EXPECT_EQ(connect_local(path()).error().code, Code::kForbidden);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
}

}  // namespace
}  // namespace coffer::http
