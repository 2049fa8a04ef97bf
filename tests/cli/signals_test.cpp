// A daemon on a bad day: signals that nobody meant, and a system that gives nothing more.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "base/temp_dir.h"
#include "support/daemon.h"

namespace coffer {
namespace {

using test::Daemon;
using test::Finished;
using test::Process;

// No signal waits for this process.
bool all_signals_taken(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("ShdPnd:")) return line.find_first_not_of('0', 8) == std::string::npos;
  return false;
}

TEST(DaemonSignals, OnlyStopSignalsStopIt) {
  const TempDir dir;
  Daemon daemon((dir.path() / "data").string(), {"--source", "devnet"});
  for (const int signal : {SIGUSR1, SIGUSR2, SIGPIPE}) {
    daemon.process().kill(signal);
    ASSERT_TRUE(daemon.eventually([&] { return all_signals_taken(daemon.process().pid()); }))
        << signal;
  }
  // Without TLS there is a token file and a log to open again. What came before it was handled.
  daemon.process().kill(SIGHUP);
  ASSERT_TRUE(
      daemon.eventually([&] { return daemon.log().find("reloaded") != std::string::npos; }));
  EXPECT_EQ(daemon.health("live"), 200);
  EXPECT_EQ(daemon.stop(), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// With ever more memory, of which the stack of each thread takes a part: it fails at another place
// each time, until it starts.
TEST(DaemonLimits, TooLittleMemoryOrThreadsIsOneLineAndAnExitCode) {
  const TempDir dir;
  const auto start = [&](int megabytes) {
    return std::vector<std::string>{
        "/bin/sh", "-c",
        fmt::format("ulimit -c 0; ulimit -v {}; exec {} serve --source devnet --listen 127.0.0.1:0 "
                    "--data {} --log-level off",
                    megabytes * 1024, test::coffer(), (dir.path() / "data").string())};
  };
  int failures = 0;
  bool served = false;
  for (int megabytes = 32; !served && megabytes < 4096; megabytes += megabytes / 8) {
    Process process(start(megabytes));
    served = process.wait_for_output("page");
    if (served) break;
    const auto end = process.wait();
    ASSERT_TRUE(end) << megabytes;
    if (end->exit_code == 127) continue;  // not even the loader had enough
    ++failures;
    EXPECT_EQ(end->exit_code, 3) << megabytes << ": " << end->err;
    EXPECT_TRUE(end->err.starts_with("coffer: ")) << megabytes << ": " << end->err;
    EXPECT_EQ(std::ranges::count(end->err, '\n'), 1) << megabytes << ": " << end->err;
  }
  EXPECT_TRUE(served);
  EXPECT_GE(failures, 3);
}
#endif

}  // namespace
}  // namespace coffer
