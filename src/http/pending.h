// Requests that an AsyncHandler has taken and not answered yet. Internal to http.
// Invariant: a PendingRequest may outlive its connection and its server; then its answer goes
// nowhere.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>

#include "http/body_budget.h"
#include "http/router.h"

namespace coffer::http {

class PendingRequest;

// Those of one server. Thread-safe.
class PendingRequests : public std::enable_shared_from_this<PendingRequests> {
 public:
  // Takes an answer to the client and to Options::after; not called after close().
  using Deliver = std::function<void(const Request&, Response)>;

  explicit PendingRequests(std::size_t bound) : bound_(bound) {}

  // Null when there are as many as allowed. The share of its body lives as long as the request.
  std::shared_ptr<PendingRequest> add(Request request, BodyBudget::Share body, Deliver deliver);
  std::size_t count() const;
  // From now on answers are dropped. Waits for those that are being delivered.
  void close();

 private:
  friend class PendingRequest;
  bool begin_delivery();
  void end_delivery();

  const std::size_t bound_;
  mutable std::mutex mutex_;
  std::condition_variable delivered_;
  std::size_t count_ = 0;
  std::size_t delivering_ = 0;
  bool closed_ = false;
};

// Answered once; with 500 when it goes unanswered. Thread-safe.
class PendingRequest {
 public:
  PendingRequest(std::shared_ptr<PendingRequests> owner, Request request, BodyBudget::Share body,
                 PendingRequests::Deliver deliver)
      : owner_(std::move(owner)),
        body_(std::move(body)),
        request_(std::move(request)),
        deliver_(std::move(deliver)) {}
  ~PendingRequest();
  PendingRequest(const PendingRequest&) = delete;
  PendingRequest& operator=(const PendingRequest&) = delete;

  const Request& request() const { return request_; }
  void answer(Response response);

 private:
  const std::shared_ptr<PendingRequests> owner_;
  const BodyBudget::Share body_;
  const Request request_;
  const PendingRequests::Deliver deliver_;
  std::atomic<bool> answered_ = false;
};

}  // namespace coffer::http
