#include "node/verb.h"

#include <charconv>

#include "api/input.h"
#include "base/result.h"

namespace coffer::node {

Result<std::int64_t> parse_duration_ms(std::string_view text) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"ms", 1},        {"s", 1'000},      {"m", 60'000},
      {"h", 3'600'000}, {"d", 86'400'000}, {"w", 604'800'000},
  };
  constexpr std::int64_t kLongest = 36'525ll * 86'400'000;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const auto& [name, factor] : kUnits)
    if (error == std::errc() && unit == name && number > 0 && number <= kLongest / factor)
      return number * factor;
  return fail(Code::kInvalidInput,
              "'{}' is no duration; give a number and ms, s, m, h, d or w, as 10m or 90d", text);
}

namespace kind {

ValueKind<std::string> text(std::string schema) {
  return parsed<std::string>([](std::string_view given) { return std::string(given); },
                             std::move(schema));
}

ValueKind<std::vector<std::string>> texts(std::string schema) {
  auto kind = parsed<std::vector<std::string>>(
      [](std::string_view given) { return std::vector{std::string(given)}; }, std::move(schema));
  kind.option.kind = cli::Kind::kList;
  kind.from_words = [](const cli::Words& words) { return words; };
  return kind;
}

ValueKind<bool> flag() {
  ValueKind<bool> kind{json::schema::kFlag, "true or false", {}, {}, {}};
  kind.option.kind = cli::Kind::kFlag;
  kind.from_body = [](const json::ObjectReader& body,
                      std::string_view name) -> Result<std::optional<bool>> {
    return TRY(body.flag(name));
  };
  kind.from_words = [](const cli::Words& words) { return words.back() == "true"; };
  return kind;
}

ValueKind<std::uint64_t> whole(cli::Range range) {
  ValueKind<std::uint64_t> kind{json::schema::kWhole, "a whole number", {}, {}, {}};
  kind.option.kind = cli::Kind::kNumber;
  kind.option.range = range;
  kind.from_body = [range](const json::ObjectReader& body, std::string_view name) {
    return body.whole_if(name, range.min, range.max);
  };
  kind.from_words = [range](const cli::Words& words) {
    return cli::as_usage_error(api::parse_whole(words.back(), range.min, range.max));
  };
  return kind;
}

ValueKind<std::uint64_t> duration(cli::Range range) {
  ValueKind<std::uint64_t> kind = whole(range);
  kind.expected = "a whole number of milliseconds";
  kind.option = {};
  kind.option.value = "DURATION";
  kind.from_words = [](const cli::Words& words) -> Result<std::uint64_t> {
    return static_cast<std::uint64_t>(TRY(cli::as_usage_error(parse_duration_ms(words.back()))));
  };
  return kind;
}

}  // namespace kind

Result<> check_one_of(const OneOf& rule, const json::ObjectReader& body) {
  const auto is_given = [&](const std::string& name) {
    const auto value = body.find(name);
    return value && value->boolean() != false;
  };
  if (!rule.fields.empty() && std::ranges::count_if(rule.fields, is_given) != 1)
    return fail(Code::kInvalidInput, "{}: give one of them", fmt::join(rule.fields, " or "));
  return {};
}

Result<> parse_empty_body(std::string_view text) {
  struct Nothing {};
  (void)TRY(parse_body(Verb<Nothing>{""}, text));
  return {};
}

}  // namespace coffer::node
