// Transfers over HTTP for `coffer bench token`: the routes, the writers of the log and all else
// that a real server has, asked by clients on this machine.
#pragma once

#include <filesystem>

#include "token/commands/bench_ledgers.h"
#include "token/settings.h"

namespace coffer::token {

// The settings of a server with this one community. `database` is PostgreSQL, or empty for a file
// of SQLite in `data_dir`.
config::Config served_config(const std::filesystem::path& data_dir, const std::string& database,
                             const std::string& community);

// Single transfers a second between any two wallets; each client has a connection that stays open.
// Errors: those of the server; kUnavailable if a request was refused.
Result<double> served_rate(const config::Config& config, const BenchCommunity& ours,
                           std::size_t clients, double seconds);

}  // namespace coffer::token
