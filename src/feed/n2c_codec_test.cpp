// Node-to-client: every byte of what is sent, and every message that is understood.
#include "feed/n2c_codec.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"
#include "feed/n2c_test_util.h"

namespace coffer::feed::n2c {
namespace {

using codec::CborWriter;

chain::Point point(std::uint64_t slot, std::uint8_t fill) {
  chain::Point p;
  p.slot = Slot(slot);
  p.hash.fill(fill);
  return p;
}

TEST(N2cCodec, ProposesOnlyNodeToClientVersionsByteByByte) {
  const Bytes message = propose_versions(764824073);
  EXPECT_EQ(to_hex(message),
            "8200a6"
            "198010821a2d964a09f4"
            "198011821a2d964a09f4"
            "198012821a2d964a09f4"
            "198013821a2d964a09f4"
            "198014821a2d964a09f4"
            "198015821a2d964a09f4");
  EXPECT_EQ(to_hex(propose_versions(2)).substr(0, 18), "8200a61980108202f4");
  codec::CborReader reader(message);
  reader.begin_array();
  EXPECT_EQ(reader.read_uint(), 0u);
  for (auto items = reader.begin_map(); reader.next(items); reader.skip()) {
    const std::uint64_t version = reader.read_uint();
    EXPECT_NE(version & 0x8000, 0u) << version;
    EXPECT_LT(version, 0x10000u);
  }
  EXPECT_TRUE(reader.ok());
}

TEST(N2cCodec, SegmentsByteByByte) {
  Bytes out;
  append_segments(out, kChainSync, 0x01020304, request_next());
  EXPECT_EQ(to_hex(out),
            "01020304"
            "0005"
            "0002"
            "8100");
  out.clear();
  append_segments(out, kHandshake, 7, Bytes(12'289, 0xaa));
  ASSERT_EQ(out.size(), 12'289u + 16);
  EXPECT_EQ(to_hex(ByteView(out).first(8)), "0000000700003000");
  EXPECT_EQ(to_hex(ByteView(out).subspan(8 + 12'288)), "0000000700000001aa");
}

TEST(N2cCodec, QuestionsByteByByte) {
  const chain::Point points[] = {point(1000, 0xab), chain::Point::origin()};
  EXPECT_EQ(to_hex(find_intersect(points)),
            "820482"
            "821903e8"
            "5820" +
                repeated("ab", 32) + "80");
  EXPECT_EQ(to_hex(request_next()), "8100");
}

TEST(N2cCodec, HandshakeAnswers) {
  EXPECT_EQ(read_handshake_answer(hex("83011980148202f4")).value(), 0x8014);
  const auto refused = [](const char* text) {
    const auto answer = read_handshake_answer(hex(text));
    EXPECT_FALSE(answer) << text;
    EXPECT_EQ(answer.error().code, Code::kInvalidInput);
    EXPECT_FALSE(answer.error().retryable);
    return answer.error().message;
  };
  EXPECT_NE(refused("820282008219800919800a").find("it speaks versions 9 10"), std::string::npos);
  EXPECT_NE(refused("82028302198014"
                    "656d61676963")
                .find("magic"),
            std::string::npos);
  EXPECT_NE(refused("8301148202f4").find("not proposed"),
            std::string::npos);  // a node-to-node version
  refused("820301");
  refused("80");
  refused("00");
}
TEST(N2cCodec, ChainSyncAnswers) {
  const std::string tip = "82" + kPoint + "07";
  EXPECT_TRUE(std::holds_alternative<AwaitReply>(read_answer(hex("8101")).value()));
  const Bytes forward = hex("8302d81843820280" + tip);
  const auto rolled = std::get<RollForward>(read_answer(forward).value());
  EXPECT_EQ(to_hex(rolled.block), "820280");
  EXPECT_EQ(rolled.tip.number, 7u);
  EXPECT_EQ(rolled.tip.point, point(1000, 0xcd));
  const Bytes back = hex("8303" + kPoint + tip), origin =
                                                     hex("830380"
                                                         "828000");
  EXPECT_EQ(std::get<RollBackward>(read_answer(back).value()).to, point(1000, 0xcd));
  EXPECT_TRUE(std::get<RollBackward>(read_answer(origin).value()).to.is_origin());
  EXPECT_EQ(std::get<IntersectFound>(read_answer(hex("8305" + kPoint + tip)).value()).at.slot,
            Slot(1000));
  EXPECT_EQ(std::get<IntersectNotFound>(read_answer(hex("8206" + tip)).value()).tip.number, 7u);
  // Indefinite lengths are as good.
  const std::string loose = "9f1903e85820" + repeated("cd", 32) + "ff";
  EXPECT_EQ(
      std::get<RollBackward>(read_answer(hex("9f03" + loose + "9f" + loose + "07ffff")).value())
          .tip.number,
      7u);
  for (const char* bad : {"8100", "8104", "80", "8202", "8302d8184101", "83028000", "820680", "01",
                          "8303811903e8828000", "81018101"})
    EXPECT_FALSE(read_answer(hex(bad))) << bad;
  // Cut off anywhere it is no message, and nothing worse.
  for (const Bytes& whole : {forward, back, origin})
    for (std::size_t size = 0; size < whole.size(); ++size)
      EXPECT_FALSE(read_answer(ByteView(whole).first(size)));
}

TEST(N2cCodec, PlacesOfBlocks) {
  const auto place = peek_place(hex("820681818219303905"));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->number, 12'345u);
  EXPECT_EQ(place->slot, Slot(5));
  EXPECT_FALSE(peek_place(hex("820183")));  // Byron
  EXPECT_FALSE(peek_place(hex("8206")));
  EXPECT_FALSE(peek_place(hex("8206818182193039")));
  EXPECT_FALSE(peek_place({}));
}

TEST(N2cDemultiplexer, MessagesInAnySegmentsInAnyPieces) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<Bytes> sent;
    Bytes stream;  // of payloads
    for (std::uint64_t i = 0, count = rng.between(1, 8); i < count; ++i) {
      Bytes block(rng.below(round % 10 == 0 ? 200'000 : 300), 0x5a);
      Bytes message;
      CborWriter(message).array(3).uint(2).tag(24).bytes(block).array(2).array(0).uint(0);
      append(stream, message);
      sent.push_back(std::move(message));
    }
    Bytes wire;
    answer(wire, kChainSync, stream, rng.between(1, rng.one_in(2) ? 65'535 : 40));
    Demultiplexer demultiplexer;
    std::vector<Bytes> got;
    for (std::size_t at = 0; at < wire.size();) {
      const std::size_t piece = std::min(wire.size() - at, rng.between(1, 5'000));
      demultiplexer.feed(ByteView(wire).subspan(at, piece));
      at += piece;
      while (auto message = demultiplexer.next(kChainSync).value())
        got.push_back(std::move(*message));
    }
    ASSERT_EQ(got, sent);
  }
}

TEST(N2cDemultiplexer, RefusesWhatANodeDoesNotSend) {
  const auto error_of = [](const std::string& text) {
    Demultiplexer demultiplexer;
    demultiplexer.feed(hex(text));
    auto message = demultiplexer.next(kChainSync);
    return message ? Code::kInternal : message.error().code;
  };
  EXPECT_EQ(error_of("0000000000050002"
                     "8100"),
            Code::kInvalidInput);  // our own direction
  EXPECT_EQ(error_of("0000000080000002"
                     "8100"),
            Code::kInvalidInput);  // the handshake's
  EXPECT_EQ(error_of("0000000080050002"
                     "81ff"),
            Code::kInvalidInput);  // an end without a beginning
  EXPECT_EQ(error_of("0000000080050001"
                     "1c"),
            Code::kInvalidInput);  // a reserved length
  Demultiplexer demultiplexer;
  Bytes endless = hex("5a7fffffff");  // a string of two gigabytes
  endless.resize(65'535);
  Bytes wire;
  answer(wire, kChainSync, endless, 65'535);
  Result<std::optional<Bytes>> last = std::nullopt;
  for (int i = 0; i < 300 && last; ++i) {
    demultiplexer.feed(wire);
    last = demultiplexer.next(kChainSync);
  }
  ASSERT_FALSE(last);
  EXPECT_EQ(last.error().code, Code::kTooLarge);
}

// Counted, not timed: every byte of a message is looked at once, however it was cut.
TEST(N2cDemultiplexer, WorkIsInProportionToTheBytesReceived) {
  Bytes message;
  CborWriter(message)
      .array(3)
      .uint(2)
      .tag(24)
      .bytes(Bytes(200'000, 0x5a))
      .array(2)
      .array(0)
      .uint(0);
  Bytes wire;
  answer(wire, kChainSync, message, 1);
  Demultiplexer demultiplexer;
  std::optional<Bytes> got;
  for (std::size_t at = 0; at < wire.size(); at += 1'000) {
    demultiplexer.feed(ByteView(wire).subspan(at, std::min<std::size_t>(1'000, wire.size() - at)));
    if (auto whole = demultiplexer.next(kChainSync).value()) got = std::move(whole);
  }
  EXPECT_EQ(got, message);
  EXPECT_EQ(demultiplexer.scanned_bytes(), message.size());

  // Many messages in one segment.
  Bytes many;
  for (int i = 0; i < 30'000; ++i) append(many, hex("8101"));
  wire.clear();
  answer(wire, kChainSync, many, 65'535);
  demultiplexer.feed(wire);
  int messages = 0;
  while (demultiplexer.next(kChainSync).value()) ++messages;
  EXPECT_EQ(messages, 30'000);
  EXPECT_EQ(demultiplexer.scanned_bytes(), message.size() + many.size());
}

TEST(N2cDemultiplexer, EmptySegmentsAreLookedAtOnceAndNotForEver) {
  const Bytes empty = hex("0000000080050000");
  Bytes half;
  answer(half, kChainSync, hex("8303"), 2);  // a message that has begun
  Demultiplexer demultiplexer;
  demultiplexer.feed(half);
  std::size_t segments = 0;
  Result<std::optional<Bytes>> last = std::nullopt;
  for (; segments < 1'000'000 && last; ++segments) {
    demultiplexer.feed(empty);
    last = demultiplexer.next(kChainSync);
  }
  ASSERT_FALSE(last) << "a million of them";
  EXPECT_EQ(last.error().code, Code::kInvalidInput);
  EXPECT_EQ(segments, Demultiplexer::kMaxEmptySegments + 1);
  EXPECT_EQ(demultiplexer.scanned_bytes(), 2u);
  // As many as are allowed, again and again, between those that have something.
  Demultiplexer patient;
  for (int round = 0; round < 5; ++round) {
    for (std::size_t i = 0; i < Demultiplexer::kMaxEmptySegments; ++i) patient.feed(empty);
    Bytes wire;
    answer(wire, kChainSync, hex("8101"), 2);
    patient.feed(wire);
    EXPECT_EQ(patient.next(kChainSync).value(), hex("8101"));
  }
}

}  // namespace
}  // namespace coffer::feed::n2c
