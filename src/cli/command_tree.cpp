// The only file that knows the library that parses command lines. The library throws; nothing
// leaves this file but an exit code.
#include "cli/command_tree.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/check.h"
#include "base/nearest.h"
#include "base/result.h"
#include "cli/command_help.h"
#include "cli/output.h"

namespace coffer::cli {
namespace {

// What the library says of a value that it shall refuse; empty if it is right.
std::string check_number(const Option& option, const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && error == std::errc() && end == text.data() + text.size() &&
      number >= option.range.min && number <= option.range.max)
    return "";
  return fmt::format("expected a whole number from {} to {}, got '{}'", option.range.min,
                     option.range.max, text);
}

std::string check_choice(const Option& option, const std::string& text) {
  if (std::ranges::find(option.choices, text) != option.choices.end()) return "";
  return fmt::format("expected one of {}, got '{}'", fmt::join(option.choices, ", "), text);
}

// The words are taken from the option once the whole line was read.
const CLI::callback_t kKeepWords = [](const CLI::results_t&) { return true; };

void add_option(CLI::App& app, const Option& option) {
  if (option.kind == Kind::kFlag) {
    CLI::Option* flag = app.add_flag(option.name);
    if (!option.excludes.empty()) flag->excludes(app.get_option(option.excludes));
    return;
  }
  CLI::Option* added = app.add_option(option.name, kKeepWords, option.help);
  added->required(option.required);
  if (option.kind == Kind::kList)
    added->expected(1, CLI::detail::expected_max_vector_size)->allow_extra_args();
  if (option.kind == Kind::kNumber)
    added->check([&option](const std::string& text) { return check_number(option, text); });
  if (!option.choices.empty())
    added->check([&option](const std::string& text) { return check_choice(option, text); });
}

// The library's tree. It refers to the program, which must outlive it.
class Tree {
 public:
  explicit Tree(const Program& program) : program_(program), root_(program.overview, program.name) {
    root_.set_help_flag("-h,--help");
    root_.set_help_all_flag("--help-all");
    root_.set_version_flag("--version", program.version);
    root_.require_subcommand(1);
    add_shared_options(root_, nullptr);
    for (const Command& command : program.commands) add_command(command);
  }

  // Help, version or the command: the exit code's error, if any.
  Result<> run(int argc, char** argv) {
    try {
      root_.parse(argc, argv);
    } catch (const CLI::CallForAllHelp&) {
      return print_help(true);
    } catch (const CLI::CallForHelp&) {
      return print_help(false);
    } catch (const CLI::CallForVersion&) {
      std::printf("%s\n", program_.version.c_str());
      return {};
    } catch (const CLI::ParseError& error) {
      return fail(explain(error));
    }
    const Invocation given = TRY(read_invocation(argv[0]));
    return current()->run(given);
  }

 private:
  void add_command(const Command& command) {
    CLI::App* parent = &root_;
    for (std::size_t i = 0; i + 1 < command.path.size(); ++i)
      parent = parent->get_subcommand(command.path[i]);
    CLI::App* app = parent->add_subcommand(command.path.back(), command.summary);
    if (command.is_group()) app->require_subcommand(1);
    for (const Option& option : command.options) add_option(*app, option);
    add_shared_options(*app, &command);
  }

  // Without a command: the root.
  static bool accepts(const Command* command, const Setting& setting) {
    return command == nullptr || setting.is_global || takes_setting(*command, setting.key);
  }

  // Those that can stand before and after the names of commands. They are options of every level,
  // because only the level that reads an option knows whether the next word is its value.
  void add_shared_options(CLI::App& app, const Command* command) {
    app.add_flag("--json");
    app.add_option("--config", kKeepWords, "");
    for (const Setting& setting : program_.settings) {
      if (!accepts(command, setting)) continue;
      CLI::Option* option =
          app.add_option(fmt::format("{}", fmt::join(setting.flags, ",")), kKeepWords, "");
      if (setting.is_switch) option->expected(0, 1)->default_str("true");
    }
  }

  // From the root to the innermost command that was typed.
  std::vector<const CLI::App*> levels() const {
    std::vector<const CLI::App*> all = {&root_};
    while (!all.back()->get_subcommands().empty())
      all.push_back(all.back()->get_subcommands().front());
    return all;
  }
  std::vector<std::string> path() const {
    std::vector<std::string> names;
    for (const CLI::App* level : levels())
      if (level != &root_) names.push_back(level->get_name());
    return names;
  }
  const Command* current() const { return find_command(program_, path()); }

  Result<> print_help(bool with_settings) const {
    std::fputs(render_help(program_, current(), with_settings).c_str(), stdout);
    return {};
  }

