// What a Bitcoin node answers to JSON-RPC: from the bytes of an answer to values. Pure.
// Invariant: an answer costs memory in proportion to its bytes, whatever is in it.
#pragma once

#include <optional>

#include <coffer/chain/block.h>
#include "json/text.h"

namespace coffer::feed {

struct RpcTip {
  std::uint64_t height = 0;
  Hash256 hash{};
  std::optional<std::uint64_t> pruned_below = {};  // of a node that deletes old blocks
  friend bool operator==(const RpcTip& a, const RpcTip& b) {
    return a.height == b.height && a.hash == b.hash;
  }
};

// What a node publishes by ZMQ, and where, as it says itself.
struct ZmqOffer {
  std::string topic;  // "sequence", "hashblock", …
  std::string address;
};

// The node cannot be reached or is not ready; asking again may help.
std::unexpected<Error> unavailable(std::string message);

// The result of one call. Thread-safe. Errors of every method: kCorrupt, retryable, naming the
// call, if the result is another than the method reads.
class RpcAnswer {
 public:
  // From the body and the status of the HTTP answer. Errors: kInvalidInput with the node's words
  // for an error that it reports; kUnavailable (retryable) if it is starting up, or answers with
  // such a status and no JSON; kCorrupt (retryable).
  static Result<RpcAnswer> read(std::string body, int status, std::string_view method);

  Result<RpcTip> tip() const;
  Result<Hash256> hash() const;
  // Of hex digits, up to the size of a block.
  Result<Bytes> bytes() const;
  Result<std::vector<Hash256>> hashes() const;
  // The transaction of a verbose getrawtransaction; nothing if it is in a block.
  Result<std::optional<Bytes>> unmined() const;
  // What is no offer is left out; at most 1,000.
  std::vector<ZmqOffer> zmq_offers() const;

 private:
  RpcAnswer(std::string body, std::string_view method) : body_(std::move(body)), method_(method) {}
  coffer::json::Text result() const {
    return coffer::json::Text::of_checked(std::string_view(body_).substr(offset_, size_));
  }
  Result<Hash256> hash_of(coffer::json::Text value) const;
  Result<Bytes> bytes_of(coffer::json::Text value) const;

  std::string body_;
  std::string method_;
  std::size_t offset_ = 0, size_ = 0;  // of the result, in body_
};

}  // namespace coffer::feed
