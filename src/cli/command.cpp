#include "cli/command.h"

#include <algorithm>

#include "base/nearest.h"
#include "base/result.h"

namespace coffer::cli {

bool takes_setting(const Command& command, std::string_view key) {
  return command.is_group() ||
         std::ranges::any_of(command.settings,
                             [&](const std::string& prefix) { return key.starts_with(prefix); });
}

std::string command_text(const Program& program, const std::vector<std::string>& path) {
  std::string text = program.name;
  for (const std::string& word : path) text += " " + word;
  return text;
}

const Command* find_command(const Program& program, const std::vector<std::string>& path) {
  const auto it = std::ranges::find(program.commands, path, &Command::path);
  return it == program.commands.end() ? nullptr : &*it;
}

std::vector<const Command*> commands_below(const Program& program,
                                           const std::vector<std::string>& path) {
  std::vector<const Command*> below;
  for (const Command& command : program.commands)
    if (command.path.size() == path.size() + 1 &&
        std::equal(path.begin(), path.end(), command.path.begin()))
      below.push_back(&command);
  return below;
}

Error no_command(const Program& program, const std::vector<std::string>& path,
                 const std::string& word) {
  std::vector<std::string> names;
  for (const Command* command : commands_below(program, path))
    names.push_back(command->path.back());
  std::string prefix;
  for (const std::string& part : path) prefix += part + " ";
  const std::optional<std::string> suggestion = nearest(word, names);
  return make_error(
      Code::kUsage,
      fmt::format("no command '{}{}'; {}", prefix, word,
                  suggestion ? fmt::format("did you mean {}{}?", prefix, *suggestion)
                             : fmt::format("see '{} --help'", command_text(program, path))));
}

}  // namespace coffer::cli
