// How a source behaves towards a node that is slow, talkative, silent or gone. The real peer:
// tests/system/n2c_test.cpp.
#include "feed/n2c_source.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <thread>

#include "base/temp_dir.h"
#include "codec/cbor_writer.h"
#include "feed/n2c_test_util.h"

namespace coffer::feed {
namespace {

using namespace n2c;
using codec::CborWriter;

// The other end of the socket, played by hand: one connection at a time.
class ByHand {
 public:
  ByHand() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path().c_str());
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    CHECK(::listen(listener_, 4) == 0);
  }
  ~ByHand() {
    hang_up();
    ::close(listener_);
  }
  std::string path() const { return (dir_.path() / "node.socket").string(); }
  void hang_up() {
    if (peer_ >= 0) ::close(peer_);
    peer_ = -1;
  }
  // Accepts, shakes hands, and answers where the chains meet.
  void greet(const std::string& handshake = "83011980158202f4", const std::string& met =
                                                                    "830580"
                                                                    "828000") {
    peer_ = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    read_message();
    write(kHandshake, hex(handshake));
    if (read_message().empty()) return;
    write(kChainSync, hex(met));
  }
  void write(std::uint16_t protocol, ByteView message) {
    Bytes wire;
    answer(wire, protocol, message, 65'535);
    CHECK(::send(peer_, wire.data(), wire.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(wire.size()));
  }
  // One segment's payload; empty when the other side is gone.
  Bytes read_message() {
    Bytes header(8);
    if (::recv(peer_, header.data(), 8, MSG_WAITALL) != 8) return {};
    Bytes payload(load_be16(header.data() + 6));
    CHECK(::recv(peer_, payload.data(), payload.size(), MSG_WAITALL) ==
          static_cast<ssize_t>(payload.size()));
    return payload;
  }
  bool has_input() {
    std::uint8_t byte;
    return ::recv(peer_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }

 private:
  TempDir dir_;
  int listener_ = -1, peer_ = -1;
};

N2cSourceOptions options_for(const ByHand& node) {
  return {.socket = node.path(), .network_magic = 2, .answer_timeout_ms = 20'000};
}

TEST(N2cSource, WaitAsksOnce) {
  ByHand node;
  N2cSource source(options_for(node), system_clock());
  std::thread greeter([&] { node.greet(); });
  ASSERT_TRUE(source.intersect({}).value().is_origin());
  greeter.join();
  EXPECT_EQ(source.tip_number(), std::nullopt);  // the node has no block
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(0).value()));
  EXPECT_EQ(to_hex(node.read_message()), "8100");
  node.write(kChainSync, hex("8101"));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(std::holds_alternative<Idle>(source.next(2).value()));
  EXPECT_FALSE(node.has_input());
  node.write(kChainSync, hex("830380"
                             "82" +
                             kPoint + "09"));
  EXPECT_TRUE(std::get<RolledBack>(source.next(10'000).value()).to.is_origin());
  EXPECT_EQ(source.tip_number(), 9u);
  EXPECT_FALSE(node.has_input());
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(0).value()));
  EXPECT_EQ(to_hex(node.read_message()), "8100");
  EXPECT_FALSE(node.has_input());
}

TEST(N2cSource, LostNodeIsAnErrorAndCanBeReconnected) {
  ByHand node;
  N2cSource source(options_for(node), system_clock());
  const auto unconnected = source.next(0);
  ASSERT_FALSE(unconnected);
  EXPECT_EQ(unconnected.error().code, Code::kUnavailable);
  for (int i = 0; i < 3; ++i) {
    std::thread greeter([&] { node.greet(); });
    ASSERT_TRUE(source.intersect({}));
    greeter.join();
    node.hang_up();
    const auto gone = source.next(10'000);
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Code::kUnavailable) << gone.error().message;
    EXPECT_TRUE(gone.error().retryable);
  }
  std::thread refuser([&] { node.greet("82028302198014656d61676963"); });
  const auto refused = source.intersect({});
  refuser.join();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  N2cSource nobody({.socket = node.path() + ".none"}, system_clock());
  const auto absent = nobody.intersect({});
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, Code::kUnavailable);
  EXPECT_TRUE(absent.error().retryable);
}

TEST(N2cSource, SilentNodeTimesOutAndWaitCanBeInterrupted) {
  ByHand node;
  N2cSourceOptions options = options_for(node);
  options.answer_timeout_ms = 30;
  N2cSource hasty(options, system_clock());
  const auto silent = hasty.intersect({});  // connected, but nobody accepts
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().code, Code::kUnavailable);
  ByHand other;
  N2cSource source(options_for(other), system_clock());
  std::thread greeter([&] { other.greet(); });
  ASSERT_TRUE(source.intersect({}));
  greeter.join();
  std::thread stopper([&] {
    other.read_message();  // it waits now
    source.interrupt();
  });
  const auto stopped = source.next(60'000);
  stopper.join();
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_EQ(source.intersect({}).error().code, Code::kCancelled);
}

TEST(N2cSource, AsksAheadFarFromTheTipAndNotNearIt) {
  ByHand node;
  N2cSourceOptions options = options_for(node);
  options.pipeline = 8;
  N2cSource source(options, system_clock());
  std::thread greeter([&] { node.greet(); });
  ASSERT_TRUE(source.intersect({}));
  greeter.join();
  const auto forward = [&](std::uint64_t number, std::uint64_t tip) {
    Bytes block, message;
    CborWriter(block).array(2).uint(6).array(1).array(1).array(2).uint(number).uint(number);
    CborWriter(message).array(3).uint(2).tag(24).bytes(block).array(2).raw(hex(kPoint)).uint(tip);
    node.write(kChainSync, message);
    EXPECT_EQ(std::get<NextBlock>(source.next(10'000).value()).raw, block);
  };
  const auto asked = [&] {
    int count = 0;
    while (node.has_input()) {
      EXPECT_EQ(to_hex(node.read_message()), "8100");
      ++count;
    }
    return count;
  };
  forward(1, 100);
  EXPECT_EQ(asked(), 1);
  forward(2, 100);
  EXPECT_EQ(asked(), 8);
  for (std::uint64_t number = 3; number < 6; ++number) forward(number, 100);
  EXPECT_EQ(asked(), 0);
  forward(6, 100);
  EXPECT_EQ(asked(), 4);  // half of the eight were answered
  for (std::uint64_t number = 7; number < 14; ++number) forward(number, 14);
  EXPECT_EQ(asked(), 0);  // near the tip what is owed runs out first
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(0).value()));
  EXPECT_EQ(asked(), 1);
}

}  // namespace
}  // namespace coffer::feed
