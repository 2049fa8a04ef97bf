#include "oidc/key_cache.h"

#include <algorithm>
#include <system_error>

#include <coffer/base/log.h>

namespace coffer::oidc {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

KeyCache::KeyCache(std::string name, std::unique_ptr<KeySource> source, Algorithms accepted,
                   RefreshPolicy policy, const Clock& clock)
    : name_(std::move(name)),
      source_(std::move(source)),
      accepted_(std::move(accepted)),
      policy_(policy),
      clock_(clock) {}

KeyCache::~KeyCache() {
  stop();
  if (reader_.joinable()) reader_.join();
}

void KeyCache::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  source_->cancel();
  read_ended_.notify_all();
}

Result<KeyCache::Keys> KeyCache::current() {
  std::unique_lock lock(mutex_);
  const std::int64_t now_ms = clock_.steady_ms();
  const bool is_due = !keys_ || now_ms - keys_read_ms_ >= policy_.refresh_ms;
  const bool began = is_due && begin_read_if_due(now_ms);
  // Who has keys to go on with waits only for a read of their own, and not long.
  if (!is_usable(now_ms))
    wait_for_read(lock, began ? deadline_ : join_deadline_);
  else if (began)
    wait_for_read(lock, join_deadline_);
  return usable_keys();
}

Result<KeyCache::Keys> KeyCache::newer_than(const Keys& seen) {
  std::unique_lock lock(mutex_);
  if (keys_ == seen) {
    const bool began = begin_read_if_due(clock_.steady_ms());
    wait_for_read(lock, began ? deadline_ : join_deadline_);
  }
  return usable_keys();
}

bool KeyCache::is_usable(std::int64_t now_ms) const {
  return keys_ && now_ms - keys_read_ms_ < policy_.max_age_ms;
}

std::int64_t KeyCache::interval_ms() const {
  const auto doublings = std::min<std::uint64_t>(failures_, 16);
  return std::min(policy_.min_interval_ms << doublings,
                  std::max(policy_.min_interval_ms, policy_.max_interval_ms));
}

// A read has a thread of its own, since the look-up of a host's name knows no deadline.
bool KeyCache::begin_read_if_due(std::int64_t now_ms) {
  if (is_stopped_ || is_reading_) return false;
  if (began_ms_ && now_ms - *began_ms_ < interval_ms()) return false;
  if (reader_.joinable()) reader_.join();  // it ended when it cleared is_reading_
  began_ms_ = now_ms;
  try {
    reader_ = std::thread([this] { read(); });
  } catch (const std::system_error& error) {
    ++failures_;
    last_error_ = error.what();
    return false;
  }
  ++reads_;
  is_reading_ = true;
  const auto now = steady_clock::now();
  deadline_ = now + milliseconds(policy_.wait_ms);
  join_deadline_ = now + milliseconds(std::min(policy_.wait_ms, policy_.join_ms));
  return true;
}

void KeyCache::wait_for_read(std::unique_lock<std::mutex>& lock, steady_clock::time_point until) {
  const std::uint64_t read = reads_;
  read_ended_.wait_until(lock, until,
                         [&] { return !is_reading_ || is_stopped_ || reads_ != read; });
}

Result<KeyCache::Keys> KeyCache::usable_keys() const {
  const std::int64_t now_ms = clock_.steady_ms();
  if (is_usable(now_ms)) return keys_;
  if (is_stopped_) return fail(Code::kUnavailable, "stopping");
  if (is_reading_ || !began_ms_)
    return fail(Code::kUnavailable, "waiting for the keys of {}; try again in a few seconds",
                name_);
  const std::int64_t wait_ms = std::max<std::int64_t>(0, *began_ms_ + interval_ms() - now_ms);
  return fail(Code::kUnavailable, "no keys of {}: {}; it is asked again in {} s", name_,
              last_error_, (wait_ms + 999) / 1000);
}

void KeyCache::read() {
  const auto text = source_->read();
  if (!text) return finish_read(fail(text.error()));
  finish_read(KeySet::parse(*text, accepted_));
}

void KeyCache::finish_read(Result<KeySet> keys) {
  // Logged before the lock is taken, so that no caller waits for the log.
  if (!keys)
    log::warn("provider keys not read", {{"issuer", name_}, {"error", keys.error().message}});
  else if (keys->size() == 0)
    log::warn("provider has no keys to use",
              {{"issuer", name_}, {"ignored", keys->ignored()}, {"accepted", names_of(accepted_)}});
  else
    log::debug("provider keys read",
               {{"issuer", name_}, {"keys", keys->size()}, {"ignored", keys->ignored()}});
  {
    const std::lock_guard lock(mutex_);
    if (keys) {
      keys_ = std::make_shared<const KeySet>(*std::move(keys));
      keys_read_ms_ = clock_.steady_ms();
      failures_ = 0;
      last_error_.clear();
    } else {
      ++failures_;
      last_error_ = std::move(keys).error().message;
    }
    is_reading_ = false;
  }
  read_ended_.notify_all();
}

KeyStatus KeyCache::status() const {
  const std::lock_guard lock(mutex_);
  KeyStatus status;
  status.reads = reads_;
  status.failures = failures_;
  status.last_error = last_error_;
  if (keys_) {
    status.keys = keys_->size();
    status.age_ms = clock_.steady_ms() - keys_read_ms_;
  }
  return status;
}

}  // namespace coffer::oidc
