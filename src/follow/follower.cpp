#include <coffer/follow/follower.h>

#include <coffer/chain/decode.h>

#include "base/queue.h"
#include "follow/retry.h"

#include <thread>

#include <coffer/base/log.h>
#include "base/result.h"
#include "follow/behind.h"

namespace coffer::follow {
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
  const std::uint64_t height = chain_.position().block_count();
  // Below its own position, which is on no branch: another process may have led its database to a
  // sibling of that block already, and no rollback leads there.
  const std::uint64_t first = std::min(height, info.position.ordinal.value);
  for (std::uint64_t below = first;;) {
    const auto kept = TRY(bus_.newest_block_below(info.name, below));
    std::optional<chainstate::HeaderInfo> header;
    if (kept) header = TRY(chain_.at(kept->ordinal));
    if (kept && (!header || header->hash != kept->point.hash)) {
      below = kept->ordinal.value;
      continue;
    }
    // All it has of our part of the chain is right; the rest we shall see.
    if (below == first && info.position.block_count() > height) {
      rejoin_at_block_count_ =
          std::min(rejoin_at_block_count_.value_or(info.position.block_count()),
                   info.position.block_count());
      log::warn("consumer is ahead of the headers and waits for them",
                {{"consumer", info.name}, {"blocks", info.position.block_count() - height}});
      return info.position;
    }
    return header ? header->position() : bus::Position::origin();
  }
}

Result<> Follower::rejoin_consumers() {
  TRY(bus_.drain());  // or blocks still queued would carry one on along a stale branch
  bus_.resume();
  rejoin_at_block_count_.reset();
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
                {{"consumer", info.name},
                 {"blocks", info.position.block_count() - rejoined->block_count()}});
      TRY(bus_.publish_to(info.name, bus::RolledBack{*rejoined}));
    }
  }
  return bus_.drain();
}

Result<> Follower::connect_source() {
  TRY(find_common_block());
  log_connected();
  return {};
}

void Follower::log_connected() {
  const log::Level level = options_.quiet ? log::Level::kDebug : log::Level::kInfo;
  const std::string transport = source_.transport();
  const std::string_view event = ever_connected_ ? "source is back" : "source connected";
  if (!connected_)
    log::write(level, event,
               {{"source", source_.describe()},
                {"uses", transport.empty() ? "files" : transport},
                {"tip", source_.tip_number().value_or(0)}});
  connected_ = ever_connected_ = true;
}

void Follower::warn_of_pruning() {
  constexpr std::uint64_t kMargin = 288;
  const auto pruned_below = source_.pruned_below();
  if (!pruned_below || pruned_below == warned_pruned_below_) return;
  const std::uint64_t tip =
      std::max(chain_.position().block_count(), source_.tip_number().value_or(0));
  for (const bus::ConsumerInfo& info : bus_.consumers()) {
    const std::uint64_t next = info.position.block_count();
    if (next + kMargin >= tip || next > *pruned_below + kMargin) continue;
    log::warn("the node is about to delete blocks that are not yet applied",
              {{"consumer", info.name},
               {"next_height", next},
               {"pruned_below", *pruned_below},
               {"next", "let it catch up, or give the node more room with -prune"}});
    warned_pruned_below_ = pruned_below;
  }
}

Result<> Follower::find_common_block() {
  TRY(bus_.drain());  // or blocks still queued would look like blocks that are missing
  bus::Position from = chain_.position();
  const auto lowest = bus_.lowest_position();
  const bool going_back = lowest && lowest->block_count() < from.block_count();
  if (going_back) from = *lowest;
  const std::vector<chain::Point> points = TRY(chain_.locator(from));
  const chain::Point met = TRY(source_.intersect(points));
  if (going_back)
    log::info("going back for consumers that are behind",
              {{"blocks", chain_.position().block_count() - from.block_count()}});
  if (met.is_origin() && !points.empty() && !source_.tip_number())
    return fail(Error{Code::kUnavailable, true, source_.describe() + " has no block yet"});
  if (met.is_origin() && !points.empty())
    return fail(Code::kConflict,
                "{} shares no block with this database; is it another network? Choose another "
                "--data or --source",
                source_.describe());
  return {};
}

Follower::Item Follower::decode(feed::SourceEvent step) const {
  if (auto* forward = std::get_if<feed::NextBlock>(&step)) {
    auto block = chain::decode(network_, std::move(forward->raw));
    if (!block) return std::move(block).error().in("from " + source_.describe());
    return DecodedBlock{std::make_shared<chain::Block>(std::move(*block))};
  }
  if (auto* seen = std::get_if<feed::MempoolAdded>(&step)) {
    auto tx = std::make_shared<chain::Block>();
    Bytes raw = std::move(seen->raw);
    if (auto decoded = chain::decode_tx_into(*tx, network_, raw); !decoded) {
      log::warn("a transaction of the mempool cannot be read",
                {{"problem", decoded.error().message}});
      return feed::MempoolRemoved{};
    }
    tx->storage = std::move(raw);
    return SeenTx{std::move(tx)};
  }
  if (auto* back = std::get_if<feed::RolledBack>(&step)) return *back;
  if (auto* dropped = std::get_if<feed::MempoolRemoved>(&step)) return *dropped;
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
  const auto source_tip = source_.confirmed_tip();
  const bool below = is_below_window(source_tip, block->number.value, chain_.window());
  if (!mempool_.empty())
    for (const chain::Tx& tx : block->txs) mempool_.erase(tx.id);
  const std::uint64_t number = block->number.value;
  const std::uint64_t behind = blocks_behind(source_tip, number);
  TRY(bus_.publish(bus::BlockApplied{ordinal, std::move(block), below, behind}));
  delivered_ = number;
  return {};
}

