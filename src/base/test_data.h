// Where tests find the data that is too large for the repository (the directory "shared/data"
// beside it).
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <string_view>

namespace coffer {

// $COFFER_SHARED/data, or else ../shared/data: tests run in the root of the project. Nothing if
// there is none.
inline std::optional<std::filesystem::path> shared_data() {
  const char* shared = ::getenv("COFFER_SHARED");
  std::filesystem::path path =
      std::filesystem::path(shared != nullptr ? shared : "../shared") / "data";
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::nullopt;
  return path;
}

inline bool shared_data_required() {
  const char* value = ::getenv("COFFER_REQUIRE_DATA");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace coffer

// Declares `variable` as the path of shared/data/`relative`. Without it the test fails if
// COFFER_REQUIRE_DATA=1, and is skipped with a message otherwise. Only in the body of a test.
#define COFFER_REQUIRE_DATA_OR_SKIP(variable, relative)                                       \
  const std::filesystem::path variable =                                                      \
      ::coffer::shared_data().value_or(std::filesystem::path("../shared/data")) / (relative); \
  if (!std::filesystem::exists(variable)) {                                                   \
    if (::coffer::shared_data_required())                                                     \
      FAIL() << variable << " is missing and COFFER_REQUIRE_DATA=1";                          \
    GTEST_SKIP() << variable << " is missing; set COFFER_SHARED to the directory above data"; \
  }                                                                                           \
  static_assert(true, "wants a semicolon")
