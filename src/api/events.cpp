#include "api/events.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>

#include <coffer/base/log.h>
#include "base/result.h"

namespace coffer::api {
namespace {

constexpr std::size_t kMarkDigits = 16;

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t id = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return id;
}

// Of what an event says: FNV-1a. A block's event has the block's hash in it.
std::string mark_of(const chainstate::LoggedEvent& event) {
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  };
  add(event.type);
  add(std::string_view("\0", 1));
  add(event.data);
  return fmt::format("{:016x}", hash);
}

bool is_mark(std::string_view text) {
  return text.size() == kMarkDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

std::string event_id(const chainstate::LoggedEvent& event) {
  return fmt::format("{}-{}", event.id, mark_of(event));
}

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

std::string EventHub::id_of(const chainstate::LoggedEvent& event) const {
  return options_.shared_log ? std::to_string(event.id) : event_id(event);
}

// The beginning is the same in every log.
Result<EventHub::Start> EventHub::find_start(std::uint64_t after,
                                             std::optional<std::string_view> mark) const {
  if (after == 0 || options_.shared_log) return Start{after, !mark, std::to_string(after)};
  const auto range = reader_.range();
  const bool is_kept = after >= range.first && after <= range.last;
  const auto found =
      is_kept ? TRY(reader_.read(after - 1, 1)) : std::vector<chainstate::LoggedEvent>();
  if (found.empty() || found.front().id != after) return Start{after, !mark, "0"};
  return Start{after, !mark || *mark == mark_of(found.front()), id_of(found.front())};
}

Result<EventHub::Start> EventHub::start_of(const http::Request& request) const {
  // A browser that reconnects keeps the URL, so the header is the newer of the two.
  auto id = request.header("Last-Event-ID");
  if (!id) id = request.query_param("after");
  if (id) {
    const std::size_t dash = id->find('-');
    const auto number = parse_number(id->substr(0, dash));
    std::optional<std::string_view> mark;
    if (dash != std::string_view::npos) mark = id->substr(dash + 1);
    if (!number || (mark && !is_mark(*mark)))
      return fail(Code::kInvalidInput, "Last-Event-ID and after are ids of events");
    return find_start(*number, mark);
  }
  auto range = reader_.range();
  auto back = request.query_param("last");
  if (!back) return find_start(range.last, std::nullopt);
  auto count = parse_number(*back);
  if (!count) return fail(Code::kInvalidInput, "last is a number of events");
  std::uint64_t kept = range.first <= range.last ? range.last - range.first + 1 : 0;
  return find_start(range.last - std::min(*count, kept), std::nullopt);
}

std::optional<http::Response> EventHub::subscribe(
    const http::Request& request, const std::shared_ptr<http::EventStream>& stream) {
  const auto start = start_of(request);
  if (!start) return http::problem(start.error(), request.path);
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
  stream->send(fmt::format("retry: 2000\nid: {}\n\n", start->is_known ? start->id : "0"));
  std::lock_guard lock(signal_->mutex);
  signal_->incoming.push_back({stream, start->after, !start->is_known});
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
  if (subscriber.must_reset || subscriber.after > range.last || subscriber.after + 1 < range.first)
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
  subscriber.must_reset = false;
  // Whoever loses the connection right now starts anew, wherever that is.
  const std::string id = options_.shared_log ? std::to_string(subscriber.after) : "0";
  return subscriber.stream->send(
      fmt::format("id: {}\nevent: reset\ndata: {{\"first\":{},\"last\":{}}}\n\n", id, first, last));
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
    fmt::format_to(std::back_inserter(batch.frames), "id: {}\nevent: {}\ndata: {}\n\n",
                   id_of(event), event.type, event.data);
  }
  return batch;
}

}  // namespace coffer::api
