#include "feed/zmq_subscriber.h"
#include "base/result.h"

#include <zmq.h>

#include <array>

namespace coffer::feed {
namespace {

constexpr std::string_view kSequenceTopic = "sequence";
constexpr std::string_view kHashBlock = "hashblock";
constexpr int kMaxWaiting = 10'000;            // messages in the socket; the node drops the rest
constexpr std::int64_t kMaxPartBytes = 4'096;  // both topics need 41; a peer that sends more is cut
constexpr std::size_t kMaxMessagesAtOnce = 256;  // before the other sockets are looked at
constexpr std::size_t kParts = 3;

struct Message {
  std::array<Bytes, kParts> parts;
  std::size_t count = 0;  // may be more than kept
};

// One whole message, as far as it can be one of ours. Nothing if none is waiting.
std::optional<Message> receive(void* socket) {
  Message message;
  for (;;) {
    zmq_msg_t part;
    ::zmq_msg_init(&part);
    // Parts of a message arrive together: only the first can be missing.
    if (::zmq_msg_recv(&part, socket, ZMQ_DONTWAIT) < 0) {
      ::zmq_msg_close(&part);
      return std::nullopt;
    }
    const auto* data = static_cast<const std::uint8_t*>(::zmq_msg_data(&part));
    if (message.count < kParts)
      message.parts[message.count].assign(data, data + ::zmq_msg_size(&part));
    ++message.count;
    const bool more = ::zmq_msg_more(&part) != 0;
    ::zmq_msg_close(&part);
    if (!more) return message;
  }
}

}  // namespace

std::optional<ZmqNotice> parse_zmq_message(std::string_view topic, ByteView body) {
  using Kind = ZmqNotice::Kind;
  if (body.size() < Hash256::kSize) return std::nullopt;
  ZmqNotice notice{Kind::kTip, reversed(Hash256::from(body.data()))};
  const ByteView rest = body.subspan(Hash256::kSize);
  if (topic == kHashBlock && rest.empty()) return notice;
  if (topic != kSequenceTopic || rest.empty()) return std::nullopt;
  switch (rest.front()) {
    case 'C': notice.kind = Kind::kConnected; break;
    case 'D': notice.kind = Kind::kDisconnected; break;
    case 'A': notice.kind = Kind::kAdded; break;
    case 'R': notice.kind = Kind::kRemoved; break;
    default: return std::nullopt;
  }
  // Those of transactions carry the mempool's own sequence number, which is not needed here.
  const bool of_transaction = notice.kind == Kind::kAdded || notice.kind == Kind::kRemoved;
  if (rest.size() != (of_transaction ? 1u + 8u : 1u)) return std::nullopt;
  return notice;
}

// Touched by start() before the thread begins, and by the thread alone after.
struct ZmqSubscriber::Sockets {
  struct Stream {
    void* data = nullptr;
    void* monitor = nullptr;
    std::optional<std::uint32_t> counter = {};  // of the last message on this connection
  };
  void* context = ::zmq_ctx_new();
  std::vector<Stream> streams;

  bool open(const ZmqTopic& topic, std::size_t index) {
    if (context == nullptr) return false;
    Stream& stream = streams.emplace_back();
    stream.data = ::zmq_socket(context, ZMQ_SUB);
    stream.monitor = ::zmq_socket(context, ZMQ_PAIR);
    if (stream.data == nullptr || stream.monitor == nullptr) return false;
    const int yes = 1, none = 0;
    const auto set = [&](int option, const auto& value) {
      return ::zmq_setsockopt(stream.data, option, &value, sizeof value) == 0;
    };
    const std::string watch = "inproc://monitor-" + std::to_string(index);
    return set(ZMQ_RCVHWM, kMaxWaiting) && set(ZMQ_MAXMSGSIZE, kMaxPartBytes) &&
           set(ZMQ_LINGER, none) && set(ZMQ_IPV6, yes) && set(ZMQ_TCP_KEEPALIVE, yes) &&
           ::zmq_setsockopt(stream.monitor, ZMQ_LINGER, &none, sizeof none) == 0 &&
           ::zmq_setsockopt(stream.data, ZMQ_SUBSCRIBE, topic.topic.data(), topic.topic.size()) ==
               0 &&
           ::zmq_socket_monitor(stream.data, watch.c_str(),
                                ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED) == 0 &&
           ::zmq_connect(stream.monitor, watch.c_str()) == 0 &&
           ::zmq_connect(stream.data, topic.address.c_str()) == 0;
  }

