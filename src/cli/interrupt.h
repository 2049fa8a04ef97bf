// Ctrl-C in a command that works in steps: the first asks it to end in order after the step, the
// second ends it at once.
#pragma once

namespace coffer::cli {

// While it lives, SIGINT and SIGTERM only ask. One at a time.
class CatchInterrupts {
 public:
  CatchInterrupts();
  ~CatchInterrupts();
  CatchInterrupts(const CatchInterrupts&) = delete;
  CatchInterrupts& operator=(const CatchInterrupts&) = delete;
};

// Whether the command was asked to end. Thread-safe.
bool is_interrupted();

}  // namespace coffer::cli
