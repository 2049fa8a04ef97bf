// Follows a node in a thread of its own until its end: blocks and mempool go to a bus.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <thread>

#include <coffer/follow/follower.h>
#include "feed/rpc_source.h"
#include "support/bitcoin_node.h"
#include "support/stores_fixture.h"

namespace coffer::test {

class NodeFollower {
 public:
  NodeFollower(BitcoinNode& node, Stores& stores, bus::Bus& bus)
      : bus_(bus),
        source_(feed::RpcEndpoint::parse(node.url()).value(), kRegtest, system_clock(), quick()),
        follower_(source_, kRegtest, *stores.chain, bus,
                  {.poll_ms = 50, .retry = {.first_pause_ms = 10}, .quiet = true}) {
    bus_.start();
    thread_ = std::thread([this] {
      const Result<> done = follower_.run();
      EXPECT_TRUE(done) << done.error().message;
    });
  }
  NodeFollower(const NodeFollower&) = delete;
  NodeFollower& operator=(const NodeFollower&) = delete;
  ~NodeFollower() {
    follower_.stop();
    thread_.join();
    EXPECT_TRUE(bus_.drain());
    bus_.stop();
  }

  feed::RpcSource& source() { return source_; }

 private:
  static feed::RpcOptions quick() {
    feed::RpcOptions options;
    options.poll_ms = 10;
    return options;
  }

  bus::Bus& bus_;
  feed::RpcSource source_;
  follow::Follower follower_;
  std::thread thread_;
};

}  // namespace coffer::test
