// Who may call what: token files, bearer tokens, foreign origins, wrong tokens again and again.
// Invariant: a token's value leaves this file only into its own file; logs and answers carry its
// name.
#pragma once

#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <coffer/base/clock.h>
#include "api/failures.h"
#include "api/routes.h"
#include "http/message.h"

namespace coffer::api {

inline constexpr std::string_view kTokenFile = "token";           // may read and write
inline constexpr std::string_view kReadTokenFile = "read-token";  // may only read

// At most 5 a minute, so that nobody outside decides how much is logged. Thread-safe.
class LogSample {
 public:
  explicit LogSample(const Clock& clock) : clock_(clock) {}
  // True if this one is to be logged; `is_last` if no more of this minute will be.
  bool take(bool& is_last);

 private:
  const Clock& clock_;
  std::mutex mutex_;
  std::int64_t since_ms_ = 0;
  int taken_ = 0;
};

// The tokens of one data directory. Thread-safe.
class Tokens {
 public:
  using Identity = api::Identity;

  // Reads DATA/token and DATA/read-token, making what is not there. Errors: kUnavailable,
  // kForbidden (others may read a file or write into the directory), kInvalidInput (not a token).
  static Result<std::unique_ptr<Tokens>> open(const std::filesystem::path& data_dir);

  // Reads the files again; on an error the old tokens stay.
  Result<> reload();
  // The same if a file has changed since; what cannot be read is an error once.
  Result<> reload_if_changed();

  // Whose "Authorization: Bearer" this is. Takes the same time for every wrong token.
  std::optional<Identity> identify(const http::Request& request) const;

 private:
  struct Entry {
    Identity identity;
    std::string secret;
  };
  explicit Tokens(std::filesystem::path data_dir) : data_dir_(std::move(data_dir)) {}
  std::string stamp_of_files() const;

  const std::filesystem::path data_dir_;
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // under mutex_, as is the next
  std::string stamp_;           // of the files that they came from
};

// Decides each request before its body is read. Thread-safe; only computes.
class Gate {
 public:
  struct Options {
    bool reads_are_open = false;  // only when nobody but this machine can reach the server
    bool behind_proxy = false;    // the last address in X-Forwarded-For is the client's
    std::string token_hint;       // where to find the token, for people who get 401
  };
  Gate(const Tokens& tokens, const Clock& clock, Options options);

  // Nothing if the request may go on; else 401, 403, or 429 while no token of its peer is looked
  // at: the right one is refused as well then, so that a guess that is answered tells something
  // only once in a while.
  std::optional<http::Response> check(const http::Request& request, const Route& route);

  // A handler of Scope::kOwn answered 401: a wrong token if the request has one.
  void count_failure(const http::Request& request);

  // True if reads are open or the request has a token: for a public route that says more then. A
  // wrong one counts as everywhere.
  bool may_read(const http::Request& request);

 private:
  struct Judged {
    std::optional<Identity> identity;
    std::optional<http::Response> refused;  // set if there is none
  };
  Judged judge(const http::Request& request);
  std::optional<http::Response> check_pause(const http::Request& request) const;
  std::string peer_of(const http::Request& request) const;
  http::Response unauthorized(const http::Request& request) const;

  const Tokens& tokens_;
  const Options options_;
  Failures failures_;
  LogSample log_sample_;
};

}  // namespace coffer::api
