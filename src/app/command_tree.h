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
// coffer wallet …
void add_wallet_commands(CLI::App& app, Parsed& parsed);
// coffer db …
void add_db_commands(CLI::App& app, Parsed& parsed);

// For the files that declare them: one with its settings and examples, which are lines that begin
// with two blanks.
CLI::App* add_wallet_command(CLI::App& parent, Parsed& parsed, const char* name, const char* help,
                             std::string_view lines, std::function<Result<>(const Context&)> action,
                             const std::vector<std::string_view>& more_settings = {});
inline void add_wallet_name(CLI::App& command, std::string& to) {
  command.add_option("wallet", to, "the wallet's name")->required();
}
// Those that change what a wallet knows of transactions and coins (wallet_change_line.cpp).
void add_wallet_changes(CLI::App& wallet, Parsed& parsed);

}  // namespace coffer::app
