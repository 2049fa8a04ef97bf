// The table of settings. From it come reading the file, the environment and the flags, the help
// text and the documentation. A setting of the program is a member in config.h and a row in
// keys.cpp; an engine declares its own.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/config.h"

namespace coffer::config {

// Where a value lives in a Config; which alternative it is gives the type of the key.
using Slot = std::variant<std::string*, bool*, std::optional<bool>*, std::uint64_t*,
                          std::optional<std::uint64_t>*, std::vector<std::string>*>;

struct Key {
  std::string_view name;  // as in the file: "http.tls.cert", "utxo.pruneDepth"
  Slot (*slot)(Config&);
  std::string_view help;
  // Bounds of numbers. TOML's integers end at 2^63 - 1.
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::int64_t>::max();
  // Text: one of these, if there are any; or else what `accepts` takes.
  std::vector<std::string_view> choices = {};
  bool (*accepts)(std::string_view) = nullptr;
  std::string_view expects = "text";  // what `accepts` takes, in words
  bool secret = false;                // its value is never shown
  std::string_view short_flag = {};   // a second, shorter flag
};

// What several settings must be together. Errors: kUsage naming them.
using Check = Result<> (*)(const Config&);

// Adds the settings of an engine, once, before anything is read. Not thread-safe.
void declare(std::span<const Key> keys, Check check = nullptr);
// Those of the program and of the engines, in the order of the help text. Thread-safe.
std::span<const Key> config_keys();
Result<> check_together(const Config& config);
const Key* find_key(std::string_view name);

// One rule for both: the key is cut into words at dots, underscores and before capitals. The
// variable is COFFER_ and the words in capitals joined by _; the flag is -- and the words in small
// letters joined by -. http.tls.cert: COFFER_HTTP_TLS_CERT, --http-tls-cert; utxo.pruneDepth:
// COFFER_UTXO_PRUNE_DEPTH, …
std::string variable_name(std::string_view key);
std::string flag_name(std::string_view key);

// True for a switch that may stand without a value on the command line.
bool is_switch(const Key& key);
// What the key takes, in words: "a whole number from 1 to 64".
std::string expectation(const Key& key);
// The default as it would stand in the file; empty if there is none.
std::string default_text(const Key& key);

// The value as it would stand in the file; empty if there is none, or if it is secret and was set.
std::string value_text(const Key& key, const Config& config);

// Every key with its value in `config`, where that comes from, its meaning, variable and flags, for
// a terminal. Values of secret keys that were set are not shown.
std::string config_help(const Config& config = {});
// The same as JSON: {"settings": [{"key", "value", "origin", …}]}.
std::string config_json(const Config& config);
// The same without values, for docs/.
std::string config_markdown();

}  // namespace coffer::config
