// The help of a program and its commands, from the same data that reads the command line.
#pragma once

#include <string>

#include "cli/command.h"

namespace coffer::cli {

// `command` is null for the program itself. The settings are listed if `with_settings` is set, and
// only pointed to otherwise. Every line ends with a newline.
std::string render_help(const Program& program, const Command* command, bool with_settings);

}  // namespace coffer::cli
