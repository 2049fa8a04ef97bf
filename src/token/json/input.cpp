#include "token/json/input.h"

#include <charconv>
#include <ctime>

#include "api/input.h"
#include "base/result.h"

namespace coffer::token {
namespace {

constexpr std::int64_t kEndOfTime = std::int64_t{1} << 53;

// What one of several parameters says, if it is there.
template <typename T, typename Parse>
Result<> take(const http::Fields& query, std::string_view name, std::optional<T>& to, Parse parse) {
  if (const auto text = http::find(query, name)) to = TRY_IN(name, parse(*text));
  return {};
}

Result<bool> parse_yes(const http::Fields& query, std::string_view name) {
  const auto text = http::find(query, name);
  if (!text || *text == "false") return false;
  if (*text == "true") return true;
  return fail(Code::kInvalidInput, "{}: expected true or false", name);
}

Result<std::optional<Uuid>> parse_id_if(const http::Fields& query, std::string_view name) {
  const auto text = http::find(query, name);
  if (!text) return std::nullopt;
  return TRY(parse_id(name, *text));
}

Result<> check_range(std::optional<std::int64_t> from, std::optional<std::int64_t> to) {
  if (from && to && *from > *to)
    return fail(Code::kInvalidInput, "from: {} is later than to, {}", *from, *to);
  return {};
}

// "2026-01-31" with "T12:30:00Z" after it, or nothing.
std::optional<std::int64_t> parse_calendar(std::string_view text) {
  if (text.size() != 10 && text.size() != 20) return std::nullopt;
  const std::string copy(text);
  std::tm parts{};
  const char* format = text.size() == 10 ? "%Y-%m-%d" : "%Y-%m-%dT%H:%M:%SZ";
  const char* end = ::strptime(copy.c_str(), format, &parts);
  if (end == nullptr || *end != '\0' || copy[4] != '-' || copy[7] != '-') return std::nullopt;
  const std::tm asked = parts;
  const std::time_t seconds = ::timegm(&parts);
  // The 31st of a month with 30 days is no day.
  if (parts.tm_mday != asked.tm_mday || parts.tm_mon != asked.tm_mon || seconds < 0)
    return std::nullopt;
  return std::int64_t{seconds} * 1000;
}

}  // namespace

Result<std::int64_t> parse_time(std::string_view text) {
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error == std::errc() && end == text.data() + text.size() && ms >= 0 && ms <= kEndOfTime)
    return ms;
  if (const auto calendar = parse_calendar(text)) return *calendar;
  return fail(Code::kInvalidInput,
              "'{}' is no time; expected milliseconds since 1970, 2026-01-31 or "
              "2026-01-31T12:30:00Z",
              text.substr(0, 40));
}

Result<Uuid> parse_id(std::string_view what, std::string_view text) {
  return TRY_IN(what, parse_uuid(text));
}

Result<PageOptions> parse_page(const http::Fields& query) {
  PageOptions page;
  if (const auto text = http::find(query, "count"))
    page.count = TRY_IN("count", api::parse_whole(*text, 1, kMaxPage));
  if (const auto text = http::find(query, "cursor")) page.cursor = *text;
  return page;
}

Result<HistoryQuery> parse_history_query(const http::Fields& query) {
  HistoryQuery wanted;
  wanted.wallet = TRY(parse_id_if(query, "wallet"));
  wanted.counterparty = TRY(parse_id_if(query, "counterparty"));
  if (wanted.counterparty && !wanted.wallet)
    return fail(Code::kInvalidInput, "counterparty: give the wallet as well");
  if (const auto text = http::find(query, "type"))
    wanted.type = static_cast<int>(TRY_IN("type", api::parse_whole(*text, 1, 99)));
  TRY(take(query, "from", wanted.from_ms, parse_time));
  TRY(take(query, "to", wanted.to_ms, parse_time));
  TRY(check_range(wanted.from_ms, wanted.to_ms));
  const auto order = http::find(query, "order").value_or("newest");
  if (order != "newest" && order != "oldest")
    return fail(Code::kInvalidInput, "order: expected newest or oldest");
  wanted.newest_first = order == "newest";
  wanted.page = TRY(parse_page(query));
  return wanted;
}

Result<Store::StatementQuery> parse_statement_query(const http::Fields& query) {
  Store::StatementQuery wanted;
  const auto wallet = TRY(parse_id_if(query, "wallet"));
  if (!wallet) return fail(Code::kInvalidInput, "wallet: missing; expected its id");
  wanted.wallet = *wallet;
  std::optional<std::int64_t> from, to;
  TRY(take(query, "from", from, parse_time));
  TRY(take(query, "to", to, parse_time));
  TRY(check_range(from, to));
  wanted.from_ms = from.value_or(0);
  wanted.to_ms = to.value_or(kEndOfTime);
  wanted.page = TRY(parse_page(query));
  return wanted;
}

Result<Store::HoldQuery> parse_hold_query(const http::Fields& query) {
  Store::HoldQuery wanted;
  wanted.wallet = TRY(parse_id_if(query, "wallet"));
  wanted.recipient = TRY(parse_id_if(query, "recipient"));
  if (wanted.wallet.has_value() == wanted.recipient.has_value())
    return fail(Code::kInvalidInput, "wallet or recipient: give one of them");
  wanted.open_only = TRY(parse_yes(query, "open"));
  wanted.page = TRY(parse_page(query));
  return wanted;
}

Result<Store::UserQuery> parse_user_query(const http::Fields& query) {
  Store::UserQuery wanted;
  if (const auto name = http::find(query, "name")) wanted.name = std::string(*name);
  wanted.with_deleted = TRY(parse_yes(query, "with_deleted"));
  wanted.page = TRY(parse_page(query));
  return wanted;
}

Result<Store::AuditQuery> parse_audit_query(const http::Fields& query) {
  Store::AuditQuery wanted;
  TRY(take(query, "from", wanted.from_ms, parse_time));
  TRY(take(query, "to", wanted.to_ms, parse_time));
  TRY(check_range(wanted.from_ms, wanted.to_ms));
  wanted.page = TRY(parse_page(query));
  return wanted;
}

Result<std::optional<std::int64_t>> parse_moment(const http::Fields& query) {
  std::optional<std::int64_t> at;
  TRY(take(query, "at", at, parse_time));
  return at;
}

}  // namespace coffer::token
