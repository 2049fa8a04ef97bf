#include "token/routes/events.h"

#include <coffer/base/log.h>
#include "api/periodic_task.h"
#include "base/result.h"

namespace coffer::token {

namespace {

constexpr std::chrono::milliseconds kLookAgain{500};

std::string_view event_type(const LogEntry& entry) {
  return entry.is_transaction() ? "transaction" : "wallet_event";
}

}  // namespace

class LogEvents final : public chainstate::EventReader {
 public:
  explicit LogEvents(const Community& community) : log_(community) {
    look();
    task_.emplace([this](const auto&) { look(); },
                  [](auto) { return api::PeriodicTask::Duration(kLookAgain); });
  }

  Range range() const override { return {1, size_.load()}; }

  Result<std::vector<chainstate::LoggedEvent>> read(std::uint64_t after,
                                                    std::size_t limit) const override {
    const auto entries = TRY(log_.entries(after, std::min(limit, kMaxPage)));
    std::vector<chainstate::LoggedEvent> events;
    events.reserve(entries.size());
    for (const PlacedEntry& one : entries)
      events.push_back({one.position + 1, std::string(event_type(one.entry)), to_text(one.entry)});
    return events;
  }

  void on_append(std::function<void()> wake) override {
    std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

 private:
  void look() {
    const auto status = log_.status();
    if (!status && !failed_)
      log::warn("events of a community wait", {{"problem", status.error().message}});
    failed_ = !status;
    if (!status || status->size == size_.load()) return;
    size_ = status->size;
    std::lock_guard lock(mutex_);
    if (wake_) wake_();
  }

  const Log log_;
  std::atomic<std::uint64_t> size_{0};
  bool failed_ = false;  // of the thread that looks
  std::mutex mutex_;     // guards wake_
  std::function<void()> wake_;
  std::optional<api::PeriodicTask> task_;  // last: it uses the rest
};

struct CommunityEvents::Feed {
  explicit Feed(const Community& community)
      : events(community), hub(events, {.shared_log = true}) {}

  LogEvents events;
  api::EventHub hub;  // reads the events
};

CommunityEvents::CommunityEvents() = default;
CommunityEvents::~CommunityEvents() = default;

std::optional<http::Response> CommunityEvents::subscribe(
    Store& store, const http::Request& request, const std::shared_ptr<http::EventStream>& stream) {
  Feed* feed = nullptr;
  {
    std::lock_guard lock(mutex_);
    auto& found = feeds_[store.community()];
    if (!found) found = std::make_unique<Feed>(store.ledger());
    feed = found.get();
  }
  return feed->hub.subscribe(request, stream);
}

}  // namespace coffer::token
