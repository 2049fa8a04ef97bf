// What a Cardano node and its local clients say to each other: segments of the multiplexer, and the
// messages of the handshake and of chain-sync. Pure: bytes in, values out.
#pragma once

#include <span>
#include <variant>

#include <coffer/chain/block.h>
#include "feed/cbor_boundary.h"

namespace coffer::feed::n2c {

inline constexpr std::uint16_t kHandshake = 0;
inline constexpr std::uint16_t kChainSync = 5;
inline constexpr std::uint16_t kFromResponder = 0x8000;  // direction, in a segment's protocol field
inline constexpr std::size_t kSegmentHeaderBytes = 8;
inline constexpr std::size_t kMaxSegmentOut = 12'288;  // what nodes send at most themselves
inline constexpr std::size_t kMaxMessageBytes = 16 << 20;

// Versions of the node-to-client protocol, 16 to 21. Bit 15 tells them from node-to-node ones.
inline constexpr std::uint16_t kVersionBit = 0x8000;
inline constexpr std::uint16_t kFirstVersion = kVersionBit | 16;
inline constexpr std::uint16_t kLastVersion = kVersionBit | 21;

// Appends the message in as many segments as it needs.
void append_segments(Bytes& out, std::uint16_t protocol, std::uint32_t timestamp_us,
                     ByteView message);

// Puts messages together again from segments that arrive in pieces. Not thread-safe.
// Bounds: it holds one message and what one read brought; every byte is looked at once, and so many
// segments without a payload may come one after the other.
class Demultiplexer {
 public:
  static constexpr std::size_t kMaxEmptySegments = 1'000;

  void feed(ByteView received);
  // The next whole message of this protocol; nothing if more bytes are needed.
  // Errors: kInvalidInput (another protocol, the wrong direction, not CBOR, only empty segments),
  // kTooLarge. After an error the connection is of no use.
  Result<std::optional<Bytes>> next(std::uint16_t protocol);

  // How many bytes of messages were looked at so far.
  std::uint64_t scanned_bytes() const { return scanned_bytes_; }

 private:
  // The message at the front of payloads_, if it is whole.
  Result<std::optional<Bytes>> take_message();

  Bytes received_;           // segments
  std::size_t taken_ = 0;    // of them, from the front
  Bytes payloads_;           // of segments
  std::size_t begin_ = 0;    // of the next message, in payloads_
  std::size_t scanned_ = 0;  // up to where it was looked at
  CborBoundary boundary_;    // of that message
  std::size_t empty_segments_ = 0;
  std::uint64_t scanned_bytes_ = 0;
};

Bytes propose_versions(std::uint64_t network_magic);
// The version the node chose. Errors: kInvalidInput; what the node said when it refused.
Result<std::uint16_t> read_handshake_answer(ByteView message);

Bytes find_intersect(std::span<const chain::Point> points);
Bytes request_next();

struct Tip {
  chain::Point point;
  std::uint64_t number = 0;
};
struct AwaitReply {};
struct RollForward {
  ByteView block;  // within the message
  Tip tip;
};
struct RollBackward {
  chain::Point to;
  Tip tip;
};
struct IntersectFound {
  chain::Point at;
  Tip tip;
};
struct IntersectNotFound {
  Tip tip;
};
using Answer =
    std::variant<AwaitReply, RollForward, RollBackward, IntersectFound, IntersectNotFound>;

// A message of the node on chain-sync. Errors: kInvalidInput with the position.
Result<Answer> read_answer(ByteView message);

// The number and the slot in the header of a block of Shelley or later; nothing for others.
struct HeaderPlace {
  std::uint64_t number = 0;
  Slot slot;
};
std::optional<HeaderPlace> peek_place(ByteView block);

}  // namespace coffer::feed::n2c
