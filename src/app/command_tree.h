// What the files that declare commands share: flags from the table of keys, and the action to run.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "app/command.h"

namespace coffer::app {

// What the command line said, before it is a Config.
struct Parsed {
  std::string config_file;
  std::map<std::string, std::string> values;  // by key; filled by CLI11
  bool json = false;
  std::function<Result<>(const Context&)> action;
};

// The settings that belong to a command: all whose key starts with one of the prefixes; --config
// and --json besides.
void add_settings(CLI::App& command, Parsed& parsed, const std::vector<std::string_view>& prefixes);

// What a command needs to find a store.
inline const std::vector<std::string_view> kStoreOnly = {"data_dir", "log.", "http.tls."};

// coffer utxo …
void add_utxo_commands(CLI::App& app, Parsed& parsed);
// coffer db …
void add_db_commands(CLI::App& app, Parsed& parsed);

}  // namespace coffer::app
