#include "config/config.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "base/nearest.h"
#include "base/printable.h"
#include "base/result.h"
#include "config/config_file.h"
#include "config/keys.h"

namespace coffer::config {
namespace {

constexpr std::string_view kFileName = "coffer.toml";
constexpr std::string_view kVariablePrefix = "COFFER_";

// Variables that belong to the tests and scripts.
bool is_foreign_variable(std::string_view name) {
  return name == "COFFER_SHARED" || name == "COFFER_REQUIRE_DATA" || name == "COFFER_LONG" ||
         name == "COFFER_SEED" || name == "COFFER_SEEDS" || name.starts_with("COFFER_TEST_");
}

// A value for an error message: one short line.
std::string text_of(const RawValue& value) {
  struct Show {
    std::string operator()(const std::string& text) const {
      constexpr std::size_t kLongest = 60;
      return fmt::format("\"{}{}\"", printable(text.substr(0, kLongest)),
                         text.size() > kLongest ? "…" : "");
    }
    std::string operator()(std::int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(const std::vector<std::string>&) const { return "a list"; }
    std::string operator()(const OtherValue& other) const { return other.kind; }
  };
  return std::visit(Show{}, value);
}

std::unexpected<Error> wrong_value(const Key& key, const RawValue& value, std::string_view place) {
  return fail(Code::kUsage, "{}: {} is {}; expected {}", place, key.name,
              key.secret ? "not usable (its value is not shown)" : text_of(value),
              expectation(key));
}

// Puts a value into its slot; false if it has the wrong type or is out of bounds.
struct Store {
  const Key& key;
  const RawValue& value;

  bool operator()(std::string* slot) const {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) return false;
    if (!key.choices.empty() && std::ranges::find(key.choices, *text) == key.choices.end())
      return false;
    if (key.accepts != nullptr && !key.accepts(*text)) return false;
    *slot = *text;
    return true;
  }
  bool operator()(bool* slot) const {
    const auto* flag = std::get_if<bool>(&value);
    if (flag != nullptr) *slot = *flag;
    return flag != nullptr;
  }
  bool operator()(std::optional<bool>* slot) const {
    bool flag = false;
    if (!(*this)(&flag)) return false;
    *slot = flag;
    return true;
  }
  bool operator()(std::uint64_t* slot) const {
    const auto* number = std::get_if<std::int64_t>(&value);
    if (number == nullptr || *number < 0) return false;
    const auto unsigned_number = static_cast<std::uint64_t>(*number);
    if (unsigned_number < key.min || unsigned_number > key.max) return false;
    *slot = unsigned_number;
    return true;
  }
  bool operator()(std::optional<std::uint64_t>* slot) const {
    std::uint64_t number = 0;
    if (!(*this)(&number)) return false;
    *slot = number;
    return true;
  }
  bool operator()(std::vector<std::string>* slot) const {
    const auto* list = std::get_if<std::vector<std::string>>(&value);
    if (list != nullptr) *slot = *list;
    return list != nullptr;
  }
};

Result<> store(Config& config, const Key& key, const RawValue& value, const ConfigOrigin& origin) {
  if (!std::visit(Store{key, value}, key.slot(config)))
    return wrong_value(key, value, origin.place);
  config.given.insert_or_assign(std::string(key.name), origin);
  return {};
}

// "a, b" → {"a", "b"}.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

// What a text of the environment or the command line stands for; the text itself if it is not of
// the type.
RawValue from_text(const Key& key, const std::string& text) {
  Config scratch;
  const Slot slot = key.slot(scratch);
  if (std::holds_alternative<std::string*>(slot)) return text;
  if (std::holds_alternative<std::vector<std::string>*>(slot)) return split_list(text);
  if (is_switch(key)) {
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
    return text;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return text;
  return number;
}

std::unexpected<Error> unknown(std::string_view what, std::string_view name,
                               const std::vector<std::string>& known) {
  const auto suggestion = nearest(name, known);
  return fail(Code::kUsage, "{} {}; {}", what, printable(name),
              suggestion ? fmt::format("did you mean {}?", *suggestion)
                         : "`coffer settings` lists them all");
}

std::vector<std::string> key_names() {
  std::vector<std::string> names;
  for (const Key& key : config_keys()) names.emplace_back(key.name);
  return names;
}

bool is_section(std::string_view name) {
  return std::ranges::any_of(config_keys(), [&](const Key& key) {
    return key.name.size() > name.size() && key.name.starts_with(name) &&
           key.name[name.size()] == '.';
  });
}

Result<> apply_file(Config& config, const std::string& path, bool found_in_data_dir) {
  for (const FileEntry& entry : TRY(read_config_file(path))) {
    const std::string place = fmt::format("{}:{}", path, entry.line);
    const Key* key = find_key(entry.key);
    if (key == nullptr) {
      const auto* other = std::get_if<OtherValue>(&entry.value);
      if (other != nullptr && other->kind == "an empty section" && is_section(entry.key)) continue;
      return unknown(place + ": unknown key", entry.key, key_names());
    }
    if (found_in_data_dir && entry.key == "data_dir")
      return fail(Code::kUsage,
                  "{}: data_dir cannot stand in a file that was found in the data directory; use "
                  "--data, or --config with this file",
                  place);
    TRY(store(config, *key, entry.value, {"file", place}));
  }
  config.file = path;
  return {};
}

using Variables = std::map<std::string, std::string, std::less<>>;

// Those that start with COFFER_ and are ours. Errors: one that belongs to no key.
Result<Variables> own_variables(const std::vector<std::string>& environment) {
  std::vector<std::string> known;
  for (const Key& key : config_keys()) known.push_back(variable_name(key.name));
  Variables variables;
  for (const std::string& line : environment) {
    const auto equals = line.find('=');
    const std::string name = line.substr(0, equals);
    if (!name.starts_with(kVariablePrefix) || is_foreign_variable(name)) continue;
    if (std::ranges::find(known, name) == known.end())
      return unknown("unknown variable", name, known);
    variables[name] = equals == std::string::npos ? "" : line.substr(equals + 1);
  }
  return variables;
}

Result<> apply_variables(Config& config, const Variables& variables) {
  for (const Key& key : config_keys()) {
    const auto it = variables.find(variable_name(key.name));
    if (it == variables.end()) continue;
    TRY(store(config, key, from_text(key, it->second), {"variable", it->first}));
  }
  return {};
}

Result<> apply_flags(Config& config, const std::vector<FlagValue>& flags) {
  for (const FlagValue& flag : flags) {
    const Key* key = find_key(flag.key);
    if (key == nullptr) return unknown("unknown key", flag.key, key_names());
    TRY(store(config, *key, from_text(*key, flag.text), {"flag", flag_name(flag.key)}));
  }
  return {};
}

// Rules between settings of the program, then those of the engines.
Result<> check_all(const Config& config) {
  if (config.http.tls.cert.empty() != config.http.tls.key.empty())
    return fail(Code::kUsage, "http.tls.cert and http.tls.key belong together; {} is missing",
                config.http.tls.cert.empty() ? "http.tls.cert" : "http.tls.key");
  return check_together(config);
}

}  // namespace

std::vector<std::string> process_environment() {
  std::vector<std::string> lines;
  for (char** line = environ; line != nullptr && *line != nullptr; ++line)
    lines.emplace_back(*line);
  return lines;
}

Result<Config> load_config(const ConfigSources& sources) {
  const Variables variables = TRY(own_variables(sources.environment));

  // Everything but the file first: it says in which directory to look for one.
  Config without_file;
  TRY(apply_variables(without_file, variables));
  TRY(apply_flags(without_file, sources.flags));

  std::string file = sources.file;
  if (file.empty()) {
    const auto path = std::filesystem::path(without_file.data_dir) / kFileName;
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored)) file = path.string();
  }

  Config config = std::move(without_file);
  if (!file.empty()) {
    config = Config();
    TRY(apply_file(config, file, sources.file.empty()));
    TRY(apply_variables(config, variables));
    TRY(apply_flags(config, sources.flags));
  }
  TRY(check_all(config));
  return config;
}

}  // namespace coffer::config
