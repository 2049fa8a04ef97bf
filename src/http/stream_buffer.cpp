#include "http/stream_buffer.h"

namespace coffer::http {

StreamBuffer::StreamBuffer(std::size_t limit, std::function<void()> schedule)
    : limit_(limit), schedule_(std::move(schedule)) {}

void StreamBuffer::schedule() {
  if (scheduled_ || !schedule_) return;
  scheduled_ = true;
  schedule_();
}

bool StreamBuffer::send(std::string_view frame) {
  std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (pending_.size() + in_flight_ + frame.size() > limit_) {
    closed_ = overflow_ = true;
    schedule();
    return false;
  }
  pending_ += frame;
  schedule();
  return true;
}

void StreamBuffer::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  schedule();
}

bool StreamBuffer::closed() const {
  std::lock_guard lock(mutex_);
  return closed_;
}

std::size_t StreamBuffer::buffered() const {
  std::lock_guard lock(mutex_);
  return pending_.size() + in_flight_;
}

void StreamBuffer::on_close(std::function<void()> callback) {
  {
    std::lock_guard lock(mutex_);
    if (!ended_) {
      on_close_ = std::move(callback);
      return;
    }
  }
  if (callback) callback();
}

void StreamBuffer::on_drained(std::function<void()> callback) {
  std::lock_guard lock(mutex_);
  if (!ended_) on_drained_ = std::move(callback);
}

StreamBuffer::Next StreamBuffer::take(std::string& out, bool busy) {
  std::lock_guard lock(mutex_);
  scheduled_ = false;
  if (overflow_) return Next::kDrop;
  if (busy) return Next::kNothing;
  if (pending_.empty()) return closed_ ? Next::kFinish : Next::kNothing;
  out.clear();
  out.swap(pending_);
  in_flight_ = out.size();
  return Next::kWrite;
}

void StreamBuffer::written() {
  std::function<void()> drained;
  {
    std::lock_guard lock(mutex_);
    in_flight_ = 0;
    if (pending_.empty() && !closed_) drained = on_drained_;
  }
  if (drained) drained();
}

void StreamBuffer::end() {
  std::function<void()> callback, dropped;
  {
    std::lock_guard lock(mutex_);
    closed_ = ended_ = true;
    schedule_ = nullptr;
    pending_ = {};
    in_flight_ = 0;
    callback.swap(on_close_);
    dropped.swap(on_drained_);
  }
  if (callback) callback();
}

}  // namespace coffer::http
