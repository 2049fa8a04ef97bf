// Commands that change a store: each is a line of the audit log in the data directory, as a change
// over HTTP is.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace coffer::node {

// The same command, which writes its line once it has run, also if it was refused: who ran it, how
// it ended, and the arguments and options of these names. A change whose line cannot be written is
// an error that says so. Where there is no data directory there is no log.
cli::Command audited(cli::Command command, const std::vector<std::string>& shown);
std::vector<cli::Command> audited(std::vector<cli::Command> commands,
                                  const std::vector<std::string>& shown);

}  // namespace coffer::node
