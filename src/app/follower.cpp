#include "app/follower.h"

#include <thread>

#include "base/log.h"

namespace coffer::app {
namespace {

constexpr std::size_t kMaxMempool = 1'000'000;

}  // namespace

std::string_view to_string(FollowState state) {
  constexpr std::string_view kNames[] = {"connecting", "syncing", "following", "stopped", "failed"};
  return kNames[static_cast<int>(state)];
}

Follower::Follower(feed::Source& source, const chain::Network& network,
                   chainstate::ChainState& chain, bus::Bus& bus, FollowerOptions options)
    : source_(source), network_(network), chain_(chain), bus_(bus), options_(std::move(options)) {}

void Follower::set_state(FollowState state, std::string problem) {
  std::lock_guard lock(mutex_);
  status_.state = state;
  status_.problem = std::move(problem);
}

FollowStatus Follower::status() const {
  std::lock_guard lock(mutex_);
  FollowStatus copy = status_;
  copy.source_number = source_.tip_number();
  return copy;
}

void Follower::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  source_.interrupt();
}

Result<bus::Position> Follower::rejoin_by_blocks(const bus::ConsumerInfo& info) {
  const std::uint64_t height = chain_.position().height();
  for (std::uint64_t below = height;;) {
    const auto kept = TRY(bus_.newest_kept(info.name, below));
    std::optional<chainstate::HeaderInfo> header;
    if (kept) header = TRY(chain_.at(kept->ordinal));
    if (kept && (!header || header->hash != kept->hash)) {
      below = kept->ordinal.value;
      continue;
    }
    // All it has of our part of the chain is right; the rest we shall see.
    if (below == height && info.position.height() > height) {
      settle_at_height_ =
          std::min(settle_at_height_.value_or(info.position.height()), info.position.height());
      log::warn("consumer is ahead of the headers and waits for them",
                {{"consumer", info.name}, {"blocks", info.position.height() - height}});
      return info.position;
    }
    return header ? header->position() : bus::Position::origin();
  }
}

Result<> Follower::settle_consumers() {
  TRY(bus_.drain());  // or blocks still queued would carry one on along a stale branch
  bus_.resume();
  settle_at_height_.reset();
  for (const bus::ConsumerInfo& info : bus_.consumers()) {
    if (info.state != bus::ConsumerState::kRunning) continue;
    auto rejoined = chain_.rejoin(info.position);
    if (!rejoined && rejoined.error().code == Code::kNotFound) {
      auto by_blocks = rejoin_by_blocks(info);
      if (by_blocks || by_blocks.error().code != Code::kNotFound) rejoined = std::move(by_blocks);
    }
    if (!rejoined && rejoined.error().code == Code::kNotFound) {
      bus_.halt(info.name, rejoined.error().message);
    } else if (!rejoined) {
      return fail(std::move(rejoined).error());
    } else if (!(*rejoined == info.position)) {
      log::info("consumer leaves a stale branch",
                {{"consumer", info.name}, {"blocks", info.position.height() - rejoined->height()}});
      TRY(bus_.publish_to(info.name, bus::RolledBack{*rejoined}));
    }
  }
  return bus_.drain();
}

Result<> Follower::meet_source() {
  TRY(bus_.drain());  // or blocks still queued would look like blocks that are missing
  bus::Position from = chain_.position();
  if (auto lowest = bus_.lowest_position(); lowest && lowest->height() < from.height()) {
    log::info("going back for consumers that are behind",
              {{"blocks", from.height() - lowest->height()}});
    from = *lowest;
  }
  const std::vector<chain::Point> points = TRY(chain_.locator(from));
  const chain::Point met = TRY(source_.intersect(points));
  if (met.is_origin() && !points.empty())
    return fail(Code::kConflict,
                "{} shares no block with this database; is it another network? Choose another "
                "--data or --source",
                source_.describe());
  return {};
}

Follower::Item Follower::decode(feed::Step step) const {
  if (auto* forward = std::get_if<feed::Forward>(&step)) {
    auto block = chain::decode(network_, std::move(forward->raw));
    if (!block) return std::move(block).error().in("from " + source_.describe());
    return DecodedBlock{std::make_shared<chain::Block>(std::move(*block))};
  }
  if (auto* seen = std::get_if<feed::Seen>(&step)) {
    auto tx = std::make_shared<chain::Block>();
    Bytes raw = std::move(seen->raw);
    if (auto decoded = chain::decode_tx_into(*tx, network_, raw); !decoded) {
      log::warn("a transaction of the mempool cannot be read",
                {{"problem", decoded.error().message}});
      return feed::Dropped{};
    }
    tx->storage = std::move(raw);
    return SeenTx{std::move(tx)};
  }
  if (auto* back = std::get_if<feed::Backward>(&step)) return *back;
  if (auto* dropped = std::get_if<feed::Dropped>(&step)) return *dropped;
  if (std::holds_alternative<feed::End>(step)) return feed::End{};
  return feed::Idle{};
}

void Follower::read_ahead(BoundedQueue<Item>& queue) {
  for (;;) {
    auto step = source_.next(options_.poll_ms);
    Item item = step ? decode(std::move(*step)) : Item(std::move(step).error());
    const bool last =
        std::holds_alternative<Error>(item) || std::holds_alternative<feed::End>(item);
    if (!queue.push(std::move(item)) || last) return;
  }
}

