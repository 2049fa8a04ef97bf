// What follows from the table of keys: names, descriptions, help and documentation.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "base/result.h"
#include "config/keys.h"
#include "json/writer.h"

namespace coffer::config {
namespace {

std::vector<std::string> words(std::string_view key) {
  std::vector<std::string> all(1);
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '.' || c == '_') {
      all.emplace_back();
      continue;
    }
    if (std::isupper(byte) && !all.back().empty()) all.emplace_back();
    all.back() += static_cast<char>(std::tolower(byte));
  }
  return all;
}

std::string flags_text(const Key& key) {
  std::string text = flag_name(key.name);
  if (!key.short_flag.empty()) text += fmt::format(", {}", key.short_flag);
  return text;
}

struct ToText {
  std::string operator()(const std::string* text) const {
    return text->empty() ? "" : fmt::format("\"{}\"", *text);
  }
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const std::optional<bool>* value) const {
    return *value ? (*this)(&**value) : "";
  }
  std::string operator()(const std::uint64_t* number) const { return fmt::format("{}", *number); }
  std::string operator()(const std::optional<std::uint64_t>* number) const {
    return *number ? fmt::format("{}", **number) : "";
  }
  std::string operator()(const std::vector<std::string>* list) const {
    return list->empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(*list, "\", \""));
  }
};

// A value of its own type; null for what is not set.
struct ToJson {
  json::Writer& out;

  void operator()(const std::string* text) const { out.value(*text); }
  void operator()(const bool* value) const { out.value(*value); }
  void operator()(const std::uint64_t* number) const { out.value(*number); }
  template <typename T>
  void operator()(const std::optional<T>* value) const {
    *value ? (*this)(&**value) : (void)out.null();
  }
  void operator()(const std::vector<std::string>* list) const {
    out.begin_array();
    for (const std::string& text : *list) out.value(text);
    out.end_array();
  }
};

}  // namespace

std::string variable_name(std::string_view key) {
  std::string name = fmt::format("COFFER_{}", fmt::join(words(key), "_"));
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string flag_name(std::string_view key) {
  return fmt::format("--{}", fmt::join(words(key), "-"));
}

bool is_switch(const Key& key) {
  Config config;
  const Slot slot = key.slot(config);
  return std::holds_alternative<bool*>(slot) || std::holds_alternative<std::optional<bool>*>(slot);
}

std::string expectation(const Key& key) {
  Config config;
  const Slot slot = key.slot(config);
  if (is_switch(key)) return "true or false";
  if (std::holds_alternative<std::vector<std::string>*>(slot)) return "a list of texts";
  if (!std::holds_alternative<std::string*>(slot))
    return fmt::format("a whole number from {} to {}", key.min, key.max);
  if (!key.choices.empty()) return fmt::format("one of {}", fmt::join(key.choices, ", "));
  return std::string(key.expects);
}

std::string default_text(const Key& key) {
  Config config;
  return std::visit(ToText{}, key.slot(config));
}

std::string value_text(const Key& key, const Config& config) {
  if (key.secret && config.is_given(key.name)) return "";
  Config copy = config;
  return std::visit(ToText{}, key.slot(copy));
}

std::string config_help(const Config& config) {
  std::string text;
  for (const Key& key : config_keys()) {
    const auto given = config.given.find(key.name);
    std::string value = value_text(key, config);
    std::string origin = "default";
    if (given != config.given.end()) {
      if (key.secret) value = "not shown";
      const std::string fallback = default_text(key);
      origin = fmt::format("{} {}; default {}", given->second.kind, given->second.place,
                           fallback.empty() ? "none" : fallback);
    }
    text += fmt::format("{}{}  ({})\n    {}\n    Takes {}. {}, {}\n", key.name,
                        value.empty() ? "" : " = " + value, origin, key.help, expectation(key),
                        variable_name(key.name), flags_text(key));
  }
  return text;
}

std::string config_json(const Config& config) {
  json::Writer out;
  out.begin_object().key("settings").begin_array();
  for (const Key& key : config_keys()) {
    const auto given = config.given.find(key.name);
    const bool is_given = given != config.given.end();
    Config copy = config;
    out.begin_object().field("key", key.name).key("value");
    if (key.secret && is_given)
      out.null();
    else
      std::visit(ToJson{out}, key.slot(copy));
    Config defaults;
    out.key("default");
    std::visit(ToJson{out}, key.slot(defaults));
    out.field("origin", is_given ? given->second.kind : "default").key("place");
    is_given ? out.value(given->second.place) : out.null();
    out.field("secret", key.secret).field("variable", variable_name(key.name));
    out.field("flag", flag_name(key.name)).field("help", key.help).end_object();
  }
  return out.end_array().end_object().take();
}

std::string config_markdown() {
  std::string text =
      "| key | default | takes | meaning | variable | flag |\n|---|---|---|---|---|---|\n";
  for (const Key& key : config_keys()) {
    const std::string value = default_text(key);
    text += fmt::format("| `{}` | {} | {} | {} | `{}` | `{}` |\n", key.name,
                        value.empty() ? "" : fmt::format("`{}`", value), expectation(key), key.help,
                        variable_name(key.name), flags_text(key));
  }
  return text;
}

}  // namespace coffer::config
