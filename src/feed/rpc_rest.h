// Bitcoin Core's REST interface (-rest): blocks as they are, without hex and JSON around them.
// Invariants: it carries no credentials; whatever is not the answer expected counts as no answer,
// so that the caller asks by JSON-RPC, which tells what is wrong.
#pragma once

#include <memory>
#include <optional>

#include "feed/rpc_client.h"

namespace coffer::feed {

// Not thread-safe, but for cancel().
class RestClient {
 public:
  // Connects at the first question. `offered` is what offers() of another client said.
  RestClient(const RpcEndpoint& endpoint, int timeout_ms, bool offered = false);
  ~RestClient();
  RestClient(const RestClient&) = delete;
  RestClient& operator=(const RestClient&) = delete;

  // Asks whether the node offers it, and remembers. One round trip.
  bool offers();

  // Nothing if it is not offered, or on any answer but a hash or that block; it is then not asked
  // again for the like.
  std::optional<Hash256> block_hash(std::uint64_t height);
  std::optional<Bytes> block(const Hash256& hash);

  // Cuts the question under way and every later one. Thread-safe.
  void cancel();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::feed
