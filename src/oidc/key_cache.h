// A provider's key set as last read, and when it is read again.
// Invariant: at most one read at a time, none sooner after the last one than the policy says, and
// nobody waits for one longer than its deadline. A read that fails leaves the keys as they were.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <coffer/base/clock.h>
#include "base/result.h"
#include "oidc/key_set.h"
#include "oidc/key_source.h"

namespace coffer::oidc {

struct RefreshPolicy {
  std::int64_t refresh_ms = 300'000;  // keys older than this are read again before they are used
  std::int64_t min_interval_ms = 10'000;  // from the begin of one read to that of the next
  std::int64_t max_interval_ms = 60'000;  // the interval doubles with every failure up to this
  std::int64_t max_age_ms = 86'400'000;   // keys are used so long while reading fails
  // From the begin of a read, for the caller who began it because there is no key to go on with;
  // and for all others.
  std::int64_t wait_ms = 5'000;
  std::int64_t join_ms = 1'000;
};

struct KeyStatus {
  std::size_t keys = 0;
  std::optional<std::int64_t> age_ms;  // since they were read; nothing if they never were
  std::uint64_t reads = 0;             // begun so far
  std::uint64_t failures = 0;          // since the last success
  std::string last_error;              // empty after a success
};

// Thread-safe.
class KeyCache {
 public:
  using Keys = std::shared_ptr<const KeySet>;

  // `name` is the issuer, for messages and the log.
  KeyCache(std::string name, std::unique_ptr<KeySource> source, Algorithms accepted,
           RefreshPolicy policy, const Clock& clock);
  // Stops; waits for the look-up of a host's name, if one is under way.
  ~KeyCache();
  KeyCache(const KeyCache&) = delete;
  KeyCache& operator=(const KeyCache&) = delete;

  // The keys, read first if they are unknown or due. Cost: a lock; else up to wait_ms or join_ms.
  // Errors: kUnavailable if there are none to use.
  Result<Keys> current();
  // For a key that is not in `seen`: other keys if there are any, read now if that is allowed.
  // Errors: as current().
  Result<Keys> newer_than(const Keys& seen);

  // Ends every wait and the read under way; no other begins. Idempotent.
  void stop();

  KeyStatus status() const;

 private:
  // These are called with the lock.
  bool is_usable(std::int64_t now_ms) const;
  bool begin_read_if_due(std::int64_t now_ms);
  std::int64_t interval_ms() const;
  void wait_for_read(std::unique_lock<std::mutex>& lock,
                     std::chrono::steady_clock::time_point until);
  Result<Keys> usable_keys() const;

  void read();  // in the thread reader_
  void finish_read(Result<KeySet> keys);

  const std::string name_;
  const std::unique_ptr<KeySource> source_;
  const Algorithms accepted_;
  const RefreshPolicy policy_;
  const Clock& clock_;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable read_ended_;
  Keys keys_;                             // null before the first success
  std::int64_t keys_read_ms_ = 0;         // on the steady clock
  std::optional<std::int64_t> began_ms_;  // the last read, on the steady clock
  // Of waiting for it: for who began it, and for all others.
  std::chrono::steady_clock::time_point deadline_, join_deadline_;
  bool is_reading_ = false;
  bool is_stopped_ = false;
  std::thread reader_;
  std::uint64_t reads_ = 0;
  std::uint64_t failures_ = 0;
  std::string last_error_;
};

}  // namespace coffer::oidc
