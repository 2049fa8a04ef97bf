// Any bytes as what a Cardano node sends: an error, or whole messages, however the bytes arrive.
// The first byte says how large the pieces are and which protocol is expected.
#include "base/check.h"
#include "codec/cbor_reader.h"
#include "feed/n2c_codec.h"

namespace {

using namespace coffer;
using namespace coffer::feed::n2c;

// The messages, and whether an error ended them.
std::pair<std::vector<Bytes>, bool> messages_of(ByteView wire, std::size_t piece,
                                                std::uint16_t protocol) {
  Demultiplexer demultiplexer;
  std::pair<std::vector<Bytes>, bool> got;
  for (std::size_t at = 0; at < wire.size() && !got.second; at += piece) {
    demultiplexer.feed(wire.subspan(at, std::min(piece, wire.size() - at)));
    for (;;) {
      auto message = demultiplexer.next(protocol);
      got.second = !message;
      if (!message || !*message) break;
      got.first.push_back(std::move(**message));
    }
  }
  CHECK(demultiplexer.scanned_bytes() <= wire.size());
  return got;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint16_t protocol = data[0] % 2 == 0 ? kChainSync : kHandshake;
  const ByteView wire(data + 1, size - 1);
  const auto got = messages_of(wire, std::size_t{1} + data[0] / 2, protocol);
  CHECK(got == messages_of(wire, wire.size() + 1, protocol));
  for (const Bytes& message : got.first) {
    codec::CborReader reader(message);
    const std::size_t read = reader.skip().size();
    if (reader.ok()) CHECK(read == message.size());
    (void)read_handshake_answer(message);
    const auto answer = read_answer(message);
    if (!answer) continue;
    CHECK(reader.ok());
    if (const auto* forward = std::get_if<RollForward>(&*answer)) {
      CHECK(forward->block.empty() ||
            (forward->block.data() >= message.data() &&
             forward->block.data() + forward->block.size() <= message.data() + message.size()));
      (void)peek_place(forward->block);
    }
  }
  return 0;
}
