// Commands of the shell for tests.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace coffer::test {

// As one word of a command, whatever is in it.
inline std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Whether the command succeeded.
inline bool shell(const std::string& command) {
  return std::system(command.c_str()) == 0;
}

// Unpacks an archive of any compression into a directory; with a pattern only what it matches.
inline bool extract(const std::filesystem::path& archive, const std::filesystem::path& directory,
                    const std::string& pattern = "") {
  const std::string only = pattern.empty() ? "" : " --wildcards " + shell_quoted(pattern);
  return shell("tar -C " + shell_quoted(directory.string()) + " -xf " +
               shell_quoted(archive.string()) + only);
}

}  // namespace coffer::test
