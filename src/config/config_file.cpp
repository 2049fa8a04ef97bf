#include "config/config_file.h"

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "base/file.h"
#include "base/limits.h"
#include "base/result.h"

namespace coffer::config {
namespace {

constexpr unsigned kMaxDepth = 16;  // no key has as many parts

RawValue list_value(const toml::array& array) {
  std::vector<std::string> texts;
  for (const auto& element : array) {
    const auto text = element.value_exact<std::string>();
    if (!text) return OtherValue{"a list of other things than texts"};
    texts.push_back(*text);
  }
  return texts;
}

RawValue raw_value(const toml::node& node) {
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const auto number = node.value_exact<std::int64_t>()) return *number;
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto* array = node.as_array()) return list_value(*array);
  if (node.is_floating_point()) return OtherValue{"a number with a fraction"};
  if (node.is_table()) return OtherValue{"a section"};
  return OtherValue{"a date or time"};
}

void flatten(const toml::table& table, const std::string& prefix, unsigned depth,
             std::vector<FileEntry>& out) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + std::string(name.str());
    const toml::table* inner = node.as_table();
    if (inner != nullptr && !inner->empty() && depth < kMaxDepth) {
      flatten(*inner, key + ".", depth + 1, out);
      continue;
    }
    const bool empty_section = inner != nullptr && inner->empty();
    out.push_back({key, node.source().begin.line,
                   empty_section ? OtherValue{"an empty section"} : raw_value(node)});
  }
}

}  // namespace

Result<std::vector<FileEntry>> read_config_file(const std::filesystem::path& path) {
  const Bytes bytes = TRY(read_file_or_pipe(path, limits::kMaxConfigBytes));
  const toml::parse_result parsed = toml::parse(as_text(bytes));
  if (!parsed) {
    const toml::source_position at = parsed.error().source().begin;
    return fail(Code::kUsage,
                "{}:{}:{}: not valid TOML here; text stands in double quotes, lists in brackets, "
                "and a key stands once",
                path.string(), at.line, at.column);
  }
  std::vector<FileEntry> entries;
  flatten(parsed.table(), "", 0, entries);
  return entries;
}

}  // namespace coffer::config
