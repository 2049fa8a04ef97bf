// Where a node is, how to be let in, and which of the addresses that it offers can be reached.
// Invariant: no message ever holds a credential.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace coffer::feed {

struct RpcEndpoint {
  std::string url;               // without credentials
  std::string user_password;     // "user:password", or empty
  std::filesystem::path cookie;  // Core's .cookie file, or empty
  std::string zmq;               // "tcp://host:port" where the node publishes, or empty: ask it

  // "http://user:password@host:port" or "http://host:port?cookie=FILE", either with
  // "zmq=tcp://host:port" after the '?'; user and password may be percent-encoded.
  // Errors: kUsage, without repeating the text.
  static Result<RpcEndpoint> parse(std::string_view text);

  // Where a ZMQ address that the node says it publishes at is from here: one for all of the node's
  // interfaces is at the host of `url`. Empty if it cannot be told: no TCP, or the loopback of
  // another machine.
  std::string reachable(std::string_view zmq_address) const;
};

}  // namespace coffer::feed
