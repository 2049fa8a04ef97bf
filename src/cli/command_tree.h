// Runs a program from its commands: reads the command line, prints help, runs the command that was
// typed and reports its error.
#pragma once

#include "cli/command.h"

namespace coffer::cli {

// The exit code: that of the command's error, 2 for a command line that is wrong, or 3 if the
// output could not be written. Prints errors in one line on standard error. A command `help` is
// added to those of the program. Call it once a process, from its main thread.
int run_program(Program program, int argc, char** argv);

}  // namespace coffer::cli
