#include "token/transfer/group_commit.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "token/store_impl.h"
#include "token/transfer/check.h"
#include "token/transfer/group.h"

namespace coffer::token {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How many wallets that are locked elsewhere are waited for at the same time.
constexpr std::size_t kMaxWaiters = 2;
// Those who were just answered often come again at once. The next group waits for them a fraction
// of the time that the last one took: a large one if they share wallets, because then there is one
// group at a time and who misses it waits for all of it; a small one if not, because then those who
// are there and those who come can be two groups under way together.
constexpr int kGatherFractionShared = 2, kGatherFraction = 16;
constexpr std::chrono::microseconds kMaxGather{4'000};

SteadyClock::duration time_to_gather(SteadyClock::duration took, std::size_t transfers,
                                     std::size_t wallets) {
  const bool share_wallets = wallets * 2 < transfers * 3;
  return std::min<SteadyClock::duration>(
      took / (share_wallets ? kGatherFractionShared : kGatherFraction), kMaxGather);
}

std::int64_t queue_clock_ms() {
  return system_clock().steady_ms();
}

void answer_all(GroupItems items, const Error& error) {
  for (auto& item : items) item->done(std::unexpected(error));
}

}  // namespace

struct GroupCommit::Impl {
  Impl(const Community& community, const StoreOptions& options)
      : community_(community), options_(options) {
    if (community.is_sqlite()) options_.committers = 1;
  }
  ~Impl();

  void submit(std::unique_ptr<GroupItem> item);
  Store::GroupStats stats() const;

 private:
  void start();
  void commit_groups();
  GroupItems next_group();
  void serve_locked_wallets();
  void serve(const Uuid& wallet);
  bool wait_and_commit(const Uuid& wallet);
  void finish(GroupItems items, std::vector<GroupAnswer> answers, SteadyClock::duration took);

  const Community& community_;
  StoreOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable has_work_, has_gathered_, has_locked_;
  GroupQueue queue_;
  // Until then the next group waits for so many.
  SteadyClock::time_point gather_until_{};
  std::size_t gather_size_ = 0;
  std::size_t gathering_ = 0;  // committers that do
  Store::GroupStats stats_;
  GroupCaution caution_;
  bool stopping_ = false;
  std::vector<std::thread> committers_, waiters_;
};

GroupCommit::Impl::~Impl() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    has_work_.notify_all();
    has_gathered_.notify_all();
    has_locked_.notify_all();
  }
  for (auto& thread : committers_) thread.join();
  for (auto& thread : waiters_) thread.join();
  answer_all(queue_.take_all(), make_error(Code::kCancelled, "the ledger is being closed"));
}

void GroupCommit::Impl::submit(std::unique_ptr<GroupItem> item) {
  std::unique_lock lock(mutex_);
  if (queue_.size() >= options_.max_waiting) {
    lock.unlock();
    item->done(std::unexpected(
        refusal("too_many_waiting",
                fmt::format("{} transfers wait already; try again", options_.max_waiting))));
    return;
  }
  if (committers_.empty()) start();
  const bool is_free = queue_.is_free(*item);
  queue_.add(std::move(item));
  // If it is not free the group that has its wallets wakes somebody when it is done.
  if (gathering_ > 0) {
    if (queue_.size() >= gather_size_) has_gathered_.notify_all();
  } else if (is_free) {
    has_work_.notify_one();
  }
}

Store::GroupStats GroupCommit::Impl::stats() const {
  const std::lock_guard lock(mutex_);
  Store::GroupStats now = stats_;
  now.waiting = queue_.size();
  return now;
}

void GroupCommit::Impl::start() {
  const std::size_t count = std::max<std::size_t>(options_.committers, 1);
  for (std::size_t i = 0; i < count; ++i) committers_.emplace_back([this] { commit_groups(); });
  if (community_.is_sqlite()) return;
  for (std::size_t i = 0; i < kMaxWaiters; ++i)
    waiters_.emplace_back([this] { serve_locked_wallets(); });
}

void GroupCommit::Impl::commit_groups() {
  for (;;) {
    GroupItems group = next_group();
    if (group.empty()) return;
    const auto start = SteadyClock::now();
    auto answers = run_group(community_, group, caution_);
    finish(std::move(group), std::move(answers), SteadyClock::now() - start);
  }
}

