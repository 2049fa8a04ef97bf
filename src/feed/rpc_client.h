// A Bitcoin node's JSON-RPC, the few calls that following a chain needs, on one connection.
// Works with Bitcoin Core and with bcoin. Invariant: no message ever holds a credential.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "chain/block.h"

namespace coffer::feed {

// Where a node is and how to be let in.
struct RpcEndpoint {
  std::string url;               // without credentials
  std::string user_password;     // "user:password", or empty
  std::filesystem::path cookie;  // Core's .cookie file, or empty

  // "http://user:password@host:port" or "http://host:port?cookie=FILE"; user and password may be
  // percent-encoded. Errors: kUsage, without repeating the text.
  static Result<RpcEndpoint> parse(std::string_view text);
};

struct RpcTip {
  std::uint64_t height = 0;
  Hash256 hash{};
  friend bool operator==(const RpcTip&, const RpcTip&) = default;
};

// Not thread-safe. Errors of every call: kUnavailable (retryable: no connection, node starting up,
// answer cut), kUnauthorized (retryable with a cookie, which the node may be about to write),
// kCorrupt (retryable: an answer that makes no sense).
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
  // Also kInvalidInput with the node's reason.
  Result<Hash256> send_transaction(ByteView raw);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::feed
