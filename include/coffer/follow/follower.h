// Moves blocks from a source through the chain state to the bus: the one place where they flow.
// Invariants: the chain state commits a block before anyone hears of it, so no consumer is ever
// ahead of it on disk; a branch change reaches consumers as one RolledBack, then the new blocks.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <unordered_set>

#include <coffer/bus/bus.h>
#include <coffer/chainstate/chain_state.h>
#include <coffer/feed/source.h>

namespace coffer {
template <typename T>
class BoundedQueue;
}  // namespace coffer

namespace coffer::follow {

class Retry;

// When to ask a source again, and when to give up (E14).
struct RetryOptions {
  int first_pause_ms = 1'000;  // after a failure; doubles up to the longest
  int longest_pause_ms = 10'000;
  // Failures in a row after which to give up although the source can be reached: answers that do
  // not check, refused credentials. 0: never.
  int max_bad_answers = 3;
  // The same for proof that the source's chain is another than ours (kConflict).
  int max_conflicts = 3;
};

enum class FollowState : std::uint8_t { kConnecting, kSyncing, kFollowing, kStopped, kFailed };
std::string_view to_string(FollowState state);

struct FollowStatus {
  FollowState state = FollowState::kConnecting;
  std::string problem;                         // empty unless something is wrong
  std::optional<std::uint64_t> source_number;  // of the source's newest block
  std::uint64_t rollbacks = 0;                 // since the start of the process
  std::uint64_t mempool_transactions = 0;
};

struct FollowerOptions {
  std::size_t decode_ahead_blocks = 16;
  int poll_ms = 500;  // longest wait for the source before looking around
  RetryOptions retry = {};
  bool quiet = false;  // no log of ordinary events: a progress line is shown instead
  // End once the chain and every consumer that runs have the block of this number.
  std::optional<std::uint64_t> stop_number = {};
  bool stop_at_tip = false;  // end when the source has nothing more for now
  // For progress; called on the run() thread.
  std::function<void(const chainstate::HeaderInfo&)> on_connected = nullptr;
};

class Follower {
 public:
  Follower(feed::Source& source, const chain::Network& network, chainstate::ChainState& chain,
           bus::Bus& bus, FollowerOptions options = {});

  // Follows until the source ends, stop() is called, or an error that trying again cannot mend: of
  // our own store, or what the retry options call enough of the source's. The bus must be started.
  // Errors: whatever the source or the chain state returned; kCancelled never.
  Result<> run();
  // Thread-safe; run() returns soon.
  void stop();
  FollowStatus status() const;
  // Whether run() failed because of our own store. Thread-safe.
  bool store_failed() const { return own_failure_; }

 private:
  struct DecodedBlock {
    std::shared_ptr<chain::Block> block;
  };
  struct SeenTx {
    std::shared_ptr<const chain::Block> tx;
  };
  using Item = std::variant<DecodedBlock, SeenTx, feed::RolledBack, feed::MempoolRemoved,
                            feed::Idle, feed::End, Error>;

  // Consumers on stale branches are led back; those on unknown ones halt (E10), unless they know
  // their own blocks. Those that waited for something and have it are fed again.
  Result<> rejoin_consumers();
  // Where a consumer on a branch without headers goes on: its own position while the headers are
  // only behind it, or its newest block that is on the chain. Errors: kNotFound.
  Result<bus::Position> rejoin_by_blocks(const bus::ConsumerInfo& info);
  // Connects, follows until something breaks. True: the source ended or stop() was called; false:
  // the source is to be connected again.
  Result<bool> follow_once();
  Result<bool> consume(BoundedQueue<Item>& queue);
  Result<> on_item(Item& item);
  Result<> on_block(std::shared_ptr<chain::Block> block);
  Result<> deliver(std::shared_ptr<chain::Block> block, Ordinal ordinal);
  void read_ahead(BoundedQueue<Item>& queue);
  Item decode(feed::SourceEvent step) const;
  Result<> connect_source();
  Result<> find_common_block();
  // Whether nothing is left to do for stop_number.
  Result<bool> has_reached_stop() const;
  // What to do about a failure of follow_once(). An error: give up.
  Result<> on_failure(Error error, Retry& retry);
  void log_connected();
  // Before a node deletes blocks that a consumer still needs.
  void warn_of_pruning();
  void set_state(FollowState state, std::string problem = "");

  feed::Source& source_;
  const chain::Network network_;
  chainstate::ChainState& chain_;
  bus::Bus& bus_;
  const FollowerOptions options_;
  std::atomic<bool> stopping_{false};
  bool reconnect_ = false;  // consumers rejoin the chain before the next block
  // A consumer ahead of the headers is looked at again when they have reached it.
  std::optional<std::uint64_t> rejoin_at_block_count_;
  bool received_block_ = false;  // a block came since the last connection
  bool connected_ = false;       // the source answered, and has not failed since
  bool ever_connected_ = false;
  // What failed is ours: asking the source again does not mend it.
  std::atomic<bool> own_failure_{false};
  std::optional<std::uint64_t> warned_pruned_below_;
  std::optional<std::uint64_t> delivered_;           // the number of the last block delivered
  std::unordered_set<Hash256, HashOfHash> mempool_;  // of the run() thread
  mutable std::mutex mutex_;                         // guards status_
  std::condition_variable wake_;
  FollowStatus status_;
};

}  // namespace coffer::follow
