// For tests: a Cardano node's Unix socket that does what a script says. It speaks node-to-client:
// multiplexer segments, the handshake and chain-sync, over real blocks that the test gives it.
//
//   ChainBuilder chain(chain::Family::kCardano);
//   chain.mine(50);
//   FakeN2cPeer peer(dir.path() / "node.socket", network, chain.blocks());
//   N2cSource source({.socket = peer.socket(), .network_magic = network.cardano.magic}, clock);
//
//   peer.extend(chain.mine(1));                             // what a chain does
//   peer.reorganize(48, blocks);                            // block 48 is the last that stays
//
//   peer.script("forward", n2c_fault::corrupt_block());     // once, then honest again
//   peer.script("forward", n2c_fault::split(1), {.times = kAlways, .about = hash.hex()});
//   peer.script("handshake", n2c_fault::refuse("not now"));
//   peer.script("intersect", [](N2cReply& reply) { … });    // anything else
//   peer.report_tip_number(~0ull);                          // it lies, until nullopt
//   peer.refuse_connections(true);
//
//   EXPECT_TRUE(peer.wait_used(10'000));                    // every scripted fault was met
//   EXPECT_LE(peer.asked("handshake"), 5u);                 // no hot loop
//
// Answers are counted and scripted under the names "handshake", "intersect", "await", "forward" and
// "backward". `about` is the hash of the block that a "forward" brings, in hex.
#pragma once

#include <filesystem>
#include <optional>

#include <coffer/chain/network.h>
#include "feed/n2c_codec.h"
#include "support/fault_script.h"
#include "support/socket_server.h"

namespace coffer::test {

struct N2cReply {
  enum class Kind { kHandshake, kFound, kNotFound, kAwait, kForward, kBackward };
  Kind kind = Kind::kAwait;
  // What is put into the message, where the kind has it.
  chain::Point point;  // where the chains meet, or to go back to; of a "forward" its own
  Hash256 prev{};
  Bytes block;
  feed::n2c::Tip tip;
  std::uint16_t version = 0;
  // In place of the message that the above makes.
  std::optional<Bytes> message = {};

  std::uint16_t protocol = 0;                             // with the bit of the direction
  std::size_t segment_bytes = feed::n2c::kMaxSegmentOut;  // of each segment, at most
  std::size_t empty_segments = 0;                         // that come before the answer
  int late_ms = 0;
  std::size_t times = 1;  // the whole answer, one after the other
  // kCut: half of the answer, then the connection closes. kClose: nothing, it closes. kHang:
  // nothing, and it stays open.
  enum class End { kHonest, kCut, kClose, kHang } end = End::kHonest;
};
using N2cFault = FaultScript<N2cReply>::Fault;

namespace n2c_fault {
N2cFault late(int time_ms);
// Whatever bytes, as one message.
N2cFault message(const Bytes& bytes);
// The body is not what the header's hash says, the predecessor is no block of the chain, the era
// around the block is another, or it is another block altogether.
N2cFault corrupt_block();
N2cFault wrong_prev();
N2cFault wrong_era();
N2cFault other_block(const Bytes& block);
// The handshake's refusal.
N2cFault refuse(const std::string& reason);
// In place of the answer; the block that was due comes after it.
N2cFault roll_back_to(chain::Point point);
N2cFault tip_number(std::uint64_t number);
// The right answer, but in these segments.
N2cFault empty_segments(std::size_t count);
N2cFault split(std::size_t segment_bytes);
N2cFault protocol(std::uint16_t id);
N2cFault wrong_direction();
N2cFault twice();
N2cFault cut();
N2cFault close();
N2cFault hang();
}  // namespace n2c_fault

// Thread-safe.
class FakeN2cPeer {
 public:
  // The best chain, from its first block on. Refuses clients of another network's magic.
  FakeN2cPeer(std::filesystem::path socket, const chain::Network& network,
              const std::vector<Bytes>& blocks);

  const std::filesystem::path& socket() const { return socket_; }

  void extend(const std::vector<Bytes>& blocks);
  // By position on the chain, the first block has 0. Clients beyond it are rolled back.
  void reorganize(std::uint64_t fork_position, const std::vector<Bytes>& blocks);
  void report_tip_number(std::optional<std::uint64_t> number);

  void script(std::string call, N2cFault fault, When when = {}) {
    script_.add(std::move(call), std::move(fault), std::move(when));
  }
  void clear_script() { script_.clear(); }
  std::size_t asked(const std::string& call) const { return script_.asked(call); }
  std::size_t faults() const { return script_.faults(); }
  bool wait_asked(const std::string& call, std::size_t count, int timeout_ms = 30'000) {
    return script_.wait_asked(call, count, timeout_ms);
  }
  bool wait_used(int timeout_ms = 30'000) { return script_.wait_used(timeout_ms); }

  std::size_t connections() const { return server_.accepted(); }
  void refuse_connections(bool refuse) { server_.refuse_connections(refuse); }
  void close_connections() { server_.close_connections(); }

 private:
  struct Stored {
    chain::Point point;
    Hash256 prev{};
    std::uint64_t number = 0;
    Bytes raw;
  };
  // What the server knows of a client.
  struct Client {
    Bytes received;              // payloads of segments
    std::uint16_t protocol = 0;  // of the last segment
    std::size_t has = 0;         // blocks, from the first on
    std::size_t seen_forks = 0;  // of forks_
    bool owes_rollback = false;
  };
  void serve(Stream& stream);
  bool read_message(Stream& stream, std::string& buffer, Client& client, Bytes& message);
  bool send(Stream& stream, N2cReply& reply);
  bool shake_hands(Stream& stream, ByteView message);
  bool find_intersect(Stream& stream, Client& client, ByteView message);
  bool send_next(Stream& stream, Client& client);
  // What the client gets now; kAwait if there is nothing.
  N2cReply next_for(Client& client);
  N2cReply blank(N2cReply::Kind kind) const;
  void push_block(const Bytes& raw);

  const std::filesystem::path socket_;
  const chain::Network network_;
  FaultScript<N2cReply> script_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Stored> chain_;
  std::vector<std::size_t> forks_;  // how many blocks stayed, each time
  std::optional<std::uint64_t> reported_tip_number_;
  SocketServer server_;  // last: its threads use the rest
};

}  // namespace coffer::test
