#include "cli/interrupt.h"

#include <signal.h>

#include <atomic>

namespace coffer::cli {
namespace {

std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal handler writes it

constexpr int kSignals[] = {SIGINT, SIGTERM};

void handle(int number) {
  asked = true;
  ::signal(number, SIG_DFL);
}

}  // namespace

CatchInterrupts::CatchInterrupts() {
  asked = false;
  for (const int number : kSignals) ::signal(number, handle);
}

CatchInterrupts::~CatchInterrupts() {
  for (const int number : kSignals) ::signal(number, SIG_DFL);
  asked = false;
}

bool is_interrupted() {
  return asked;
}

}  // namespace coffer::cli