  ~Sockets() {
    if (context == nullptr) return;
    for (Stream& stream : streams) {
      if (stream.data) ::zmq_close(stream.data);
      if (stream.monitor) ::zmq_close(stream.monitor);
    }
    ::zmq_ctx_term(context);
  }
};

ZmqSubscriber::ZmqSubscriber(std::vector<ZmqTopic> topics, std::function<void()> wake,
                             std::size_t max_queued)
    : topics_(std::move(topics)),
      wake_(std::move(wake)),
      max_queued_(max_queued),
      sockets_(std::make_unique<Sockets>()) {}

Result<std::unique_ptr<ZmqSubscriber>> ZmqSubscriber::start(std::vector<ZmqTopic> topics,
                                                            std::function<void()> wake,
                                                            std::size_t max_queued) {
  std::unique_ptr<ZmqSubscriber> subscriber(
      new ZmqSubscriber(std::move(topics), std::move(wake), max_queued));
  for (std::size_t i = 0; i < subscriber->topics_.size(); ++i)
    if (!subscriber->sockets_->open(subscriber->topics_[i], i))
      return fail(Code::kUnavailable, "cannot listen to {}: {}", subscriber->topics_[i].address,
                  ::zmq_strerror(::zmq_errno()));
  subscriber->thread_ = std::thread([raw = subscriber.get()] { raw->run(); });
  return subscriber;
}

ZmqSubscriber::~ZmqSubscriber() {
  // Ends the wait of the thread with ETERM; the sockets are closed after it, by their owner.
  if (sockets_->context != nullptr) ::zmq_ctx_shutdown(sockets_->context);
  if (thread_.joinable()) thread_.join();
}

void ZmqSubscriber::run() {
  std::vector<zmq_pollitem_t> items;
  for (const Sockets::Stream& stream : sockets_->streams) {
    items.push_back({stream.data, 0, ZMQ_POLLIN, 0});
    items.push_back({stream.monitor, 0, ZMQ_POLLIN, 0});
  }
  for (;;) {
    if (::zmq_poll(items.data(), static_cast<int>(items.size()), -1) < 0) {
      if (::zmq_errno() == EINTR) continue;
      return;
    }
    for (std::size_t i = 0; i < sockets_->streams.size(); ++i) {
      if (items[2 * i + 1].revents != 0) receive_monitor_event(i);
      if (items[2 * i].revents != 0) receive_message(i);
    }
    if (pending()) wake_();
  }
}

void ZmqSubscriber::receive_monitor_event(std::size_t stream) {
  while (auto event = receive(sockets_->streams[stream].monitor)) {
    // Whether it came or went: what was published in between is not known.
    sockets_->streams[stream].counter.reset();
    if (topics_[stream].topic == kSequenceTopic) sequence_live_ = false;
    push({});
  }
}

void ZmqSubscriber::receive_message(std::size_t stream) {
  std::optional<std::uint32_t>& last = sockets_->streams[stream].counter;
  for (std::size_t i = 0; i < kMaxMessagesAtOnce; ++i) {
    const auto message = receive(sockets_->streams[stream].data);
    if (!message) return;
    const auto& [topic, body, counter] = message->parts;
    std::optional<ZmqNotice> notice;
    if (message->count == kParts && counter.size() == 4 &&
        equal(topic, as_bytes(topics_[stream].topic)))
      notice = parse_zmq_message(topics_[stream].topic, body);
    if (!notice) {
      last.reset();
      push({});
      continue;
    }
    const std::uint32_t number = load_le<std::uint32_t>(counter.data());
    const bool follows = last && number == *last + 1;
    last = number;
    if (topics_[stream].topic == kSequenceTopic) sequence_live_ = true;
    push(follows ? *notice : ZmqNotice{});
  }
}

void ZmqSubscriber::push(const ZmqNotice& notice) {
  std::lock_guard lock(mutex_);
  const bool lost = notice.kind == ZmqNotice::Kind::kLost || queue_.size() >= max_queued_;
  // Whoever takes a kLost asks for everything: what is queued before it adds nothing.
  if (lost) queue_.clear();
  queue_.push_back(lost ? ZmqNotice{} : notice);
}

std::optional<ZmqNotice> ZmqSubscriber::take() {
  std::lock_guard lock(mutex_);
  if (queue_.empty()) return std::nullopt;
  const ZmqNotice notice = queue_.front();
  queue_.pop_front();
  return notice;
}

bool ZmqSubscriber::pending() const {
  std::lock_guard lock(mutex_);
  return !queue_.empty();
}

}  // namespace coffer::feed
