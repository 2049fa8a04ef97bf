// Commands of the shell for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/shell.h"

namespace coffer::test {

// Whether the command succeeded.
inline bool shell(const std::string& command) {
  return std::system(command.c_str()) == 0;
}

// Unpacks an archive of any compression into a directory; with a pattern only what it matches.
inline bool extract(const std::filesystem::path& archive, const std::filesystem::path& directory,
                    const std::string& pattern = "") {
  const std::string only = pattern.empty() ? "" : " --wildcards " + shell_word(pattern);
  return shell("tar -C " + shell_word(directory.string()) + " -xf " + shell_word(archive.string()) +
               only);
}

}  // namespace coffer::test
