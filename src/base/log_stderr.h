// The sink of the program: a line for each event on standard error,
//   2026-01-31T12:00:00.123Z info block applied number=17 txs=3
// or one JSON object a line.
#pragma once

#include <coffer/base/log.h>
#include "base/result.h"

namespace coffer::log {

enum class Format { kText, kJson };

// Before threads start.
void write_to_stderr(Level level, Format format);
Result<Level> parse_level(std::string_view name);

// What stands on the line after time and level.
std::string render(Format format, std::string_view event, std::span<const Field> fields);

}  // namespace coffer::log