Result<> Follower::on_block(std::shared_ptr<chain::Block> block) {
  // What is wrong with the block is the source's fault, what is wrong with our store is not.
  const auto ours = [&](auto result) {
    own_failure_ = !result && result.error().code != Code::kInvalidInput &&
                   result.error().code != Code::kConflict;
    return result;
  };
  const chainstate::Placed placed = TRY(ours(chain_.place(*block)));
  switch (placed.placement) {
    case chainstate::Placement::kKnown:
      TRY(chain_.fill_in(*block, placed.ordinal));
      received_block_ = true;
      return deliver(std::move(block), placed.ordinal);
    case chainstate::Placement::kDetached:
      // The source jumped; meeting it anew finds the common block. Twice in a row it is its fault.
      if (!received_block_)
        return fail(Code::kInvalidInput,
                    "{} sent block {}, which follows no block that is known here",
                    source_.describe(), display(network_.family, block->hash));
      return fail(
          Error{Code::kUnavailable, true, "the source left its own chain; meeting it anew"});
    case chainstate::Placement::kExtends:
    case chainstate::Placement::kForks: break;
  }
  const chainstate::Connected connected = TRY(ours(chain_.connect(*block, placed)));
  received_block_ = true;
  if (connected.rolled_back) {
    if (!options_.quiet)
      log::info("rolled back",
                {{"to_height", connected.rolled_back->to.tip_height()}, {"number", block->number}});
    {
      std::lock_guard lock(mutex_);
      ++status_.rollbacks;
    }
  }
  // Who is ahead of the headers is on a branch that is not known yet: nobody leads it back blindly.
  if (rejoin_at_block_count_ &&
      (connected.rolled_back || connected.ordinal.value + 1 >= *rejoin_at_block_count_)) {
    reconnect_ = true;  // all are told then, and the block comes again
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
  if (auto* dropped = std::get_if<feed::MempoolRemoved>(&item)) {
    if (dropped->id.is_zero()) return {};
    mempool_.erase(dropped->id);
    return bus_.publish(bus::TxDropped{dropped->id});
  }
  // RolledBack needs no answer: whether it is a rollback, the next block's predecessor tells.
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
    warn_of_pruning();
    if (reconnect_ || bus_.has_recovered()) return false;
    const auto tip = chain_.tip();
    const auto source_tip = source_.tip_number();
    const bool at_tip = tip && source_tip && tip->number.value >= *source_tip;
    if (options_.stop_number && delivered_ >= options_.stop_number) return true;
    if (options_.stop_at_tip && at_tip && std::holds_alternative<feed::Idle>(*item)) return true;
    std::lock_guard lock(mutex_);
    status_.mempool_transactions = mempool_.size();
    status_.state = at_tip ? FollowState::kFollowing : FollowState::kSyncing;
    status_.problem.clear();
  }
  return true;
}

Result<bool> Follower::follow_once() {
  received_block_ = reconnect_ = false;
  own_failure_ = false;
  delivered_.reset();
  mempool_.clear();
  TRY(rejoin_consumers());
  if (TRY(has_reached_stop())) return true;
  TRY(connect_source());
  BoundedQueue<Item> queue(options_.decode_ahead_blocks);
  std::thread reader([&] { read_ahead(queue); });
  Result<bool> done = consume(queue);
  queue.abort();
  // A reader inside next() comes back within the poll time.
  reader.join();
  return done;
}

Result<bool> Follower::has_reached_stop() const {
  if (!options_.stop_number) return false;
  const auto has = [&](const bus::Position& position) -> Result<bool> {
    if (position.at_origin) return false;
    const auto header = TRY(chain_.header(position.point.hash));
    return header && header->number.value >= *options_.stop_number;
  };
  bool all = TRY(has(chain_.position()));
  for (const bus::ConsumerInfo& info : bus_.consumers())
    if (info.state == bus::ConsumerState::kRunning) all = all && TRY(has(info.position));
  return all;
}

Result<> Follower::on_failure(Error error, Retry& retry) {
  const RetryDecision decision = retry.failed(error, received_block_);
  if (own_failure_ || decision.give_up || (source_.is_static() && !error.retryable)) {
    set_state(FollowState::kFailed, error.message);
    return fail(std::move(error));
  }
  if (decision.tell)
    log::warn(connected_ ? "source lost, trying again" : "source not reached, trying again",
              {{"source", source_.describe()},
               {"problem", error.message},
               {"attempt", retry.attempts()},
               {"pause_ms", decision.pause_ms}});
  connected_ = false;
  set_state(FollowState::kConnecting, error.message);
  std::unique_lock lock(mutex_);
  wake_.wait_for(lock, std::chrono::milliseconds(decision.pause_ms),
                 [&] { return stopping_.load(); });
  return {};
}

Result<> Follower::run() {
  set_state(FollowState::kConnecting);
  Retry retry(options_.retry);
  while (!stopping_) {
    Result<bool> done = follow_once();
    if (done && *done) break;
    if (done) continue;
    if (done.error().code == Code::kCancelled || stopping_) break;
    TRY(on_failure(std::move(done).error(), retry));
  }
  set_state(FollowState::kStopped);
  return {};
}

}  // namespace coffer::follow
