#include "api/events.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>

#include <coffer/base/log.h>
#include "base/result.h"

namespace coffer::api {
namespace {

std::optional<std::uint64_t> parse_id(std::string_view text) {
  std::uint64_t id = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

}  // namespace

struct EventHub::Signal {
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool awake = false;
  bool stopping = false;
  std::size_t subscribers = 0;
  std::vector<Subscriber> incoming;

  void wake() {
    std::lock_guard lock(mutex);
    if (awake) return;
    awake = true;
    changed.notify_one();
  }
};

EventHub::EventHub(chainstate::EventReader& reader, Options options)
    : reader_(reader), options_(options), signal_(std::make_shared<Signal>()) {
  reader_.on_append([signal = signal_] { signal->wake(); });
  thread_ = std::thread([this] { run(); });
}

EventHub::~EventHub() {
  stop();
}

void EventHub::stop() {
  reader_.on_append({});
  {
    std::lock_guard lock(signal_->mutex);
    signal_->stopping = true;
    signal_->changed.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

std::size_t EventHub::subscribers() const {
  std::lock_guard lock(signal_->mutex);
  return signal_->subscribers;
}

// Nothing if what is given is no number.
std::optional<std::uint64_t> EventHub::start_of(const http::Request& request) const {
  // A browser that reconnects keeps the URL, so the header is the newer of the two.
  auto after = request.header("Last-Event-ID");
  if (!after) after = request.query_param("after");
  if (after) return parse_id(*after);
  auto range = reader_.range();
  auto back = request.query_param("last");
  if (!back) return range.last;
  auto count = parse_id(*back);
  if (!count) return std::nullopt;
  std::uint64_t kept = range.first <= range.last ? range.last - range.first + 1 : 0;
  return range.last - std::min(*count, kept);
}

std::optional<http::Response> EventHub::subscribe(
    const http::Request& request, const std::shared_ptr<http::EventStream>& stream) {
  auto after = start_of(request);
  if (!after)
    return http::problem(400, "invalid_input", "Last-Event-ID, after and last are numbers",
                         request.path);
  {
    std::lock_guard lock(signal_->mutex);
    if (signal_->stopping || signal_->subscribers >= options_.max_subscribers)
      return http::problem(503, "unavailable", "too many subscribers; try again later",
                           request.path);
    ++signal_->subscribers;
  }
  stream->on_close([signal = signal_] {
    std::lock_guard lock(signal->mutex);
    --signal->subscribers;
    signal->awake = true;
    signal->changed.notify_one();
  });
  stream->on_drained([signal = signal_] { signal->wake(); });
  // An id without data makes no event, but whoever loses the connection now resumes here.
  stream->send(fmt::format("retry: 2000\nid: {}\n\n", *after));
  std::lock_guard lock(signal_->mutex);
  signal_->incoming.push_back({stream, *after});
  signal_->awake = true;
  signal_->changed.notify_one();
  return std::nullopt;
}

void EventHub::run() {
  std::unique_lock lock(signal_->mutex);
  for (;;) {
    signal_->changed.wait(lock, [&] { return signal_->awake || signal_->stopping; });
    signal_->awake = false;
    std::move(signal_->incoming.begin(), signal_->incoming.end(), std::back_inserter(subscribers_));
    signal_->incoming.clear();
    if (signal_->stopping) break;
    lock.unlock();
    bool more = serve_all();
    lock.lock();
    if (more) signal_->awake = true;
  }
  lock.unlock();
  for (Subscriber& subscriber : subscribers_) subscriber.stream->close();
  subscribers_.clear();
}

// True if someone can be sent more at once.
bool EventHub::serve_all() {
  std::erase_if(subscribers_, [](const Subscriber& s) { return s.stream->closed(); });
  std::sort(subscribers_.begin(), subscribers_.end(),
            [](const Subscriber& a, const Subscriber& b) { return a.after < b.after; });
  std::optional<Batch> batch;
  bool more = false;
  for (Subscriber& subscriber : subscribers_) more |= serve(subscriber, batch);
  return more;
}

bool EventHub::serve(Subscriber& subscriber, std::optional<Batch>& batch) {
  if (subscriber.stream->buffered() > options_.buffered_bytes) return false;  // on_drained wakes us
  auto range = reader_.range();
  if (subscriber.after > range.last || subscriber.after + 1 < range.first)
    return reset(subscriber, range.first, range.last);
  if (subscriber.after == range.last) return false;
  if (!batch || batch->after != subscriber.after) {
    auto read = read_batch(subscriber.after);
    if (!read) {
      log::warn("cannot read events", {{"problem", read.error().message}});
      subscriber.stream->close();  // the client tries again
      return false;
    }
    batch = std::move(*read);
  }
  if (batch->first == 0) return false;
  // What came next was dropped between the look at the range and the reading.
  if (batch->first != subscriber.after + 1) return reset(subscriber, batch->first, range.last);
  subscriber.stream->send(batch->frames);
  subscriber.after = batch->last;
  return batch->more;
}

bool EventHub::reset(Subscriber& subscriber, std::uint64_t first, std::uint64_t last) {
  subscriber.after = first > 0 ? first - 1 : 0;
  return subscriber.stream->send(
      fmt::format("id: {}\nevent: reset\ndata: {{\"first\":{},\"last\":{}}}\n\n", subscriber.after,
                  first, last));
}

Result<EventHub::Batch> EventHub::read_batch(std::uint64_t after) const {
  auto events = TRY(reader_.read(after, options_.batch_events));
  Batch batch;
  batch.after = after;
  batch.more = events.size() == options_.batch_events;
  for (const auto& event : events) {
    if (batch.frames.size() >= options_.batch_bytes) {
      batch.more = true;
      break;
    }
    if (batch.first == 0) batch.first = event.id;
    batch.last = event.id;
    fmt::format_to(std::back_inserter(batch.frames), "id: {}\nevent: {}\ndata: {}\n\n", event.id,
                   event.type, event.data);
  }
  return batch;
}

}  // namespace coffer::api
