// Words of a shell's command line, for commands that a person is told to type.
#pragma once

#include <string>
#include <string_view>

namespace coffer {

// The text as one word, as a POSIX shell reads it: as it is if nothing in it is special, else in
// single quotes. Thread-safe.
std::string shell_word(std::string_view text);

}  // namespace coffer
