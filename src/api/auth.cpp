#include "api/auth.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include <coffer/base/log.h>
#include "base/file.h"
#include "base/private_file.h"
#include "base/random.h"
#include "base/result.h"
#include "http/peer_group.h"
#include "http/url.h"

namespace coffer::api {
namespace {

constexpr std::size_t kSecretBytes = 32;
constexpr std::int64_t kSampleMs = 60'000;
constexpr int kMaxLogged = 5;  // in that time
constexpr std::size_t kMaxLoggedPath = 256;

Result<std::string> read_secret(const std::filesystem::path& path) {
  const Bytes data = TRY(read_private_file(path));
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

bool has_token(const http::Request& request) {
  return request.header("Authorization").has_value();
}

bool has_body(const http::Request& request) {
  return request.header("Content-Length").value_or("0") != "0" ||
         request.header("Transfer-Encoding").has_value();
}

}  // namespace

Result<std::unique_ptr<Tokens>> Tokens::open(const std::filesystem::path& data_dir) {
  TRY(check_private_directory(data_dir));
  std::unique_ptr<Tokens> tokens(new Tokens(data_dir));
  TRY(tokens->reload());
  return tokens;
}

Result<> Tokens::reload() {
  std::vector<Entry> entries;
  const std::string stamp = stamp_of_files();
  for (const auto& [name, can_write] : {std::pair{kTokenFile, true}, {kReadTokenFile, false}})
    entries.push_back({{std::string(name), can_write}, TRY(read_or_make_secret(data_dir_ / name))});
  std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  // Files that were made just now are read once more.
  stamp_ = stamp;
  return {};
}

Result<> Tokens::reload_if_changed() {
  const std::string stamp = stamp_of_files();
  {
    std::lock_guard lock(mutex_);
    if (stamp == stamp_) return {};
    stamp_ = stamp;  // what cannot be read is told once
  }
  return reload();
}

std::string Tokens::stamp_of_files() const {
  std::string stamp;
  for (const auto name : {kTokenFile, kReadTokenFile}) {
    struct stat status{};
    if (::stat((data_dir_ / name).c_str(), &status) != 0) continue;
    stamp += fmt::format("{} {} {} {} {}.{};", name, status.st_ino, status.st_size, status.st_mode,
                         status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  }
  return stamp;
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

bool LogSample::take(bool& is_last) {
  std::lock_guard lock(mutex_);
  const std::int64_t now = clock_.steady_ms();
  if (taken_ == 0 || now - since_ms_ >= kSampleMs) {
    since_ms_ = now;
    taken_ = 0;
  }
  if (taken_ >= kMaxLogged) return false;
  is_last = ++taken_ == kMaxLogged;
  return true;
}

Gate::Gate(const Tokens& tokens, const Clock& clock, Options options)
    : tokens_(tokens), options_(std::move(options)), failures_(clock), log_sample_(clock) {}

std::optional<http::Response> Gate::check(const http::Request& request, const Route& route) {
  if (http::changes_state(request.method) && is_foreign_origin(request))
    return http::problem(403, "forbidden", "pages of another origin may not change anything here",
                         request.path);
  const bool is_open =
      route.scope == Scope::kPublic || (route.scope == Scope::kRead && options_.reads_are_open);
  if (is_open) return std::nullopt;
  if (route.scope == Scope::kOwn) {
    if (auto paused = check_pause(request)) return paused;
    // The handler judges what is given; without anything no body needs to be read.
    if (has_body(request) && !has_token(request)) return unauthorized(request);
    return std::nullopt;
  }
  const Judged judged = judge(request);
  if (judged.refused) return judged.refused;
  if (is_write(route) && !judged.identity->can_write)
    return http::problem(403, "forbidden", "this token may only read", request.path);
  return std::nullopt;
}

Gate::Judged Gate::judge(const http::Request& request) {
  if (!has_token(request)) return {{}, unauthorized(request)};
  if (auto paused = check_pause(request)) return {{}, std::move(paused)};
  if (auto identity = tokens_.identify(request)) return {std::move(identity), {}};
  count_failure(request);
  return {{}, unauthorized(request)};
}

std::optional<http::Response> Gate::check_pause(const http::Request& request) const {
  if (!has_token(request)) return std::nullopt;
  const std::int64_t pause_ms = failures_.pause_ms(peer_of(request));
  if (pause_ms == 0) return std::nullopt;
  const std::int64_t seconds = (pause_ms + 999) / 1000;
  return http::problem_with_retry(
      429, "too_many_failures",
      fmt::format("too many wrong tokens from this address; wait {} s", seconds), seconds,
      request.path);
}

// Behind a proxy everybody comes from its address: one who guesses must not hold up the others.
std::string Gate::peer_of(const http::Request& request) const {
  if (!options_.behind_proxy) return request.peer_group;
  std::string_view last;  // what comes before it a client could have written
  for (const http::Field& header : request.headers)
    if (http::equal_ignoring_case(header.name, "X-Forwarded-For")) last = header.value;
  last.remove_prefix(last.rfind(',') + 1);
  last.remove_prefix(std::min(last.find_first_not_of(' '), last.size()));
  return http::peer_group(last).value_or(request.peer_group);
}

bool Gate::may_read(const http::Request& request) {
  return options_.reads_are_open || judge(request).identity.has_value();
}

http::Response Gate::unauthorized(const http::Request& request) const {
  return http::problem(401, "unauthorized",
                       "send the header 'Authorization: Bearer TOKEN'; " + options_.token_hint,
                       request.path);
}

void Gate::count_failure(const http::Request& request) {
  if (!has_token(request)) return;
  failures_.count(peer_of(request));
  bool is_last = false;
  if (log_sample_.take(is_last))
    log::warn("request with a wrong token", {{"remote", request.remote},
                                             {"path", request.path.substr(0, kMaxLoggedPath)},
                                             {"more_are_not_logged", is_last}});
}

}  // namespace coffer::api
