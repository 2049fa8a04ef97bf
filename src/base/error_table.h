// The table of error codes as docs/errors.md has it.
#pragma once

#include <string>

namespace coffer {

// A Markdown table with a row per code.
std::string errors_markdown();

}  // namespace coffer
