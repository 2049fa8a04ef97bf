// The table of error codes as docs/errors.md has it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <coffer/base/error.h>

namespace coffer {

// The code with this name, as a program or a problem document has it; nothing if there is none.
std::optional<Code> code_named(std::string_view name);

// A Markdown table with a row per code.
std::string errors_markdown();

}  // namespace coffer
