// Everything that a community has, as lines of CSV or JSON, as it was at one moment.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "token/community.h"

namespace coffer::token {

enum class ExportFormat : std::uint8_t {
  kCsv,        // RFC 4180; each table begins with the names of its columns
  kJsonLines,  // an object in each line; amounts are texts, bytes are hex
};

// Takes some whole lines of a table, all of one table before the next. An error of it ends the
// export and is returned.
using ExportSink = std::function<Result<>(std::string_view table, std::string_view lines)>;

struct ExportedTable {
  std::string name;
  std::uint64_t rows = 0;
};

// Users, system accounts, wallets, limits, transactions with details and reversals, entries, holds,
// identities, roles, keys (without what finds their secrets), events, audit, settings and the log.
// In one snapshot that hinders no writer, and in bounded memory. Texts in CSV that a spreadsheet
// would take for a formula begin with an apostrophe. Thread-safe. Errors: the sink's.
Result<std::vector<ExportedTable>> export_all(const Community& community, ExportFormat format,
                                              const ExportSink& sink);

}  // namespace coffer::token
