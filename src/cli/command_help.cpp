#include "cli/command_help.h"

#include <algorithm>
#include <cctype>

#include "base/result.h"
#include "cli/table.h"

namespace coffer::cli {
namespace {

constexpr std::size_t kHelpColumns = 100;
constexpr std::size_t kMaxLabel = 30;  // a longer one has its help on the next line

struct HelpRow {
  std::string label, text;
};

// `text` broken at blanks into lines; all but the first begin at column `indent`.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    const std::size_t width = display_width(word);
    if (column > indent && column + 1 + width > kHelpColumns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += " ";
      ++column;
    }
    out += word;
    column += width;
    at = end + 1;
  }
  return out;
}

std::string help_section(const std::string& title, const std::vector<HelpRow>& rows) {
  if (rows.empty()) return "";
  std::size_t label = 0;
  for (const HelpRow& row : rows)
    if (const std::size_t width = display_width(row.label); width <= kMaxLabel)
      label = std::max(label, width);
  const std::size_t indent = 2 + label + 2;
  std::string out = "\n" + title + ":\n";
  for (const HelpRow& row : rows) {
    const std::size_t width = display_width(row.label);
    const std::string gap =
        width <= label ? std::string(label - width + 2, ' ') : "\n" + std::string(indent, ' ');
    out += "  " + row.label + gap + wrapped(row.text, indent) + "\n";
  }
  return out;
}

// In capitals, as everything that stands for a value.
std::string positional_name(const Option& option) {
  std::string name = option.name;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

std::string positional_label(const Option& option) {
  const std::string name = positional_name(option) + (option.kind == Kind::kList ? "…" : "");
  return option.required ? name : "[" + name + "]";
}

HelpRow option_row(const Option& option) {
  HelpRow row{option.is_positional() ? positional_name(option) : option.name, option.help};
  if (!option.is_positional() && option.kind != Kind::kFlag) {
    std::string value = option.kind == Kind::kNumber ? "N" : "TEXT";
    if (!option.choices.empty()) value = fmt::format("{}", fmt::join(option.choices, "|"));
    if (!option.value.empty()) value = option.value;
    row.label += " " + value;
  }
  if (!option.fallback.empty()) row.text += " (default: " + option.fallback + ")";
  if (option.required && !option.is_positional()) row.text += " (required)";
  return row;
}

HelpRow setting_row(const Setting& setting) {
  HelpRow row;
  for (const std::string& flag : setting.flags) row.label += (row.label.empty() ? "" : ", ") + flag;
  if (!setting.is_switch) row.label += " VALUE";
  row.text = setting.help;
  if (!setting.fallback.empty()) row.text += " (default: " + setting.fallback + ")";
  return row;
}

std::string usage_line(const Program& program, const Command* command) {
  if (command == nullptr) return "\nUsage: " + program.name + " COMMAND [OPTIONS]\n";
  std::string text = "\nUsage: " + command_text(program, command->path);
  if (command->is_group()) return text + " COMMAND [OPTIONS]\n";
  for (const Option& option : command->options)
    if (option.is_positional()) text += " " + positional_label(option);
  for (const Option& option : command->options)
    if (!option.is_positional() && option.required) text += " " + option_row(option).label;
  return text + " [OPTIONS]\n";
}

std::vector<HelpRow> option_rows(const Command* command) {
  std::vector<HelpRow> rows;
  if (command != nullptr)
    for (const Option& option : command->options)
      if (!option.is_positional()) rows.push_back(option_row(option));
  rows.push_back({"--json", "Print the result as JSON"});
  if (command == nullptr || command->is_group() || !command->settings.empty())
    rows.push_back(
        {"--config FILE", "Read settings from this file (default: DATA/coffer.toml if there)"});
  if (command == nullptr) rows.push_back({"--version", "Print the version"});
  rows.push_back({"-h, --help", "Print this help"});
  rows.push_back({"--help-all", "Print this help with all settings"});
  return rows;
}

}  // namespace

std::string render_help(const Program& program, const Command* command, bool with_settings) {
  std::string out = (command == nullptr ? program.overview : command->summary) + "\n";
  out += usage_line(program, command);
  std::vector<HelpRow> names, arguments, settings;
  std::string one_setting;  // by its shortest flag
  const std::vector<std::string> path =
      command == nullptr ? std::vector<std::string>() : command->path;
  for (const Command* below : commands_below(program, path))
    names.push_back({below->path.back(), below->summary});
  if (command != nullptr)
    for (const Option& option : command->options)
      if (option.is_positional()) arguments.push_back(option_row(option));
  for (const Setting& setting : program.settings)
    if (command == nullptr || takes_setting(*command, setting.key)) {
      settings.push_back(setting_row(setting));
      if (one_setting.empty()) one_setting = setting.flags.back();
    }
  out += help_section("Commands", names);
  out += help_section("Arguments", arguments);
  out += help_section("Options", option_rows(command));
  if (with_settings)
    out += help_section("Settings", settings);
  else if (!settings.empty())
    out += fmt::format("\nSettings such as {} are options, too: '{} --help-all' lists them.\n",
                       one_setting, command_text(program, path));
  if (command != nullptr && !command->examples.empty()) out += "\nExamples:\n" + command->examples;
  if (command != nullptr && !command->notes.empty()) out += "\n" + command->notes + "\n";
  return out;
}

}  // namespace coffer::cli
