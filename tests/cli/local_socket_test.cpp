// The commands beside a daemon reach it through the socket in its data directory, and nobody else.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <mutex>

#include "base/temp_dir.h"
#include "http/test_certificate.h"
#include "support/daemon.h"
#include "support/socket_server.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;
using test::Daemon;
using test::expect_refusal;
using test::Finished;
using test::run;

class CommandsBesideADaemon : public testing::Test {
 protected:
  std::string data() const { return (dir_.path() / "data").string(); }
  void make_chain(const std::string& directory) const {
    const Finished made = run({"sync", "--to", "20", "--data", directory});
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  static int port_of(const std::string& url) {
    return std::atoi(url.substr(url.rfind(':') + 1).c_str());
  }
  TempDir dir_;
};

// Whoever listens on the port that a daemon had, and what it is told.
class Impostor {
 public:
  std::string heard() {
    std::lock_guard lock(mutex_);
    return heard_;
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  std::size_t accepted() const { return server_.accepted(); }

 private:
  std::mutex mutex_;
  std::string heard_;
  test::SocketServer server_{[this](test::Stream& stream) {
    std::string request;
    while (request.find("\r\n\r\n") == std::string::npos)
      if (!stream.read_some(request)) return;
    std::lock_guard lock(mutex_);
    heard_ += request;
    stream.write_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  }};
};

// Its port belongs to somebody else now, and its process id, too.
TEST_F(CommandsBesideADaemon, ImpostorOnTheDeadDaemonsPortHearsNothing) {
  ASSERT_NO_FATAL_FAILURE(make_chain(data()));
  {
    Daemon daemon(data(), {"--source", "devnet"});
    daemon.process().kill(SIGKILL);
    ASSERT_TRUE(daemon.process().wait());
  }
  Impostor impostor;
  // What earlier versions left in the directory, and believed.
  std::ofstream(fs::path(data()) / "coffer.run")
      << "{\"pid\":" << ::getpid() << ",\"url\":\"" << impostor.url() << "\"}\n";
  const std::string tx(64, '0');
  EXPECT_NE(run({"status", "--data", data()}).out.find(", not running"), std::string::npos);
  expect_refusal(run({"status", "--check", "--data", data()}), 3, "no coffer is running");
  const std::string copy = (dir_.path() / "copy").string();
  EXPECT_EQ(run({"utxo", "snapshot", copy, "--data", data()}).exit_code, 0);
  (void)run({"tx", "prune", "--data", data()});
  (void)run({"tx", "freeze", tx + "#0", "--data", data()});
  (void)run({"tx", "rebuild", "--yes", "--data", data()});
  ASSERT_EQ(run({"wallet", "create", "shop", "--data", data()}).exit_code, 0);
  (void)run({"wallet", "rescan", "shop", "--data", data()});
  EXPECT_EQ(impostor.heard(), "");
  EXPECT_EQ(impostor.accepted(), 0u);
}

// A certificate for a name that the machine itself cannot check.
TEST_F(CommandsBesideADaemon, ReachADaemonWithTls) {
  const auto files = http::make_certificate(dir_.path(), "coffer.example", "DNS:coffer.example");
  const std::string config = (dir_.path() / "coffer.toml").string();
  std::ofstream(config) << "[http.tls]\ncert = " << files.cert << "\nkey = " << files.key << "\n";
  ASSERT_NO_FATAL_FAILURE(make_chain(data()));
  Daemon daemon(data(), {"--source", "devnet", "--config", config});
  EXPECT_TRUE(daemon.url().starts_with("https://")) << daemon.url();
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--config", config}}) {
    std::vector<std::string> status = {"status", "--data", data()};
    status.insert(status.end(), more.begin(), more.end());
    const Finished end = run(status);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    EXPECT_NE(end.out.find("running for"), std::string::npos) << end.out;
  }
  const Finished copied =
      run({"utxo", "snapshot", (dir_.path() / "copy").string(), "--data", data()});
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(CommandsBesideADaemon, SocketOfAKilledDaemonIsReplacedAndOneThatStopsRemovesIt) {
  const fs::path socket = fs::path(data()) / "coffer.sock";
  ASSERT_NO_FATAL_FAILURE(make_chain(data()));
  {
    Daemon killed(data(), {"--source", "devnet"});
    killed.process().kill(SIGKILL);
    ASSERT_TRUE(killed.process().wait());
  }
  EXPECT_TRUE(fs::exists(socket));
  EXPECT_NE(run({"status", "--data", data()}).out.find(", not running"), std::string::npos);
  Daemon daemon(data(), {"--source", "devnet"});
  struct stat status;
  ASSERT_EQ(::stat(socket.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0600u);
  EXPECT_NE(run({"status", "--data", data()}).out.find("running for"), std::string::npos);
  // A second one is refused, and leaves the first one's socket alone.
  EXPECT_EQ(
      run({"serve", "--source", "devnet", "--listen", "127.0.0.1:0", "--data", data()}).exit_code,
      3);
  EXPECT_NE(run({"status", "--data", data()}).out.find("running for"), std::string::npos);
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_FALSE(fs::exists(socket));
}

// The address of a socket has 108 bytes.
TEST_F(CommandsBesideADaemon, DataDirectoryMayHaveALongPath) {
  const std::string deep = (dir_.path() / std::string(120, 'd') / std::string(120, 'e')).string();
  fs::create_directories(deep);
  ASSERT_NO_FATAL_FAILURE(make_chain(deep));
  Daemon daemon(deep, {"--source", "devnet"});
  EXPECT_NE(run({"status", "--data", deep}).out.find("running for"), std::string::npos);
  EXPECT_EQ(daemon.stop(), 0);
}

}  // namespace
}  // namespace coffer
