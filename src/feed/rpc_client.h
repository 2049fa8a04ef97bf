// A Bitcoin node's JSON-RPC, the few calls that following a chain needs, on one connection.
// Works with Bitcoin Core and with bcoin. Invariant: no message ever holds a credential.
#pragma once

#include <memory>
#include <optional>

#include "feed/rpc_answer.h"
#include "feed/rpc_endpoint.h"

namespace coffer::feed {

// True if the bytes begin with the header of that hash and are not too many for a block.
bool is_block(ByteView raw, const Hash256& hash);

// Not thread-safe, but for cancel(). Errors of every call: kUnavailable (retryable: no connection,
// node starting up, answer cut), kUnauthorized (retryable with a cookie, which the node may be
// about to write), kCorrupt (retryable: an answer that makes no sense), kCancelled after cancel().
class RpcClient {
 public:
  explicit RpcClient(RpcEndpoint endpoint, int timeout_ms = 30'000);
  ~RpcClient();
  RpcClient(const RpcClient&) = delete;
  RpcClient& operator=(const RpcClient&) = delete;

  Result<RpcTip> tip();
  // Nothing beyond the tip.
  Result<std::optional<Hash256>> block_hash(std::uint64_t height);
  // Also kNotFound, retryable: the node does not have it (any more).
  Result<Bytes> block(const Hash256& hash);
  Result<std::vector<Hash256>> mempool();
  // Nothing if the node does not have it (any more).
  Result<std::optional<Bytes>> transaction(const Hash256& id);
  // The same, but also nothing if it is in a block by now.
  Result<std::optional<Bytes>> unmined(const Hash256& id);
  // Empty if the node publishes nothing, or does not know or allow the question.
  Result<std::vector<ZmqOffer>> zmq_offers();
  // Also kInvalidInput with the node's reason.
  Result<Hash256> send_transaction(ByteView raw);

  // Cuts the call under way and every later one. Thread-safe.
  void cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::feed
