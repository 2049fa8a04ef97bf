#include "feed/rpc_source.h"

#include <coffer/chain/decode.h>
#include "base/result.h"

namespace coffer::feed {
namespace {

// Deeper reorgs are found by meeting the source anew, from the reader's own list of points.
constexpr std::size_t kMaxServed = 10'000;
constexpr int kRestProbeMs = 5'000;
constexpr int kMaxContradictions = 3;
constexpr std::size_t kMaxWrongPerPoll = 50;  // of the mempool; then it waits for the next

Hash256 prev_of(ByteView raw) {
  return Hash256::from(raw.data() + 4);
}

}  // namespace

RpcSource::RpcSource(RpcEndpoint endpoint, const chain::Network& network, const Clock& clock,
                     RpcOptions options)
    : endpoint_(std::move(endpoint)),
      network_(network),
      clock_(clock),
      options_(options),
      client_(endpoint_, options.fetch.timeout_ms),
      rest_(endpoint_, std::min(options.fetch.timeout_ms, kRestProbeMs)),
      broadcast_client_(endpoint_, options.fetch.timeout_ms) {}

RpcSource::~RpcSource() = default;

std::string RpcSource::describe() const {
  return "node " + endpoint_.url;
}

std::string RpcSource::transport() const {
  return fmt::format(
      "blocks by {}, news by {}", rest_offered_ ? "REST" : "JSON-RPC",
      subscribed_topics_.empty() ? "polling" : "ZMQ " + subscribed_topics_ + " and polling");
}

Result<> RpcSource::check_network() {
  const auto genesis = TRY(client_.block_hash(0));
  if (genesis && *genesis == network_.genesis) return {};
  if (!genesis)
    return fail(Error{Code::kUnavailable, true,
                      fmt::format("{} does not tell the hash of its first block", describe())});
  const std::string whose = chain::network_of_first_block(network_.family, *genesis);
  return fail(Code::kConflict, "{} is not on bitcoin {}: its first block is {}{}", describe(),
              network_.name, chain::display(network_.family, *genesis),
              whose.empty() ? "" : ", that of " + whose);
}

Result<chain::Point> RpcSource::intersect(std::span<const chain::Point> points) {
  set_fetch(nullptr);
  connected_ = false;
  ready_.clear();
  before_.merge(known_);
  known_.clear();
  served_.clear();
  first_height_ = 0;
  next_poll_steady_ms_ = 0;
  next_mempool_steady_ms_ = 0;
  wrong_tx_logged_ = false;
  TRY(check_network());
  TRY(probe_capabilities());
  const RpcTip tip = TRY(client_.tip());
  TRY(note_tip(tip));
  connected_ = true;
  for (const chain::Point& point : points) {
    if (point.slot.value > tip.height) continue;
    const auto hash = TRY(client_.block_hash(point.slot.value));
    if (!hash || *hash != point.hash) continue;
    served_.push_back(point.hash);
    first_height_ = point.slot.value;
    return point;
  }
  return chain::Point::origin();
}

void RpcSource::set_fetch(std::unique_ptr<RpcFetch> fetch) {
  std::unique_lock lock(mutex_);
  fetch_.swap(fetch);
  lock.unlock();  // the old one waits for its threads on the way out
}

void RpcSource::note_served(const Hash256& hash, ByteView raw) {
  served_.push_back(hash);
  if (served_.size() > kMaxServed) {
    served_.pop_front();
    ++first_height_;
  }
  if (known_.empty() && before_.empty()) return;
  // What is mined has not been dropped. A block that does not decode is the reader's to refuse.
  chain::Block block;
  if (!chain::decode_into(block, network_, raw, {.hash = true, .verify = false})) return;
  for (const chain::Tx& tx : block.txs) known_.erase(tx.id), before_.erase(tx.id);
}

// Where the node's chain and ours part: the common part is a prefix, so a binary search finds it.
Result<std::optional<SourceEvent>> RpcSource::rewind() {
  set_fetch(nullptr);
  std::size_t common = 0, end = served_.size();
  while (common < end) {
    const std::size_t middle = common + (end - common) / 2;
    const auto hash = TRY(client_.block_hash(first_height_ + middle));
    if (hash && *hash == served_[middle])
      common = middle + 1;
    else
      end = middle;
  }
  if (common == served_.size()) return std::nullopt;
  if (common == 0)
    return fail(Error{Code::kUnavailable, true, "the node left the known chain; meeting it anew"});
  served_.resize(common);
  next_poll_steady_ms_ = 0;
  return SourceEvent(RolledBack{{Slot(next_height() - 1), served_.back()}});
}

// What the node says of its chain does not fit together. Once or twice it may have changed between
// two calls; if our part of it stands, it is asked again at the next poll, and then it is a
// failure.
Result<std::optional<SourceEvent>> RpcSource::on_contradiction(std::string what) {
  auto back = TRY(rewind());
  if (back) return back;
  if (++contradictions_ >= kMaxContradictions)
    return fail(Error{Code::kUnavailable, true, std::move(what)});
  next_poll_steady_ms_ = clock_.steady_ms() + options_.poll_ms;
  return std::nullopt;
}

Result<std::optional<SourceEvent>> RpcSource::take_fetched(int timeout_ms) {
  auto fetched = fetch_->take(timeout_ms);
  if (!fetched) {
    set_fetch(nullptr);
    if (fetched.error().code == Code::kNotFound)
      return on_contradiction(fmt::format("the node is at block {} but does not give block {}",
                                          tip_number().value_or(0), next_height()));
    return fail(std::move(fetched).error());
  }
  if (!*fetched) return std::nullopt;
  RpcFetch::Fetched& block = **fetched;
  if (!served_.empty() && prev_of(block.raw) != served_.back())
    return on_contradiction(fmt::format("the node's block {} does not follow its block {}",
                                        next_height(), next_height() - 1));
  contradictions_ = 0;
  note_served(block.hash, block.raw);
  SourceEvent step = NextBlock{std::move(block.raw)};
  if (fetch_->done()) {
    set_fetch(nullptr);
    next_poll_steady_ms_ = 0;  // there may be more by now; if not, it is the mempool's turn
  }
  return step;
}

Result<std::optional<SourceEvent>> RpcSource::poll() {
  const RpcTip tip = TRY(client_.tip());
  TRY(note_tip(tip));
  next_poll_steady_ms_ = clock_.steady_ms() + options_.poll_ms;
  if (!served_.empty() && served_.back() == tip.hash) {
    const bool told = subscriber_ && subscriber_->sequence_live();
    if (options_.mempool && (!told || clock_.steady_ms() >= next_mempool_steady_ms_))
      TRY(poll_mempool());
    return std::nullopt;
  }
  // The branch may have changed below our tip; finding that here saves fetching blocks in vain.
  if (!served_.empty()) {
    if (auto back = TRY(rewind())) return back;
  }
  RpcFetch::Options fetch = options_.fetch;
  fetch.rest = rest_offered_;
  if (tip.height >= next_height())
    set_fetch(std::make_unique<RpcFetch>(endpoint_, next_height(), tip.height, fetch));
  return std::nullopt;
}

Result<> RpcSource::poll_mempool() {
  next_mempool_steady_ms_ = 0;  // until it is done
  const std::vector<Hash256> ids = TRY(client_.mempool());
  // A block that came meanwhile has taken transactions out: it is served first.
  const RpcTip tip = TRY(client_.tip());
  if (tip.hash != served_.back()) {
    next_poll_steady_ms_ = 0;
    return {};
  }
  const std::unordered_set<Hash256, HashOfHash> now(ids.begin(), ids.end());
  std::erase_if(before_, [&](const Hash256& id) {
    if (!now.contains(id)) ready_.emplace_back(MempoolRemoved{id});
    return !now.contains(id);
  });
  for (auto it = known_.begin(); it != known_.end();) {
    const bool gone = !now.contains(*it);
    if (gone) ready_.emplace_back(MempoolRemoved{*it});
    it = gone ? known_.erase(it) : std::next(it);
  }
  std::size_t seen = 0, wrong = 0;
  for (const Hash256& id : ids) {
    if (known_.size() >= options_.max_mempool) break;
    if (known_.contains(id)) continue;
    if (seen == options_.max_seen_per_poll || interrupted_) {
      next_poll_steady_ms_ = 0;
      return {};
    }
    auto raw = TRY(client_.transaction(id));
    if (!raw) continue;  // gone already
    if (!is_answer(id, *raw)) {
      if (++wrong == kMaxWrongPerPoll) break;
      continue;
    }
    known_.insert(id);
    before_.erase(id);
    ready_.emplace_back(MempoolAdded{std::move(*raw)});
    ++seen;
  }
  if (wrong == 0) next_mempool_steady_ms_ = clock_.steady_ms() + options_.mempool_poll_ms;
  return {};
}

std::optional<SourceEvent> RpcSource::take_ready() {
  if (ready_.empty()) return std::nullopt;
  SourceEvent step = std::move(ready_.front());
  ready_.pop_front();
  return step;
}

Result<SourceEvent> RpcSource::next(int timeout_ms) {
  const std::int64_t deadline_ms = clock_.steady_ms() + timeout_ms;
  if (!connected_) TRY(intersect({}));
  for (;;) {
    if (interrupted_) return cancelled();
    if (auto step = take_ready()) return std::move(*step);
    const std::int64_t left_ms = std::max<std::int64_t>(0, deadline_ms - clock_.steady_ms());
    if (fetch_) {
      if (auto step = TRY(take_fetched(static_cast<int>(left_ms)))) return std::move(*step);
    } else if (clock_.steady_ms() >= next_poll_steady_ms_) {
      if (auto step = TRY(poll())) return std::move(*step);
      if (!ready_.empty() || fetch_) continue;
    } else if (auto notice = subscriber_ ? subscriber_->take() : std::nullopt) {
      // Only here, at the tip: a block that was told of is served before what came after it.
      TRY(on_notification(*notice));
      if (!ready_.empty()) continue;
    } else {
      wait(std::min(left_ms, next_poll_steady_ms_ - clock_.steady_ms()),
           [&] { return subscriber_ && subscriber_->pending(); });
    }
    if (interrupted_) continue;
    if (clock_.steady_ms() >= deadline_ms) return SourceEvent(Idle{});
  }
}

Result<> RpcSource::note_tip(const RpcTip& tip) {
  const std::uint64_t confirmed = confirmed_tip().value_or(0);
  set_pruned_below(tip.pruned_below);
  set_tip(tip.height, confirmed);
  if (tip.hash == confirmed_hash_ && tip.height == confirmed) return {};
  const auto hash = TRY(client_.block_hash(tip.height));
  const bool is_there = hash && *hash == tip.hash;
  if (is_there) confirmed_hash_ = tip.hash;
  set_tip(tip.height, is_there ? tip.height : std::min(confirmed, tip.height));
  return {};
}

void RpcSource::on_interrupt() {
  if (fetch_) fetch_->cancel();
  client_.cancel();
  rest_.cancel();
}

Result<Hash256> RpcSource::broadcast(ByteView raw_tx) {
  std::lock_guard lock(broadcast_mutex_);
  return broadcast_client_.send_transaction(raw_tx);
}

}  // namespace coffer::feed
