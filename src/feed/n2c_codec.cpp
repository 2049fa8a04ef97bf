#include "feed/n2c_codec.h"

#include "base/result.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::feed::n2c {
namespace {

using codec::CborReader;
using codec::CborType;
using codec::CborWriter;

constexpr std::uint64_t kEncodedCborTag = 24;
constexpr std::uint64_t kFirstShelleyEra = 2;

chain::Point read_point(CborReader& reader) {
  auto items = reader.begin_array();
  if (!reader.next(items)) return chain::Point::origin();
  chain::Point point;
  point.slot = Slot(reader.read_uint());
  const ByteView hash = reader.next(items) ? reader.read_bytes(32) : ByteView{};
  if (hash.empty() || reader.next(items)) reader.fail_here("expected a point");
  if (reader.ok()) point.hash = Hash256::from(hash.data());
  return point;
}

Tip read_tip(CborReader& reader) {
  Tip tip;
  auto pair = reader.begin_fixed(2);
  tip.point = read_point(reader);
  tip.number = reader.read_uint();
  reader.end_fixed(pair);
  return tip;
}

void write_point(CborWriter& writer, const chain::Point& point) {
  if (point.is_origin())
    writer.array(0);
  else
    writer.array(2).uint(point.slot.value).bytes(point.hash.view());
}

std::string refusal(CborReader& reader) {
  auto items = reader.begin_array();
  const std::uint64_t kind = reader.next(items) ? reader.read_uint() : ~std::uint64_t{0};
  std::string said;
  while (reader.next(items)) {
    if (kind == 0 && reader.type() == CborType::kArray) {
      said = "it speaks versions";
      for (auto versions = reader.begin_array(); reader.next(versions);)
        said += fmt::format(" {}", reader.read_uint() & ~std::uint64_t{kVersionBit});
    } else if (reader.type() == CborType::kText) {
      said = as_text(reader.read_text());
    } else {
      reader.skip();
    }
  }
  return said;
}

}  // namespace

void append_segments(Bytes& out, std::uint16_t protocol, std::uint32_t timestamp_us,
                     ByteView message) {
  do {
    const ByteView part = message.first(std::min(message.size(), kMaxSegmentOut));
    append_be32(out, timestamp_us);
    append_be32(out, std::uint32_t{protocol} << 16 | static_cast<std::uint32_t>(part.size()));
    append(out, part);
    message = message.subspan(part.size());
  } while (!message.empty());
}

void Demultiplexer::feed(ByteView received) {
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(taken_));
  taken_ = 0;
  append(received_, received);
}

Result<std::optional<Bytes>> Demultiplexer::take_message() {
  const std::size_t used = boundary_.feed(ByteView(payloads_).subspan(scanned_));
  scanned_ += used;
  scanned_bytes_ += used;
  if (boundary_.fault() != nullptr)
    return fail(Code::kInvalidInput, "message: {} at byte {}", boundary_.fault(),
                scanned_ - begin_ - 1);
  if (!boundary_.done()) return std::nullopt;
  const auto at = [&](std::size_t offset) {
    return payloads_.begin() + static_cast<std::ptrdiff_t>(offset);
  };
  Bytes message(at(begin_), at(scanned_));
  begin_ = scanned_;
  boundary_.reset();
  return message;
}

Result<std::optional<Bytes>> Demultiplexer::next(std::uint16_t protocol) {
  for (;;) {
    if (auto message = TRY(take_message())) return message;
    const std::size_t left = received_.size() - taken_;
    if (left < kSegmentHeaderBytes) return std::nullopt;
    const std::uint8_t* header = received_.data() + taken_;
    const std::uint16_t from = load_be16(header + 4), length = load_be16(header + 6);
    if (from != (protocol | kFromResponder))
      return fail(Code::kInvalidInput, "a segment of protocol {:#06x} where {:#06x} is expected",
                  from, protocol | kFromResponder);
    if (left < kSegmentHeaderBytes + length) return std::nullopt;
    empty_segments_ = length == 0 ? empty_segments_ + 1 : 0;
    if (empty_segments_ > kMaxEmptySegments)
      return fail(Code::kInvalidInput, "more than {} segments without a payload",
                  kMaxEmptySegments);
    if (payloads_.size() - begin_ + length > kMaxMessageBytes)
      return fail(Code::kTooLarge, "a message of more than {} bytes", kMaxMessageBytes);
    // What was taken goes once it is most of it, so that each byte is moved once on average.
    if (begin_ > payloads_.size() / 2) {
      payloads_.erase(payloads_.begin(), payloads_.begin() + static_cast<std::ptrdiff_t>(begin_));
      scanned_ -= std::exchange(begin_, 0);
    }
    append(payloads_, {header + kSegmentHeaderBytes, length});
    taken_ += kSegmentHeaderBytes + length;
  }
}

