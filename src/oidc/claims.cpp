#include "oidc/claims.h"

#include <algorithm>
#include <cmath>

#include "json/reader.h"
#include "oidc/jwt.h"

namespace coffer::oidc {
namespace {

constexpr json::Limits kClaimsLimits = {.max_bytes = kMaxJwtBytes, .max_depth = 16};
// Of a time in seconds: 31 December 9999. Beyond it somebody wrote milliseconds.
constexpr double kMaxTime = 253'402'300'799.0;

enum class Round { kDown, kUp };

std::unexpected<Error> refused(std::string_view why) {
  return fail(Code::kUnauthorized, "{}", why);
}

// A NumericDate (RFC 7519 §2), which may have a fraction: rounded against its holder. Nothing if
// it is absent. Errors: kUnauthorized if it is no time.
Result<std::optional<std::int64_t>> time_of(const json::Value& all, std::string_view name,
                                            Round round) {
  const auto member = all.find(name);
  if (!member) return std::optional<std::int64_t>();
  const auto number = member->number();
  if (!number || !(*number >= 0) || *number > kMaxTime)
    return fail(Code::kUnauthorized, "'{}' of the bearer token is not a time in seconds", name);
  return std::optional(
      static_cast<std::int64_t>(round == Round::kDown ? std::floor(*number) : std::ceil(*number)));
}

bool is_for(const json::Value& all, const std::string& audience) {
  const auto member = all.find("aud");
  if (!member) return false;
  if (!member->is_array()) return member->string() == audience;
  return std::ranges::any_of(
      member->elements(), [&](const json::Value& element) { return element.string() == audience; });
}

bool has_control_characters(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

std::optional<json::Value> find_claim(const json::Value& all, std::string_view name) {
  return name.starts_with('/') ? all.find_pointer(name) : all.find(name);
}

}  // namespace

std::optional<std::string> Claims::find_string(std::string_view name) const {
  const auto claim = find_claim(all, name);
  return claim ? claim->string() : std::nullopt;
}

std::vector<std::string> Claims::strings(std::string_view name) const {
  const auto claim = find_claim(all, name);
  if (!claim) return {};
  if (auto one = claim->string()) return {std::move(*one)};
  std::vector<std::string> list;
  for (const json::Value& element : claim->elements()) {
    auto text = element.string();
    if (!text) return {};
    list.push_back(std::move(*text));
  }
  return list;
}

Result<Claims> read_claims(std::string_view text, const ExpectedClaims& expected,
                           std::int64_t unix_ms) {
  auto parsed = json::parse(text, kClaimsLimits);
  if (!parsed || !parsed->is_object())
    return refused("the claims of the bearer token are not a JSON object");
  json::Value all = *std::move(parsed);

  const auto issuer = all.find("iss");
  if (!issuer || issuer->string() != expected.issuer)
    return refused("the bearer token is from another issuer; sign in at the one configured here");
  if (!is_for(all, expected.audience))
    return refused("the bearer token is for another audience; ask for one for this service");

  const auto expires_at = TRY(time_of(all, "exp", Round::kDown));
  const auto not_before = TRY(time_of(all, "nbf", Round::kUp));
  const auto issued_at = TRY(time_of(all, "iat", Round::kUp));
  const std::int64_t leeway_ms = expected.leeway_s * 1000;
  if (!expires_at) return refused("the bearer token has no end of validity ('exp')");
  if (unix_ms - leeway_ms >= *expires_at * 1000)
    return refused("the bearer token has expired; sign in again");
  if (not_before && unix_ms + leeway_ms < *not_before * 1000)
    return refused("the bearer token is not valid yet; compare the clocks");
  if (issued_at && unix_ms + leeway_ms < *issued_at * 1000)
    return refused("the bearer token was issued in the future; compare the clocks");

  const auto subject = all.find("sub");
  auto name = subject ? subject->string() : std::nullopt;
  if (!name || name->empty() || name->size() > kMaxSubjectBytes || has_control_characters(*name))
    return refused("the bearer token names no subject ('sub')");
  return Claims{expected.issuer, std::move(*name), *expires_at, issued_at, std::move(all)};
}

}  // namespace coffer::oidc
