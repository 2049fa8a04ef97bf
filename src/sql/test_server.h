// Starts a server for tests: as an unprivileged user when run by root, ended with the test program,
// however that ends.
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/check.h"

namespace coffer::sql::test {

// Who servers run as.
struct ServerUser {
  uid_t uid = ::getuid();
  gid_t gid = ::getgid();

  ServerUser() {
    if (::getuid() != 0) return;
    const passwd* entry = ::getpwnam("postgres");
    if (entry == nullptr) entry = ::getpwnam("nobody");
    CHECK(entry != nullptr);
    uid = entry->pw_uid;
    gid = entry->pw_gid;
  }
  void give(const std::filesystem::path& path) const {
    CHECK(::lchown(path.c_str(), uid, gid) == 0);
  }
  void give_all(const std::filesystem::path& path) const {
    give(path);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
      give(entry.path());
  }
};

class ServerProcess {
 public:
  ServerProcess(std::vector<std::string> arguments, const std::filesystem::path& log,
                int death_signal) {
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const ServerUser user;
    const std::string log_name = log.string();
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ != 0) return;
    // Only what is safe between fork and exec.
    const int out = ::open(log_name.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    ::dup2(out, 1);
    ::dup2(out, 2);
    if (::getuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setgid(user.gid) != 0 || ::setuid(user.uid) != 0))
      ::_exit(126);
    ::prctl(PR_SET_PDEATHSIG, death_signal);
    ::setsid();
    if (::chdir("/") != 0) ::_exit(126);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess() { stop(SIGKILL); }

  pid_t pid() const { return pid_; }
  // Sends the signal and waits for the end. The exit code, or -1.
  int stop(int signal) {
    if (pid_ <= 0) return -1;
    ::kill(pid_, signal);
    return wait();
  }
  int wait() {
    int status = 0;
    CHECK(::waitpid(pid_, &status, 0) == pid_);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace coffer::sql::test