// Empty when the ledger is being closed.
GroupItems GroupCommit::Impl::next_group() {
  std::unique_lock lock(mutex_);
  GroupItems group;
  while (group.empty() && !stopping_) {
    ++gathering_;
    has_gathered_.wait_until(lock, gather_until_,
                             [&] { return stopping_ || queue_.size() >= gather_size_; });
    --gathering_;
    group = queue_.take();
    if (group.empty() && !stopping_) has_work_.wait(lock);
  }
  return group;
}

// What is left over waits for its wallet; the rest is answered.
void GroupCommit::Impl::finish(GroupItems items, std::vector<GroupAnswer> answers,
                               SteadyClock::duration took) {
  {
    const std::lock_guard lock(mutex_);
    ++stats_.groups;
    stats_.transfers += items.size();
    const std::size_t wallets = queue_.release(items);
    const std::int64_t now_ms = queue_clock_ms();
    for (std::size_t i = 0; i < items.size(); ++i)
      if (answers[i].locked_elsewhere)
        queue_.block(std::move(items[i]), *answers[i].locked_elsewhere, now_ms);
    gather_size_ =
        std::min({queue_.size() + items.size(), GroupQueue::kMaxGroup, options_.max_waiting});
    gather_until_ = SteadyClock::now() + time_to_gather(took, items.size(), wallets);
    has_work_.notify_all();
    has_locked_.notify_all();
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i]) items[i]->done(std::move(answers[i].applied));
}

void GroupCommit::Impl::serve_locked_wallets() {
  for (;;) {
    std::optional<Uuid> wallet;
    {
      std::unique_lock lock(mutex_);
      has_locked_.wait(lock, [&] { return stopping_ || (wallet = queue_.serve_blocked()); });
      if (stopping_) return;
    }
    serve(*wallet);
  }
}

void GroupCommit::Impl::serve(const Uuid& wallet) {
  for (;;) {
    const bool go_on = wait_and_commit(wallet);
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    if (!go_on) queue_.unblock(wallet);
    if (!go_on || !queue_.is_still_blocked(wallet)) {
      has_work_.notify_all();
      return;
    }
  }
}

// Waits for the wallet's lock and holds nothing else meanwhile; then its items are a group like
// others. False if the wallet was free and nothing could be taken.
bool GroupCommit::Impl::wait_and_commit(const Uuid& wallet) {
  const std::int64_t timeout_ms = community_.database().options().lock_timeout_ms;
  sql::TransactionOptions options = kWrite;
  options.give_up_after_ms = static_cast<int>(timeout_ms);
  options.max_attempts = 2;
  GroupItems group;
  std::vector<GroupAnswer> answers;
  const auto done = community_.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        TRY(lock_wallets(sql, community_, {&wallet, 1}));
        if (group.empty()) {
          const std::lock_guard lock(mutex_);
          group = queue_.take_blocked(wallet);
        }
        if (group.empty()) return {};
        return commit_group(sql, community_, group, answers);
      },
      options);
  if (done && group.empty()) return false;
  if (!done && group.empty()) {
    Error error = done.error();
    GroupItems overdue;
    {
      // Who came while this attempt waited gets another one, if another one can help.
      const std::lock_guard lock(mutex_);
      overdue =
          queue_.take_overdue(wallet, queue_clock_ms() - (error.retryable ? timeout_ms / 2 : 0));
    }
    if (error.code == Code::kUnavailable)
      error.message = fmt::format("wallet {} is locked by another session; try again ({})",
                                  to_string(wallet), error.message);
    answer_all(std::move(overdue), error);
    return true;
  }
  if (!done) answers = run_group(community_, group, caution_);
  finish(std::move(group), std::move(answers), {});
  return true;
}

GroupCommit::GroupCommit(const Community& community, const StoreOptions& options)
    : impl_(std::make_unique<Impl>(community, options)) {}
GroupCommit::~GroupCommit() = default;

Store::GroupStats GroupCommit::stats() const {
  return impl_->stats();
}

void GroupCommit::submit(Transfer transfer, Actor actor, Store::Done done) {
  auto checked = check_actor(actor);
  if (checked) checked = check_transfer(transfer);
  if (!checked) return done(std::unexpected(std::move(checked).error()));
  auto item = std::make_unique<GroupItem>();
  item->transfer = std::move(transfer);
  item->actor = std::move(actor);
  item->done = std::move(done);
  impl_->submit(std::move(item));
}

}  // namespace coffer::token
