// Who may call what: token files, bearer tokens, foreign origins, repeated failures.
// Invariant: a token's value leaves this file only into its own file; logs and answers carry its
// name.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <coffer/base/clock.h>
#include "api/routes.h"
#include "http/message.h"

namespace coffer::api {

inline constexpr std::string_view kTokenFile = "token";           // may read and write
inline constexpr std::string_view kReadTokenFile = "read-token";  // may only read

// Makes DATA/read-token if there is none. A running server sees it after Service::reload().
// Errors: kUnavailable, kForbidden (others may read the file), kInvalidInput (not a token).
Result<> ensure_read_token(const std::filesystem::path& data_dir);

// The tokens of one data directory. Thread-safe.
class Tokens {
 public:
  using Identity = api::Identity;

  // Reads DATA/token, making it first if need be, and DATA/read-token if there. Errors: as above.
  static Result<std::unique_ptr<Tokens>> open(const std::filesystem::path& data_dir);

  // Reads the files again; on an error the old tokens stay.
  Result<> reload();

  // Whose "Authorization: Bearer" this is. Takes the same time for every wrong token.
  std::optional<Identity> identify(const http::Request& request) const;

 private:
  struct Entry {
    Identity identity;
    std::string secret;
  };
  explicit Tokens(std::filesystem::path data_dir) : data_dir_(std::move(data_dir)) {}

  const std::filesystem::path data_dir_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
};

// Decides each request before its handler runs. Thread-safe.
class Gate {
 public:
  struct Options {
    bool reads_are_open = false;  // only when nobody but this machine can reach the server
    std::string token_hint;       // where to find the token, for people who get 401
  };
  Gate(const Tokens& tokens, const Clock& clock, Options options);

  // Nothing if the request may go on; else 401, 403 or 429.
  std::optional<http::Response> check(const http::Request& request, const Route& route);

  // A handler of Scope::kOwn answers with `unauthorized`: counts a failure of the peer's address,
  // and gives what goes out, which is 429 after too many.
  http::Response count_failure(const http::Request& request, const Route& route,
                               http::Response unauthorized);

 private:
  struct Failures {
    std::int64_t since_ms = 0;
    int count = 0;
  };
  http::Response refuse(const http::Request& request) const;

  const Tokens& tokens_;
  const Clock& clock_;
  const Options options_;
  std::mutex mutex_;
  std::map<std::string, Failures, std::less<>> failures_;  // by the peer's address; bounded
};

}  // namespace coffer::api
