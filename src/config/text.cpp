// What follows from the table of keys: names, descriptions, help and documentation.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "config/keys.h"

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

// Single-character edits that turn one text into the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
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

std::optional<std::string> nearest(std::string_view wrong,
                                   std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 64;  // the cost is quadratic; no key is longer
  if (wrong.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = wrong.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    // People leave the section out: "listen" is nearer to "http.listen" than its letters say.
    const std::string_view last = std::string_view(candidate).substr(candidate.rfind('.') + 1);
    const std::size_t edits = std::min(distance(wrong, candidate), distance(wrong, last) + 1);
    if (edits < best_distance) best = candidate, best_distance = edits;
  }
  return best;
}

std::string config_help() {
  std::string text;
  for (const Key& key : config_keys()) {
    const std::string value = default_text(key);
    text += fmt::format("{}{}\n    {}\n    Takes {}. {}, {}\n", key.name,
                        value.empty() ? "" : " = " + value, key.help, expectation(key),
                        variable_name(key.name), flags_text(key));
  }
  return text;
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
