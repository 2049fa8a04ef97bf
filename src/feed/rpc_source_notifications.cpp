// The part of RpcSource that asks what a node offers and takes its notifications.
#include <coffer/base/log.h>
#include <coffer/chain/decode.h>
#include "base/result.h"
#include "feed/rpc_source.h"

namespace coffer::feed {

Result<> RpcSource::probe_capabilities() {
  std::vector<ZmqTopic> topics;
  if (!endpoint_.zmq.empty()) {
    // Which of them the node publishes there, only its messages will tell.
    topics = {{"sequence", endpoint_.zmq}, {"hashblock", endpoint_.zmq}};
  } else {
    const std::vector<ZmqOffer> offers = TRY(client_.zmq_offers());
    for (const char* topic : {"sequence", "hashblock"})
      for (const ZmqOffer& offer : offers) {
        const std::string address =
            offer.topic == topic ? endpoint_.reachable(offer.address) : std::string();
        if (topics.empty() && !address.empty()) topics.push_back({topic, address});
      }
  }
  listen(std::move(topics));
  rest_offered_ = rest_.offers();
  return {};
}

void RpcSource::listen(std::vector<ZmqTopic> topics) {
  subscriber_.reset();  // also where nothing changed: a publisher that was left gets another chance
  subscribed_topics_.clear();
  if (topics.empty()) return;
  std::string subscribed;
  for (const ZmqTopic& topic : topics) subscribed += (subscribed.empty() ? "" : ", ") + topic.topic;
  subscribed += " at " + topics.front().address;
  auto started = ZmqSubscriber::start(std::move(topics), [this] { wake(); });
  if (started) {
    subscriber_ = std::move(*started);
    subscribed_topics_ = std::move(subscribed);
  } else
    log::warn("no news by ZMQ, polling", {{"problem", started.error().message}});
}

bool RpcSource::has_served(const Hash256& hash) const {
  return std::find(served_.rbegin(), served_.rend(), hash) != served_.rend();
}

Result<> RpcSource::on_notification(const ZmqNotice& notice) {
  switch (notice.kind) {
    case ZmqNotice::Kind::kTip:
      if (served_.empty() || served_.back() != notice.hash) next_poll_steady_ms_ = 0;
      return {};
    case ZmqNotice::Kind::kConnected:
      // Told of thirty blocks, the node is asked once.
      if (!has_served(notice.hash)) next_poll_steady_ms_ = 0;
      return {};
    case ZmqNotice::Kind::kDisconnected:
      if (has_served(notice.hash)) next_poll_steady_ms_ = 0;
      return {};
    case ZmqNotice::Kind::kAdded: return on_tx_added(notice.hash);
    case ZmqNotice::Kind::kRemoved:
      if (known_.erase(notice.hash) + before_.erase(notice.hash) > 0)
        ready_.emplace_back(MempoolRemoved{notice.hash});
      return {};
    case ZmqNotice::Kind::kLost:
      next_poll_steady_ms_ = 0;
      next_mempool_steady_ms_ = 0;
      return {};
  }
  return {};
}

Result<> RpcSource::on_tx_added(const Hash256& id) {
  if (!options_.mempool || known_.contains(id) || known_.size() >= options_.max_mempool) return {};
  // One that is in a block by now has been served with it, or will be.
  auto raw = TRY(client_.unmined(id));
  if (!raw) return {};
  if (!is_answer(id, *raw)) {
    next_mempool_steady_ms_ = 0;
    return {};
  }
  known_.insert(id);
  before_.erase(id);
  ready_.emplace_back(MempoolAdded{std::move(*raw)});
  return {};
}

bool RpcSource::is_answer(const Hash256& id, ByteView raw) {
  chain::Block tx;
  const Result<> decoded = chain::decode_tx_into(tx, network_, raw);
  if (decoded && tx.txs.front().id == id) return true;
  if (!wrong_tx_logged_)
    log::warn("the node answers with other bytes than the transaction asked for; asking again",
              {{"tx", chain::display(network_.family, id)},
               {"problem", decoded ? "the bytes have another id" : decoded.error().message}});
  wrong_tx_logged_ = true;
  return false;
}

}  // namespace coffer::feed
