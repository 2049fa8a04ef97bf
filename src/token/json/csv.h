// Comma-separated values (RFC 4180), for imports and exports.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <coffer/token/store.h>

namespace coffer::token {

inline constexpr std::size_t kMaxImportBytes = 64u << 20;
inline constexpr std::size_t kMaxImportRows = 100'000;

// As a field; quoted where that is needed. A text that a spreadsheet would take for a formula
// begins with an apostrophe.
std::string csv_field(std::string_view text);

// Members: the first line names the columns, in any order: username, balance, issuer, subject,
// user_id. Only username must be there. Thread-safe. Errors: kInvalidInput with "line N: " before
// it; kTooLarge.
Result<std::vector<ImportRow>> parse_import(std::string_view text);

}  // namespace coffer::token