Result<> Follower::deliver(std::shared_ptr<chain::Block> block, Ordinal ordinal) {
  const auto source_tip = source_.tip_number();
  const bool below = source_tip && block->number.value + chain_.window() < *source_tip;
  if (!mempool_.empty())
    for (const chain::Tx& tx : block->txs) mempool_.erase(tx.id);
  const std::uint64_t number = block->number.value;
  const std::uint64_t behind = source_tip && *source_tip > number ? *source_tip - number : 0;
  return bus_.publish(bus::BlockApplied{ordinal, std::move(block), below, behind});
}

namespace {

// Meeting the source again does not mend our own store.
template <typename T>
Result<T> final_error(Result<T> result) {
  if (!result) result.error().retryable = false;
  return result;
}

}  // namespace

Result<> Follower::on_block(std::shared_ptr<chain::Block> block) {
  const chainstate::Placed placed = TRY(final_error(chain_.place(*block)));
  switch (placed.placement) {
    case chainstate::Placement::kKnown:
      TRY(chain_.fill_in(*block, placed.ordinal));
      heard_ = true;
      return deliver(std::move(block), placed.ordinal);
    case chainstate::Placement::kDetached:
      // The source jumped; meeting it anew finds the common block. Twice in a row it is its fault.
      if (!heard_)
        return fail(Code::kConflict, "{} sent block {}, which follows no block that is known here",
                    source_.describe(), display(network_.family, block->hash));
      return fail(
          Error{Code::kUnavailable, true, "the source left its own chain; meeting it anew"});
    case chainstate::Placement::kExtends:
    case chainstate::Placement::kForks: break;
  }
  const chainstate::Connected connected = TRY(final_error(chain_.connect(*block, placed)));
  heard_ = true;
  if (connected.rolled_back) {
    if (options_.log_rollbacks)
      log::info("rolled back",
                {{"to_height", connected.rolled_back->to.tip_height()}, {"number", block->number}});
    {
      std::lock_guard lock(mutex_);
      ++status_.rollbacks;
    }
  }
  // Who is ahead of the headers is on a branch that is not known yet: nobody leads it back blindly.
  if (settle_at_height_ &&
      (connected.rolled_back || connected.ordinal.value + 1 >= *settle_at_height_)) {
    meet_again_ = true;  // all are told then, and the block comes again
    return {};
  }
  if (connected.rolled_back) TRY(bus_.publish(*connected.rolled_back));
  TRY(deliver(block, connected.ordinal));
  if (options_.on_connected) options_.on_connected(*chain_.tip());
  return {};
}

Result<> Follower::on_item(Item& item) {
  if (auto* decoded = std::get_if<DecodedBlock>(&item)) return on_block(std::move(decoded->block));
  if (auto* seen = std::get_if<SeenTx>(&item)) {
    if (mempool_.size() < kMaxMempool) mempool_.insert(seen->tx->txs.front().id);
    return bus_.publish(bus::TxSeen{std::move(seen->tx)});
  }
  if (auto* dropped = std::get_if<feed::Dropped>(&item)) {
    if (dropped->id.is_zero()) return {};
    mempool_.erase(dropped->id);
    return bus_.publish(bus::TxDropped{dropped->id});
  }
  // Backward needs no answer: whether it is a rollback, the next block's predecessor tells.
  return {};
}

Result<bool> Follower::consume(BoundedQueue<Item>& queue) {
  while (auto item = queue.pop()) {
    if (stopping_) return true;
    if (auto* error = std::get_if<Error>(&*item)) {
      if (error->code == Code::kCancelled) return true;
      return fail(std::move(*error));
    }
    if (std::holds_alternative<feed::End>(*item)) return true;
    TRY(on_item(*item));
    if (meet_again_ || bus_.has_recovered()) return false;
    const auto tip = chain_.tip();
    const auto source_tip = source_.tip_number();
    const bool at_tip = tip && source_tip && tip->number.value >= *source_tip;
    if (options_.stop_number && tip && tip->number.value >= *options_.stop_number) return true;
    if (options_.stop_at_tip && at_tip && std::holds_alternative<feed::Idle>(*item)) return true;
    std::lock_guard lock(mutex_);
    status_.mempool_transactions = mempool_.size();
    status_.state = at_tip ? FollowState::kFollowing : FollowState::kSyncing;
    status_.problem.clear();
  }
  return true;
}

Result<bool> Follower::follow_once() {
  heard_ = meet_again_ = false;
  mempool_.clear();
  TRY(settle_consumers());
  TRY(meet_source());
  BoundedQueue<Item> queue(options_.decode_ahead_blocks);
  std::thread reader([&] { read_ahead(queue); });
  Result<bool> done = consume(queue);
  queue.abort();
  // A reader inside next() comes back within the poll time.
  reader.join();
  return done;
}

Result<> Follower::run() {
  set_state(FollowState::kConnecting);
  int pause_ms = options_.first_pause_ms;
  while (!stopping_) {
    Result<bool> done = follow_once();
    if (done && *done) break;
    if (done) continue;
    Error error = std::move(done).error();
    if (error.code == Code::kCancelled || stopping_) break;
    if (!error.retryable) {
      set_state(FollowState::kFailed, error.message);
      return fail(std::move(error));
    }
    if (heard_) pause_ms = options_.first_pause_ms;
    log::warn("source lost, trying again", {{"problem", error.message}, {"pause_ms", pause_ms}});
    set_state(FollowState::kConnecting, error.message);
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, std::chrono::milliseconds(pause_ms), [&] { return stopping_.load(); });
    pause_ms = std::min(2 * pause_ms, options_.longest_pause_ms);
  }
  set_state(FollowState::kStopped);
  return {};
}

}  // namespace coffer::app
