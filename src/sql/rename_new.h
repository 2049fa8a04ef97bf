// Giving a finished file its name.
#pragma once

#include <filesystem>

#include "base/result.h"

namespace coffer::sql {

// Renames, and never overwrites: of two that do it at once one succeeds. Both names are in one
// directory. Thread-safe. Errors: kConflict if there is such a name, kUnavailable, kNotFound.
Result<> rename_to_new(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace coffer::sql
