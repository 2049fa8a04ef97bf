// A program's commands as data: what each is called, takes and does. command_tree.h reads a command
// line by them, command_help.h prints them. Nothing here knows how a command line is parsed.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coffer::cli {

enum class Kind : std::uint8_t { kText, kNumber, kFlag, kList };

struct Range {  // of whole numbers, both ends included
  std::uint64_t min = 0;
  std::uint64_t max = std::numeric_limits<std::uint64_t>::max();
};

// An option ("--for") or a positional argument ("amount").
struct Option {
  std::string name;
  std::string help;
  Kind kind = Kind::kText;
  std::string value = {};  // what stands for the value in the help: "DURATION"
  bool required = false;
  Range range = {};                       // of a number
  std::vector<std::string> choices = {};  // of a text; none: any
  std::string excludes = {};              // an option that contradicts this one
  std::string fallback = {};              // the default, for the help

  bool is_positional() const { return !name.starts_with('-'); }
};

// A setting of the program. It can be given before and after the names of the commands that take
// it.
struct Setting {
  std::string key;                 // "data_dir"
  std::vector<std::string> flags;  // "--data-dir", "--data"
  std::string help;
  std::string fallback = {};  // the default, for the help
  bool is_switch = false;     // may stand without a value, and is true then
  bool is_global = false;     // every command accepts it, also one that has no use for it
};

struct SettingValue {
  std::string key;
  std::string text;
};

using Words = std::vector<std::string>;

// What was typed, after it was checked against the command's options.
struct Invocation {
  std::string program;      // as it was called
  std::string config_file;  // of --config; empty: none was given
  bool json = false;
  std::vector<SettingValue> settings;
  std::map<std::string, Words, std::less<>> values;  // by the option's name; flags are "true"
};

// A command, or without `run` a group of commands, which stands before them in a list.
struct Command {
  std::vector<std::string> path;           // {"wallet", "lease"}
  std::string summary;                     // the action in the imperative, one line
  std::string examples = {};               // lines that begin with two blanks
  std::string notes = {};                  // after the examples
  std::vector<std::string> settings = {};  // it takes those whose key starts with one of these
  std::vector<Option> options = {};
  std::function<Result<>(const Invocation&)> run = {};

  bool is_group() const { return !run; }
};

struct Program {
  std::string name;
  std::string overview;
  std::string version;
  std::vector<Setting> settings;
  std::vector<Command> commands;
};

// Groups take all settings, so that each can stand before the name of its command.
bool takes_setting(const Command& command, std::string_view key);
// "coffer wallet lease".
std::string command_text(const Program& program, const std::vector<std::string>& path);
// The command or group of this path, or null. Linear in the number of commands.
const Command* find_command(const Program& program, const std::vector<std::string>& path);
// The commands and groups right below a path, in their order.
std::vector<const Command*> commands_below(const Program& program,
                                           const std::vector<std::string>& path);
// "no command 'walet'; did you mean wallet?"
Error no_command(const Program& program, const std::vector<std::string>& path,
                 const std::string& word);

// ---- Options that fill the members of a struct ----

// What a row of a table of fields says besides name, member and help.
struct Details {
  std::string value = {};
  bool required = false;  // of an option
  bool optional = false;  // of a positional argument: it may be left out
  bool show_default = false;
  Range range = {};
  std::vector<std::string> choices = {};
  std::string excludes = {};
};

template <typename T>
struct ValueType {
  using Type = T;
  static constexpr bool kOptional = false;
};
template <typename T>
struct ValueType<std::optional<T>> {
  using Type = T;
  static constexpr bool kOptional = true;
};

inline void assign(std::string& to, const Words& words) {
  to = words.back();
}
inline void assign(bool& to, const Words& words) {
  to = words.back() == "true";
}
inline void assign(Words& to, const Words& words) {
  to = words;
}
template <std::integral T>
void assign(T& to, const Words& words) {  // the range was checked
  std::from_chars(words.back().data(), words.back().data() + words.back().size(), to);
}
template <typename T>
void assign(std::optional<T>& to, const Words& words) {
  assign(to.emplace(), words);
}

// A row of a command's table: an option, and the member of Arguments that takes its value. The type
// of the member says what the option takes.
template <typename Arguments>
struct Field {
  Option option;
  std::function<void(Arguments&, const Words&)> put;

  // `member`: &Arguments::x, or a function from Arguments& to a reference.
  template <typename Member>
  Field(std::string name, Member member, std::string help, Details details = {})
      : option{.name = std::move(name), .help = std::move(help)} {
    Arguments defaults{};
    using Held = std::remove_reference_t<decltype(std::invoke(member, defaults))>;
    using Value = typename ValueType<Held>::Type;
    option.value = std::move(details.value);
    option.range = details.range;
    option.choices = std::move(details.choices);
    option.excludes = std::move(details.excludes);
    option.required = option.is_positional() ? !details.optional && !ValueType<Held>::kOptional
                                             : details.required;
    if constexpr (std::same_as<Value, bool>) {
      option.kind = Kind::kFlag;
    } else if constexpr (std::integral<Value>) {
      option.kind = Kind::kNumber;
      option.range.max = std::min<std::uint64_t>(option.range.max,
                                                 std::uint64_t{std::numeric_limits<Value>::max()});
      if constexpr (std::same_as<Held, Value>)
        if (details.show_default) option.fallback = fmt::to_string(std::invoke(member, defaults));
    } else if constexpr (std::same_as<Value, Words>) {
      option.kind = Kind::kList;
    } else if constexpr (std::same_as<Held, Value>) {
      if (details.show_default) option.fallback = std::invoke(member, defaults);
    }
    put = [member](Arguments& to, const Words& words) { assign(std::invoke(member, to), words); };
  }
  // For what is no single member.
  Field(Option given, std::function<void(Arguments&, const Words&)> setter)
      : option(std::move(given)), put(std::move(setter)) {}
};

// Fresh Arguments with the values that were given.
template <typename Arguments>
Arguments read_fields(const std::vector<Field<Arguments>>& fields, const Invocation& given) {
  Arguments arguments{};
  for (const Field<Arguments>& field : fields)
    if (const auto it = given.values.find(field.option.name); it != given.values.end())
      field.put(arguments, it->second);
  return arguments;
}

}  // namespace coffer::cli
