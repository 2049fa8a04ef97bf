#include "api/auth.h"

#include <sys/stat.h>

#include <array>
#include <cerrno>

#include <coffer/base/log.h>
#include "base/file.h"
#include "base/random.h"
#include "base/result.h"
#include "http/url.h"

namespace coffer::api {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::size_t kMaxPeers = 1024;
constexpr std::int64_t kWindowMs = 60'000;
constexpr int kMaxFailures = 20;  // in a window, from one address; then 429
constexpr int kLoggedFailures = 5;

Result<std::string> read_secret(const std::filesystem::path& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0)
    return fail(errno_error(errno, "cannot read " + path.string()));
  if ((status.st_mode & 077) != 0)
    return fail(Code::kForbidden, "others can read or change {} (mode {:04o}); run: chmod 600 {}",
                path.string(), status.st_mode & 07777, path.string());
  Bytes data = TRY(read_file(path, 4096));
  std::string secret(as_text(data));
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  if (secret.size() != 2 * kSecretBytes || !from_hex(secret))
    return fail(Code::kInvalidInput,
                "{} holds no token of {} hex digits; delete it and start again to get a new one",
                path.string(), 2 * kSecretBytes);
  return secret;
}

Result<std::string> read_or_make_secret(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return read_secret(path);
  std::array<std::uint8_t, kSecretBytes> bytes;
  fill_secure(bytes);
  std::string secret = to_hex(bytes);
  TRY(write_file_atomically(path, as_bytes(secret + "\n"), {.mode = 0600}));
  log::info("made a new token", {{"file", path.string()}});
  return secret;
}

// A page on another site can send a state-changing request from a browser on this machine.
bool is_foreign_origin(const http::Request& request) {
  auto origin = request.header("Origin");
  if (!origin) return false;
  auto host = request.header("Host");
  std::size_t scheme = origin->find("://");
  if (!host || scheme == std::string_view::npos) return true;
  return !http::equal_ignoring_case(origin->substr(scheme + 3), *host);
}

}  // namespace

Result<> ensure_read_token(const std::filesystem::path& data_dir) {
  TRY(read_or_make_secret(data_dir / kReadTokenFile));
  return {};
}

Result<std::unique_ptr<Tokens>> Tokens::open(const std::filesystem::path& data_dir) {
  std::unique_ptr<Tokens> tokens(new Tokens(data_dir));
  TRY(tokens->reload());
  return tokens;
}

Result<> Tokens::reload() {
  std::vector<Entry> entries;
  entries.push_back(
      {{std::string(kTokenFile), true}, TRY(read_or_make_secret(data_dir_ / kTokenFile))});
  std::error_code ignored;
  if (std::filesystem::exists(data_dir_ / kReadTokenFile, ignored))
    entries.push_back(
        {{std::string(kReadTokenFile), false}, TRY(read_secret(data_dir_ / kReadTokenFile))});
  std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  return {};
}

std::optional<Tokens::Identity> Tokens::identify(const http::Request& request) const {
  constexpr std::string_view kScheme = "Bearer ";
  auto header = request.header("Authorization");
  if (!header || header->size() < kScheme.size() ||
      !http::equal_ignoring_case(header->substr(0, kScheme.size()), kScheme))
    return std::nullopt;
  std::string_view given = header->substr(kScheme.size());
  std::optional<Identity> found;
  std::lock_guard lock(mutex_);
  for (const Entry& entry : entries_)
    if (equal_constant_time(as_bytes(given), as_bytes(entry.secret))) found = entry.identity;
  return found;
}

Gate::Gate(const Tokens& tokens, const Clock& clock, Options options)
    : tokens_(tokens), clock_(clock), options_(std::move(options)) {}

std::optional<http::Response> Gate::check(const http::Request& request, const Route& route) {
  if (http::changes_state(request.method) && is_foreign_origin(request))
    return http::problem(403, "forbidden", "pages of another origin may not change anything here",
                         request.path);
  bool is_open = route.scope == Scope::kPublic || route.scope == Scope::kOwn ||
                 (route.scope == Scope::kRead && options_.reads_are_open);
  if (is_open) return std::nullopt;
  auto identity = tokens_.identify(request);
  if (!identity) return count_failure(request, route, refuse(request));
  if (is_write(route) && !identity->can_write)
    return http::problem(403, "forbidden", "this token may only read", request.path);
  return std::nullopt;
}

http::Response Gate::refuse(const http::Request& request) const {
  return http::problem(401, "unauthorized",
                       "send the header 'Authorization: Bearer TOKEN'; " + options_.token_hint,
                       request.path);
}

http::Response Gate::count_failure(const http::Request& request, const Route& route,
                                   http::Response unauthorized) {
  std::string_view peer = std::string_view(request.remote).substr(0, request.remote.rfind(':'));
  int count;
  {
    std::lock_guard lock(mutex_);
    if (failures_.size() >= kMaxPeers) failures_.clear();
    auto at = failures_.find(peer);
    if (at == failures_.end()) at = failures_.emplace(std::string(peer), Failures{}).first;
    Failures& failures = at->second;
    if (failures.count == 0 || clock_.steady_ms() - failures.since_ms >= kWindowMs)
      failures = {clock_.steady_ms(), 0};
    count = ++failures.count;
  }
  if (count <= kLoggedFailures)
    log::warn("request without a valid token", {{"remote", request.remote},
                                                {"route", route.pattern},
                                                {"more_are_not_logged", count == kLoggedFailures}});
  if (count > kMaxFailures)
    return http::problem(429, "too_many_failures",
                         "too many requests without a valid token; wait a minute", request.path);
  return unauthorized;
}

}  // namespace coffer::api
