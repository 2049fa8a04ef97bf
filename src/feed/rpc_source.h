// A live Bitcoin node by JSON-RPC as a source: parallel fetches while catching up, reorgs of any
// depth, mempool arrivals and departures, broadcast. Blocks come by Core's REST where it is
// offered. Notifications come by ZMQ where the node publishes them (topic sequence, or else
// hashblock), and always by polling as well: a notice only says what to ask the node for.
// Invariant: the blocks served form a chain; each follows the one before, or a RolledBack said
// where it goes on.
#pragma once

#include <deque>
#include <unordered_set>

#include <coffer/base/clock.h>
#include <coffer/chain/network.h>
#include "feed/rpc_fetch.h"
#include "feed/source_base.h"
#include "feed/zmq_subscriber.h"

namespace coffer::feed {

struct RpcOptions {
  int poll_ms = 1'000;
  int mempool_poll_ms = 60'000;  // for the whole mempool while notices of its changes come
  RpcFetch::Options fetch;
  bool mempool = true;
  std::size_t max_seen_per_poll = 500;  // the rest follows at once, after what came is taken
  std::size_t max_mempool = 1'000'000;  // transactions beyond are not reported
};

class RpcSource final : public SourceBase {
 public:
  // Connects at the first intersect() or next(). `endpoint` as of RpcEndpoint::parse.
  RpcSource(RpcEndpoint endpoint, const chain::Network& network, const Clock& clock,
            RpcOptions options = {});
  ~RpcSource() override;

  std::string describe() const override;
  // Errors: those of RpcClient; kConflict if the node is on another network.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  // interrupt() cuts a call under way, here and in intersect(); a broadcast it leaves alone.
  Result<SourceEvent> next(int timeout_ms) override;
  std::string transport() const override;

  // Gives a transaction to the node; its id. Thread-safe. Errors: those of RpcClient;
  // kInvalidInput with the node's reason. bcoin accepts before it has looked.
  Result<Hash256> broadcast(ByteView raw_tx);

 private:
  Result<> check_network();
  Result<> probe_capabilities();
  void listen(std::vector<ZmqTopic> topics);
  Result<> on_notification(const ZmqNotice& notice);
  Result<> on_tx_added(const Hash256& id);
  // Whether these bytes are the transaction that was asked for. If not, that is logged, once a
  // connection; the id stays unknown, so the next poll of the mempool asks again.
  bool is_answer(const Hash256& id, ByteView raw);
  bool has_served(const Hash256& hash) const;
  std::uint64_t next_height() const { return first_height_ + served_.size(); }
  Result<std::optional<SourceEvent>> take_fetched(int timeout_ms);
  Result<std::optional<SourceEvent>> on_contradiction(std::string what);
  // Takes the claim; believes it only if the node has that block at that height.
  Result<> note_tip(const RpcTip& tip);
  Result<std::optional<SourceEvent>> poll();
  Result<std::optional<SourceEvent>> rewind();
  Result<> poll_mempool();
  void note_served(const Hash256& hash, ByteView raw);
  std::optional<SourceEvent> take_ready();
  void set_fetch(std::unique_ptr<RpcFetch> fetch);
  void on_interrupt() override;

  const RpcEndpoint endpoint_;
  const chain::Network network_;
  const Clock& clock_;
  const RpcOptions options_;
  RpcClient client_;
  RestClient rest_;  // asks whether it is offered; the fetching has its own
  bool rest_offered_ = false;
  std::string subscribed_topics_;  // as subscribed to, e.g. "sequence at tcp://127.0.0.1:28332"
  bool connected_ = false;
  std::deque<Hash256> served_;       // the newest blocks that the reader has, in order
  std::uint64_t first_height_ = 0;   // of served_.front()
  std::unique_ptr<RpcFetch> fetch_;  // the pointer is guarded by mutex_: on_interrupt() follows it
  std::deque<SourceEvent> ready_;    // changes of the mempool
  bool wrong_tx_logged_ = false;     // since it connected
  std::unordered_set<Hash256, HashOfHash> known_;  // mempool transactions told and not gone
  // Those of before it connected again: told anew, or else gone.
  std::unordered_set<Hash256, HashOfHash> before_;
  std::int64_t next_poll_steady_ms_ = 0;
  std::int64_t next_mempool_steady_ms_ = 0;
  int contradictions_ = 0;  // in a row, since a block was served
  Hash256 confirmed_hash_{};
  std::mutex broadcast_mutex_;
  RpcClient broadcast_client_;
  std::unique_ptr<ZmqSubscriber> subscriber_;  // last: its thread calls wake()
};

}  // namespace coffer::feed
