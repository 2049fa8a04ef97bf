#include "support/fake_n2c_peer.h"

#include <coffer/chain/decode.h>
#include "base/check.h"
#include "base/result.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::test {
namespace {

using codec::CborReader;
using codec::CborWriter;
using feed::n2c::kChainSync;
using feed::n2c::kFromResponder;
using feed::n2c::kHandshake;
using feed::n2c::kSegmentHeaderBytes;

constexpr std::uint64_t kRequestNext = 0, kFindIntersect = 4;
const char* name_of(N2cReply::Kind kind) {
  switch (kind) {
    case N2cReply::Kind::kHandshake: return "handshake";
    case N2cReply::Kind::kFound:
    case N2cReply::Kind::kNotFound: return "intersect";
    case N2cReply::Kind::kAwait: return "await";
    case N2cReply::Kind::kForward: return "forward";
    case N2cReply::Kind::kBackward: return "backward";
  }
  return "";
}

void write_point(CborWriter& writer, const chain::Point& point) {
  if (point.is_origin())
    writer.array(0);
  else
    writer.array(2).uint(point.slot.value).bytes(point.hash.view());
}

void write_tip(CborWriter& writer, const feed::n2c::Tip& tip) {
  writer.array(2);
  write_point(writer, tip.point);
  writer.uint(tip.number);
}

Bytes encode(const N2cReply& reply, std::uint64_t magic) {
  if (reply.message) return *reply.message;
  Bytes out;
  CborWriter writer(out);
  switch (reply.kind) {
    case N2cReply::Kind::kHandshake:
      writer.array(3).uint(1).uint(reply.version).array(2).uint(magic).boolean(false);
      break;
    case N2cReply::Kind::kAwait: writer.array(1).uint(1); break;
    case N2cReply::Kind::kForward:
      writer.array(3).uint(2).tag(24).bytes(reply.block);
      write_tip(writer, reply.tip);
      break;
    case N2cReply::Kind::kNotFound:
      writer.array(2).uint(6);
      write_tip(writer, reply.tip);
      break;
    case N2cReply::Kind::kBackward:
    case N2cReply::Kind::kFound:
      writer.array(3).uint(reply.kind == N2cReply::Kind::kBackward ? 3 : 5);
      write_point(writer, reply.point);
      write_tip(writer, reply.tip);
      break;
  }
  return out;
}

void append_segment(Bytes& out, std::uint16_t protocol, ByteView payload) {
  append_be32(out, 99);
  append_be32(out, std::uint32_t{protocol} << 16 | static_cast<std::uint32_t>(payload.size()));
  append(out, payload);
}

}  // namespace

FakeN2cPeer::FakeN2cPeer(std::filesystem::path socket, const chain::Network& network,
                         const std::vector<Bytes>& blocks)
    : socket_(std::move(socket)),
      network_(network),
      server_(socket_.string(), [this](Stream& stream) { serve(stream); }) {
  extend(blocks);
}

void FakeN2cPeer::push_block(const Bytes& raw) {
  const auto block = chain::decode(network_, raw);
  CHECK(block.has_value());
  chain_.push_back({block->point(), block->prev, block->number.value, raw});
}

void FakeN2cPeer::extend(const std::vector<Bytes>& blocks) {
  {
    std::lock_guard lock(mutex_);
    for (const Bytes& raw : blocks) push_block(raw);
  }
  server_.wake_all();
}

void FakeN2cPeer::reorganize(std::uint64_t fork_position, const std::vector<Bytes>& blocks) {
  {
    std::lock_guard lock(mutex_);
    CHECK(fork_position < chain_.size());
    chain_.resize(fork_position + 1);
    forks_.push_back(chain_.size());
    for (const Bytes& raw : blocks) push_block(raw);
  }
  server_.wake_all();
}

void FakeN2cPeer::report_tip_number(std::optional<std::uint64_t> number) {
  std::lock_guard lock(mutex_);
  reported_tip_number_ = number;
}

N2cReply FakeN2cPeer::blank(N2cReply::Kind kind) const {
  N2cReply reply;
  reply.kind = kind;
  if (!chain_.empty()) reply.tip = {chain_.back().point, chain_.back().number};
  if (reported_tip_number_) reply.tip.number = *reported_tip_number_;
  return reply;
}

// False when the connection is over.
bool FakeN2cPeer::send(Stream& stream, N2cReply& reply) {
  reply.protocol = (reply.kind == N2cReply::Kind::kHandshake ? kHandshake : kChainSync);
  reply.protocol |= kFromResponder;
  script_.answer(name_of(reply.kind),
                 reply.kind == N2cReply::Kind::kForward ? reply.point.hash.hex() : std::string(),
                 reply);
  if (reply.late_ms > 0 && !stream.pause_ms(reply.late_ms)) return false;
  if (reply.end == N2cReply::End::kHang) stream.wait_for_close();
  if (reply.end == N2cReply::End::kHang || reply.end == N2cReply::End::kClose) return false;
  Bytes wire;
  const Bytes message = encode(reply, network_.cardano.magic);
  for (std::size_t i = 0; i < reply.empty_segments; ++i) append_segment(wire, reply.protocol, {});
  for (std::size_t i = 0; i < reply.times; ++i)
    for (std::size_t at = 0; at < message.size(); at += reply.segment_bytes)
      append_segment(
          wire, reply.protocol,
          ByteView(message).subspan(at, std::min(reply.segment_bytes, message.size() - at)));
  if (reply.end == N2cReply::End::kCut) {
    stream.write_all(ByteView(wire).first(wire.size() / 2));
    return false;
  }
  return stream.write_all(wire);
}

