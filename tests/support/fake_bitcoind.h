// For tests: a Bitcoin node that does what a script says. It speaks HTTP/1.1, JSON-RPC and REST on
// loopback as Bitcoin Core does, over real blocks that the test gives it.
//
//   ChainBuilder chain(chain::Family::kBitcoin);
//   chain.mine(50);
//   FakeBitcoind node(chain.blocks());
//   RpcSource source(RpcEndpoint::parse(node.url()).value(), kRegtest, system_clock());
//
//   node.extend(chain.mine(1));                           // what a chain does
//   node.reorganize(48, blocks);                          // 48 is the last block that stays
//   node.invalidate_tip();
//   node.prune_below(20);
//   node.add_to_mempool(tx->id, tx->wire);
//
//   node.script("getblock", rpc_fault::corrupt());        // once, then honest again
//   node.script("getblock", rpc_fault::error(-1, "boom"), {.times = 3, .about = printed(hash)});
//   node.script("*", rpc_fault::status(401), {.times = kAlways});
//   node.script("getblockchaininfo", [](RpcReply& reply) { … });   // anything else
//   node.refuse_connections(true);
//   node.report_tip(RpcTip{.height = 999, .hash = hash}); // it lies, until nullopt
//
//   EXPECT_TRUE(node.wait_used(10'000));                  // every scripted fault was met
//   EXPECT_LE(node.asked("getblock"), 60u);               // no hot loop
//
// Calls are counted and scripted under their JSON-RPC names; REST ones as "rest chaininfo",
// "rest blockhashbyheight" and "rest block". `about` is the first parameter as text: a height, or a
// hash as Core prints it.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <set>

#include "feed/devnet_chain.h"
#include "feed/rpc_client.h"
#include "support/fault_script.h"
#include "support/socket_server.h"

namespace coffer::test {

struct RpcReply {
  int status = 200;
  std::string body = {};
  std::string content_type = "application/json";
  int late_ms = 0;
  std::size_t times = 1;  // the whole answer, one after the other
  // kCut: half of the answer, then the connection closes. kClose: nothing, it closes. kHang:
  // nothing, and it stays open.
  enum class End { kHonest, kCut, kClose, kHang } end = End::kHonest;
};
using RpcFault = FaultScript<RpcReply>::Fault;

// Honest answers, as Core writes them.
RpcReply rpc_result(const boost::json::value& result);
RpcReply rpc_error(int code, const std::string& message);

namespace rpc_fault {
RpcFault late(int time_ms);
RpcFault status(int http_status, const std::string& body = {});
// As Core reports it: HTTP 500 and a JSON-RPC error.
RpcFault error(int code, const std::string& message);
// HTTP 200 with this body, whatever it is.
RpcFault body(const std::string& text);
// A well-formed answer with this result, as JSON; of_block(): with the hex of another block.
RpcFault result(const std::string& json);
RpcFault of_block(ByteView raw);
// The last byte of the result's hex, or of a REST answer, is another: the header stays intact.
RpcFault corrupt();
// A digit of the result is no hex digit.
RpcFault bad_hex();
// HTTP is whole, but the JSON in it ends in the middle.
RpcFault truncated_json();
RpcFault twice();
RpcFault cut();
RpcFault close();
RpcFault hang();
}  // namespace rpc_fault

struct FakeBitcoindOptions {
  bool rest = false;
  std::string user_password = "user:secret";  // empty: everybody is let in
  boost::json::array zmq = {};                // what getzmqnotifications answers
};

// Thread-safe.
class FakeBitcoind {
 public:
  using Options = FakeBitcoindOptions;

  // The best chain, from the genesis block on.
  explicit FakeBitcoind(const std::vector<Bytes>& blocks, Options options = {});

  // With the right user and password.
  std::string url() const;
  int port() const { return server_.port(); }

  // The chain. Every block that it ever had can be asked for by hash.
  void extend(const std::vector<Bytes>& blocks);
  void reorganize(std::uint64_t fork_height, const std::vector<Bytes>& blocks);
  void invalidate_tip();
  // Blocks below this height are no longer there, as on a node with -prune.
  void prune_below(std::uint64_t height);
  std::uint64_t height() const;
  Hash256 tip_hash() const;

  void add_to_mempool(const Hash256& id, Bytes raw);
  void remove_from_mempool(const Hash256& id);
  std::set<Hash256> mempool() const;
  // A block of a simulated chain and the mempool traffic around it.
  void apply(const feed::Emission& emission);
  // What getblockchaininfo says in place of the truth.
  void report_tip(std::optional<feed::RpcTip> tip);

  void script(std::string call, RpcFault fault, When when = {}) {
    script_.add(std::move(call), std::move(fault), std::move(when));
  }
  void clear_script() { script_.clear(); }
  std::size_t asked(const std::string& call) const { return script_.asked(call); }
  std::map<std::string, std::size_t> asked() const { return script_.asked(); }
  std::size_t faults() const { return script_.faults(); }
  bool wait_asked(const std::string& call, std::size_t count, int timeout_ms = 30'000) {
    return script_.wait_asked(call, count, timeout_ms);
  }
  bool wait_used(int timeout_ms = 30'000) { return script_.wait_used(timeout_ms); }

  std::size_t connections() const { return server_.accepted(); }
  void refuse_connections(bool refuse) { server_.refuse_connections(refuse); }
  void close_connections() { server_.close_connections(); }

 private:
  struct Request {
    std::string method, target, authorization, body;
  };
  struct Call {
    std::string name, about;
  };
  struct Stored {
    Bytes raw;
    std::uint64_t height = 0;
  };
  void serve(Stream& stream);
  static std::optional<Request> read_request(Stream& stream, std::string& buffer);
  RpcReply answer(const Request& request);
  RpcReply answer_rpc(const Request& request, Call& call);
  RpcReply answer_rest(const std::string& target, Call& call);
  RpcReply answer_block(const boost::json::array& params);
  RpcReply answer_transaction(const boost::json::array& params);
  RpcReply answer_send(const boost::json::array& params);
  boost::json::value chain_info() const;
  const Stored* find_block(const std::string& printed_hash) const;
  void push_block(const Bytes& raw);

  const Options options_;
  FaultScript<RpcReply> script_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Hash256> chain_;
  std::map<std::string, Stored> blocks_;  // by hash as printed
  std::uint64_t prune_height_ = 0;
  std::optional<feed::RpcTip> reported_tip_;
  std::vector<std::pair<Hash256, Bytes>> mempool_;  // in order of arrival
  SocketServer server_;                             // last: its threads use the rest
};

}  // namespace coffer::test