Bytes propose_versions(std::uint64_t network_magic) {
  Bytes out;
  CborWriter writer(out);
  writer.array(2).uint(0).map(kLastVersion - kFirstVersion + 1);
  for (std::uint64_t version = kFirstVersion; version <= kLastVersion; ++version)
    writer.uint(version).array(2).uint(network_magic).boolean(false);  // not a query
  return out;
}

Result<std::uint16_t> read_handshake_answer(ByteView message) {
  CborReader reader(message);
  auto items = reader.begin_array();
  const std::uint64_t kind = reader.next(items) ? reader.read_uint() : 0;
  if (kind == 2 && reader.next(items)) {
    const std::string said = refusal(reader);
    return fail(Code::kInvalidInput, "the node refuses the connection: {}",
                reader.ok() ? said : "for an unknown reason");
  }
  if (kind != 1) reader.fail_here("expected the acceptance of a version");
  const std::uint64_t version = reader.next(items) ? reader.read_uint() : 0;
  while (reader.next(items)) reader.skip();
  if (!reader.ok()) return fail(reader.fault().to_error("handshake"));
  if (version < kFirstVersion || version > kLastVersion)
    return fail(Code::kInvalidInput, "the node chose version {}, which was not proposed", version);
  return static_cast<std::uint16_t>(version);
}

Bytes find_intersect(std::span<const chain::Point> points) {
  Bytes out;
  CborWriter writer(out);
  writer.array(2).uint(4).array(points.size());
  for (const chain::Point& point : points) write_point(writer, point);
  return out;
}

Bytes request_next() {
  return {0x81, 0x00};
}

Result<Answer> read_answer(ByteView message) {
  CborReader reader(message);
  auto items = reader.begin_array();
  const std::uint64_t kind = reader.next(items) ? reader.read_uint() : 0;
  const auto more = [&] {
    if (!reader.next(items)) reader.fail_here("a message without all its fields");
  };
  Answer answer;
  if (kind == 1) {
    answer = AwaitReply{};
  } else if (kind == 2) {
    more();
    if (!reader.try_tag(kEncodedCborTag)) reader.fail_here("expected a block within a string");
    const ByteView block = reader.read_bytes();
    more();
    answer = RollForward{block, read_tip(reader)};
  } else if (kind == 3 || kind == 5) {
    more();
    const chain::Point point = read_point(reader);
    more();
    const Tip tip = read_tip(reader);
    if (kind == 3)
      answer = RollBackward{point, tip};
    else
      answer = IntersectFound{point, tip};
  } else if (kind == 6) {
    more();
    answer = IntersectNotFound{read_tip(reader)};
  } else {
    reader.fail_at("an unknown kind of message", 1);
  }
  if (reader.ok() && (reader.next(items) || !reader.at_end()))
    reader.fail_here("more than one message");
  if (!reader.ok()) return fail(reader.fault().to_error("chain-sync"));
  return answer;
}

std::optional<HeaderPlace> peek_place(ByteView block) {
  CborReader reader(block);
  reader.begin_array();
  const std::uint64_t era = reader.read_uint();
  if (era < kFirstShelleyEra) return std::nullopt;
  for (int depth = 0; depth < 3; ++depth) reader.begin_array();  // block, header, header body
  HeaderPlace place;
  place.number = reader.read_uint();
  place.slot = Slot(reader.read_uint());
  if (!reader.ok()) return std::nullopt;
  return place;
}

}  // namespace coffer::feed::n2c
