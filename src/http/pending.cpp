#include "http/pending.h"

namespace coffer::http {

std::shared_ptr<PendingRequest> PendingRequests::add(Request request, BodyBudget::Share body,
                                                     Deliver deliver) {
  {
    std::lock_guard lock(mutex_);
    if (count_ >= bound_) return nullptr;
    ++count_;
  }
  return std::make_shared<PendingRequest>(shared_from_this(), std::move(request), std::move(body),
                                          std::move(deliver));
}

std::size_t PendingRequests::count() const {
  std::lock_guard lock(mutex_);
  return count_;
}

void PendingRequests::close() {
  std::unique_lock lock(mutex_);
  closed_ = true;
  delivered_.wait(lock, [&] { return delivering_ == 0; });
}

bool PendingRequests::begin_delivery() {
  std::lock_guard lock(mutex_);
  --count_;
  if (closed_) return false;
  ++delivering_;
  return true;
}

void PendingRequests::end_delivery() {
  std::lock_guard lock(mutex_);
  if (--delivering_ == 0) delivered_.notify_all();
}

PendingRequest::~PendingRequest() {
  if (!answered_)
    answer(problem(500, "internal", "the request was dropped without an answer", request_.path));
}

void PendingRequest::answer(Response response) {
  if (answered_.exchange(true) || !owner_->begin_delivery()) return;
  deliver_(request_, std::move(response));
  owner_->end_delivery();
}

}  // namespace coffer::http