// One message, from as many segments as it has. False when the connection is over.
bool FakeN2cPeer::read_message(Stream& stream, std::string& buffer, Client& client,
                               Bytes& message) {
  for (;;) {
    CborReader reader(client.received);
    const std::size_t size = client.received.empty() ? 0 : reader.skip().size();
    if (size > 0 && reader.ok()) {
      const auto end = client.received.begin() + static_cast<std::ptrdiff_t>(size);
      message.assign(client.received.begin(), end);
      client.received.erase(client.received.begin(), end);
      return true;
    }
    const ByteView raw = as_bytes(buffer);
    const std::size_t length = raw.size() < kSegmentHeaderBytes ? 0 : load_be16(raw.data() + 6);
    if (raw.size() < kSegmentHeaderBytes || raw.size() < kSegmentHeaderBytes + length) {
      if (!stream.read_some(buffer)) return false;
      continue;
    }
    client.protocol = load_be16(raw.data() + 4);
    append(client.received, raw.subspan(kSegmentHeaderBytes, length));
    buffer.erase(0, kSegmentHeaderBytes + length);
  }
}

void FakeN2cPeer::serve(Stream& stream) {
  std::string buffer;
  Client client;
  Bytes message;
  while (read_message(stream, buffer, client, message)) {
    CborReader reader(message);
    reader.begin_array();
    const std::uint64_t kind = reader.read_uint();
    bool open = false;  // any other message, e.g. that the client is done, ends it
    if (client.protocol == kHandshake)
      open = shake_hands(stream, message);
    else if (client.protocol == kChainSync && kind == kFindIntersect)
      open = find_intersect(stream, client, message);
    else if (client.protocol == kChainSync && kind == kRequestNext)
      open = send_next(stream, client);
    if (!open) return;
  }
}

bool FakeN2cPeer::shake_hands(Stream& stream, ByteView message) {
  CborReader reader(message);
  reader.begin_array();
  reader.read_uint();
  std::uint64_t version = 0, magic = 0;
  for (auto versions = reader.begin_map(); reader.next(versions);) {
    version = std::max(version, reader.read_uint());
    auto data = reader.begin_array();
    if (reader.next(data)) magic = reader.read_uint();
    while (reader.next(data)) reader.skip();
  }
  if (!reader.ok()) return false;
  N2cReply reply;
  reply.kind = N2cReply::Kind::kHandshake;
  reply.version = static_cast<std::uint16_t>(version);
  if (magic != network_.cardano.magic)
    n2c_fault::refuse(
        fmt::format("version data mismatch: NetworkMagic {}", network_.cardano.magic))(reply);
  return send(stream, reply);
}

bool FakeN2cPeer::find_intersect(Stream& stream, Client& client, ByteView message) {
  CborReader reader(message);
  reader.begin_array();
  reader.read_uint();
  std::vector<Hash256> asked;  // zeros: Origin
  for (auto points = reader.begin_array(); reader.next(points);) {
    auto point = reader.begin_array();
    Hash256 hash{};
    if (reader.next(point)) {
      reader.read_uint();
      if (reader.next(point)) {
        const ByteView bytes = reader.read_bytes(32);
        if (bytes.size() == 32) hash = Hash256::from(bytes.data());
      }
      while (reader.next(point)) reader.skip();
    }
    asked.push_back(hash);
  }
  if (!reader.ok()) return false;
  N2cReply reply;
  {
    std::lock_guard lock(mutex_);
    reply = blank(N2cReply::Kind::kNotFound);
    client.seen_forks = forks_.size();
    for (const Hash256& hash : asked) {
      const auto found = std::find_if(chain_.begin(), chain_.end(),
                                      [&](const Stored& b) { return b.point.hash == hash; });
      if (!hash.is_zero() && found == chain_.end()) continue;
      reply.kind = N2cReply::Kind::kFound;
      if (!hash.is_zero()) reply.point = found->point;
      client.has = hash.is_zero() ? 0 : static_cast<std::size_t>(found - chain_.begin()) + 1;
      client.owes_rollback = true;  // as a node does: the first answer confirms the intersection
      break;
    }
  }
  return send(stream, reply);
}

N2cReply FakeN2cPeer::next_for(Client& client) {
  std::lock_guard lock(mutex_);
  for (; client.seen_forks < forks_.size(); ++client.seen_forks) {
    if (client.has <= forks_[client.seen_forks]) continue;
    client.has = forks_[client.seen_forks];
    client.owes_rollback = true;
  }
  if (client.owes_rollback) {
    N2cReply reply = blank(N2cReply::Kind::kBackward);
    if (client.has > 0) reply.point = chain_[client.has - 1].point;
    client.owes_rollback = false;
    return reply;
  }
  if (client.has == chain_.size()) return blank(N2cReply::Kind::kAwait);
  N2cReply reply = blank(N2cReply::Kind::kForward);
  const Stored& block = chain_[client.has];
  reply.point = block.point;
  reply.prev = block.prev;
  reply.block = block.raw;
  return reply;
}

bool FakeN2cPeer::send_next(Stream& stream, Client& client) {
  N2cReply reply = next_for(client);
  if (reply.kind == N2cReply::Kind::kAwait) {
    if (!send(stream, reply)) return false;
    while ((reply = next_for(client)).kind == N2cReply::Kind::kAwait)
      if (!stream.wait_for_wake()) return false;
  }
  const bool open = send(stream, reply);
  if (reply.kind == N2cReply::Kind::kForward) ++client.has;  // unless a fault made it another
  return open;
}

}  // namespace coffer::test