  Error explain(const CLI::ParseError& error) const {
    const std::vector<std::string> at = path();
    const Command* command = current();
    const bool is_leaf = command != nullptr && !command->is_group();
    const std::vector<std::string> extra = root_.remaining(true);
    const bool is_too_much = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const bool is_missing = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    std::string message = error.what();
    if ((is_too_much || is_missing) && !extra.empty()) {
      if (extra.front().starts_with("-") && extra.front().size() > 1)
        return no_option(command, extra.front());
      if (!is_leaf) return no_command(program_, at, extra.front());
      if (is_too_much) message = fmt::format("unexpected argument '{}'", extra.front());
    } else if (is_missing && !is_leaf) {
      message = fmt::format("'{}' needs the name of a command", command_text(program_, at));
    }
    std::ranges::replace(message, '\n', ' ');
    return make_error(Code::kUsage,
                      fmt::format("{}; see '{} --help'", message, command_text(program_, at)));
  }

  Error no_option(const Command* command, const std::string& typed) const {
    const std::string name = typed.substr(0, typed.find('='));
    std::vector<std::string> known = {"help", "help-all", "json", "config"};
    const auto add = [&](const std::string& flag) { known.push_back(flag.substr(2)); };
    if (command == nullptr) add("--version");
    if (command != nullptr)
      for (const Option& option : command->options)
        if (!option.is_positional()) add(option.name);
    for (const Setting& setting : program_.settings)
      if (accepts(command, setting))
        for (const std::string& flag : setting.flags) add(flag);
    const auto suggestion = nearest(name.substr(name.find_first_not_of('-')), known);
    const std::string text = command_text(program_, path());
    return make_error(Code::kUsage,
                      fmt::format("no option '{}'; {}", name,
                                  suggestion ? fmt::format("did you mean --{}?", *suggestion)
                                             : fmt::format("see '{} --help'", text)));
  }

  // The value of an option that may stand at any level, or nothing. Errors: kUsage if it was given
  // at two, or at one before a command that does not take it.
  Result<std::optional<std::string>> shared_value(const std::string& flag) const {
    const std::vector<const CLI::App*> all = levels();
    const std::string text = command_text(program_, path());
    std::optional<std::string> value;
    for (const CLI::App* level : all) {
      const CLI::Option* option = level->get_option_no_throw(flag);
      if (option == nullptr || option->count() == 0) continue;
      if (all.back()->get_option_no_throw(flag) == nullptr)
        return fail(Code::kUsage, "'{}' takes no {}; see '{} --help-all'", text, flag, text);
      if (value) return fail(Code::kUsage, "{} is given twice; see '{} --help'", flag, text);
      value = option->results().empty() ? "" : option->results().back();
    }
    return value;
  }

  Result<Invocation> read_invocation(const char* called) const {
    Invocation given{.program = called, .config_file = {}, .settings = {}, .values = {}};
    given.config_file = TRY(shared_value("--config")).value_or("");
    for (const Setting& setting : program_.settings) {
      const std::optional<std::string> text = TRY(shared_value(setting.flags.front()));
      if (!text) continue;
      given.settings.push_back({setting.key, text->empty() && setting.is_switch ? "true" : *text});
    }
    const std::vector<const CLI::App*> all = levels();
    for (const CLI::App* level : all)
      if (is_on(*level->get_option("--json"))) given.json = true;
    for (const Option& option : current()->options) {
      const CLI::Option& typed = *all.back()->get_option(option.name);
      if (typed.count() == 0) continue;
      given.values[option.name] = option.kind != Kind::kFlag ? typed.results()
                                  : is_on(typed)             ? Words{"true"}
                                                             : Words{"false"};
    }
    return given;
  }

  // Flags can be typed as --json=false, too.
  static bool is_on(const CLI::Option& flag) { return flag.count() > 0 && flag.as<bool>(); }

  const Program& program_;
  CLI::App root_;
};

Command help_command(const Program& program) {
  struct HelpArguments {
    Words words;
  };
  const std::vector<Field<HelpArguments>> fields = {
      {"command", &HelpArguments::words, "its name, e.g. wallet lease", {.optional = true}}};
  Command help{.path = {"help"}, .summary = "Print the help of a command"};
  help.examples = fmt::format("  {0} help\n  {0} help wallet lease\n", program.name);
  help.options = {fields.front().option};
  help.run = [fields, &program](const Invocation& given) -> Result<> {
    std::vector<std::string> path;
    const Command* found = nullptr;
    for (const std::string& word : read_fields(fields, given).words) {
      std::vector<std::string> longer = path;
      longer.push_back(word);
      found = find_command(program, longer);
      if (found == nullptr) return fail(no_command(program, path, word));
      path = std::move(longer);
    }
    std::fputs(render_help(program, found, false).c_str(), stdout);
    return {};
  };
  return help;
}

}  // namespace

int run_program(Program program, int argc, char** argv) {
  program.commands.push_back(help_command(program));
  Tree tree(program);
  if (Result<> done = tree.run(argc, argv); !done) {
    (void)finish_output();
    return report_error(done.error());
  }
  const Result<> written = finish_output();
  return written ? 0 : report_error(written.error());
}

}  // namespace coffer::cli
