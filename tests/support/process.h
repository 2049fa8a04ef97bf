// Runs programs for tests: start, wait, kill, capture.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace coffer::test {

struct Finished {
  int exit_code = -1;  // -1 when a signal ended it
  std::string out, err;
};

// A child process with its output in files. Killed when its owner goes.
class Process {
 public:
  explicit Process(std::vector<std::string> arguments, std::vector<std::string> environment = {});
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void kill(int signal);
  // Waits for the end, at most so long; kills it then. Nothing on a timeout.
  std::optional<Finished> wait(int timeout_ms = 120'000);
  bool running();
  std::string out() const;
  std::string err() const;
  // Waits until stdout contains the text; false if the process ended or the time is over.
  bool wait_for_output(const std::string& text, int timeout_ms = 30'000);

 private:
  pid_t pid_ = -1;
  int status_ = 0;
  bool ended_ = false;
  std::string out_file_, err_file_;
};

// The program under test.
std::string coffer();
// It refused: this exit code, nothing on stdout, and one line on stderr that begins with the
// program's name and holds the text.
void expect_refusal(const Finished& end, int exit_code, const std::string& text);
// Runs it to its end.
Finished run(std::vector<std::string> arguments, std::vector<std::string> environment = {});

// A TCP port on loopback that nobody listens on now.
int free_port();

// COFFER_LONG is set: the long versions of the campaigns.
bool long_run();

}  // namespace coffer::test
