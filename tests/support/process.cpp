#include "support/process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/check.h"

extern char** environ;

namespace coffer::test {
namespace {

std::string temporary_file() {
  std::string name = "/tmp/coffer-test-XXXXXX";
  const int fd = ::mkstemp(name.data());
  CHECK(fd >= 0);
  ::close(fd);
  return name;
}

std::string slurp(const std::string& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

Process::Process(std::vector<std::string> arguments, std::vector<std::string> environment)
    : out_file_(temporary_file()), err_file_(temporary_file()) {
  std::vector<char*> argv, envp;
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  for (char** e = environ; *e != nullptr; ++e) envp.push_back(*e);
  for (auto& variable : environment) envp.push_back(variable.data());
  envp.push_back(nullptr);
  pid_ = ::fork();
  CHECK(pid_ >= 0);
  if (pid_ != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves nothing behind
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(::open("/dev/null", O_RDONLY), 0);
  ::dup2(::open(out_file_.c_str(), O_WRONLY | O_TRUNC), 1);
  ::dup2(::open(err_file_.c_str(), O_WRONLY | O_TRUNC), 2);
  ::execvpe(argv[0], argv.data(), envp.data());
  ::_exit(127);
}

Process::~Process() {
  if (running()) {
    kill(SIGKILL);
    wait();
  }
  ::unlink(out_file_.c_str());
  ::unlink(err_file_.c_str());
}

void Process::kill(int signal) {
  if (!ended_) ::kill(pid_, signal);
}

bool Process::running() {
  if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
  return !ended_;
}

std::optional<Finished> Process::wait(int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (running()) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status_, 0);
      ended_ = true;
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // a child's end is polled for
  }
  return Finished{WIFEXITED(status_) ? WEXITSTATUS(status_) : -1, out(), err()};
}

std::string Process::out() const {
  return slurp(out_file_);
}
std::string Process::err() const {
  return slurp(err_file_);
}

bool Process::wait_for_output(const std::string& text, int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (out().find(text) == std::string::npos) {
    if (!running() || std::chrono::steady_clock::now() > end)
      return out().find(text) != std::string::npos;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // another process's file is polled
  }
  return true;
}

std::string coffer() {
  return COFFER_BINARY;
}

Finished run(std::vector<std::string> arguments, std::vector<std::string> environment) {
  arguments.insert(arguments.begin(), coffer());
  Process process(std::move(arguments), std::move(environment));
  auto finished = process.wait();
  CHECK(finished.has_value());
  return *finished;
}

int free_port() {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  CHECK(::bind(socket, reinterpret_cast<sockaddr*>(&address), length) == 0);
  CHECK(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  ::close(socket);
  return ntohs(address.sin_port);
}

bool long_run() {
  return ::getenv("COFFER_LONG") != nullptr;
}

void expect_refusal(const Finished& end, int exit_code, const std::string& text) {
  EXPECT_EQ(end.exit_code, exit_code) << end.err;
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(end.err.rfind("coffer: ", 0), 0u) << end.err;
  EXPECT_EQ(std::count(end.err.begin(), end.err.end(), '\n'), 1) << end.err;
  EXPECT_NE(end.err.find(text), std::string::npos) << end.err;
}

}  // namespace coffer::test
