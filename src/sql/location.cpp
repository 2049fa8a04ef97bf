// Locations: sqlite:PATH, postgres://…, or libpq's "key=value …".
#include "sql/location.h"

#include <cctype>

#include "base/result.h"
#include "sql/impl.h"

namespace coffer::sql {
namespace {

constexpr std::string_view kHelp =
    "give sqlite:PATH, postgres://USER@HOST/NAME or \"host=… dbname=…\"";

// Takes our own parameter pooled=true|false out, which libpq would not understand. `before` are the
// characters that can stand before a parameter, `between` separates them.
Result<Pooling> take_pooling(std::string& text, std::string_view before, char between) {
  constexpr std::string_view kName = "pooled=";
  for (auto at = text.find(kName); at != std::string::npos; at = text.find(kName, at + 1)) {
    if (at > 0 && before.find(text[at - 1]) == std::string_view::npos) continue;
    const auto end = std::min(text.find(between, at), text.size());
    const std::string value = text.substr(at + kName.size(), end - at - kName.size());
    if (value != "true" && value != "false")
      return fail(Code::kUsage, "pooled is true or false, not '{}'", value);
    // One of the separators goes with it; the first parameter keeps the one before it.
    text.erase(at, std::min(end + 1, text.size()) - at);
    while (!text.empty() && text.size() == at && before.find(text.back()) != std::string_view::npos)
      text.pop_back(), --at;
    return value == "true" ? Pooling::kPooled : Pooling::kDirect;
  }
  return Pooling::kDetect;
}

}  // namespace

Result<Location> parse_location(std::string_view text) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (text.starts_with(kSqlite)) {
    const std::string path(text.substr(kSqlite.size()));
    if (path.empty() || path == ":memory:")
      return fail(Code::kUsage, "'{}' names no file; {}", text, kHelp);
    return Location{Dialect::kSqlite, path, std::string(text), Pooling::kDirect};
  }
  const bool is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
  // Not repeated in the message: it may hold a password.
  if (!is_url && text.find('=') == std::string_view::npos)
    return fail(Code::kUsage, "this is no location of a database; {}", kHelp);
  Location location{Dialect::kPostgres, std::string(text), "", Pooling::kDetect};
  location.pooling = TRY(take_pooling(location.target, is_url ? "?&" : " ", is_url ? '&' : ' '));
  location.name = TRY(postgres_name(location.target));
  return location;
}

Result<LocationInfo> describe_location(std::string_view text) {
  const Location location = TRY(parse_location(text));
  LocationInfo described{location.dialect, location.name, {}, {}};
  if (location.dialect == Dialect::kSqlite)
    described.path = location.target;
  else
    described.tool_flags = TRY(postgres_tool_flags(location.target));
  return described;
}

}  // namespace coffer::sql
