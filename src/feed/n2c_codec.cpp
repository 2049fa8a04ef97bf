#include "feed/n2c_codec.h"

#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::feed::n2c {
namespace {

using codec::CborReader;
using codec::CborType;
using codec::CborWriter;

constexpr std::uint64_t kEncodedCborTag = 24;
constexpr std::uint64_t kFirstShelleyEra = 2;

// Whether a reader stopped because the input ends too early; more bytes may mend that, while any
// other fault is there for good.
bool needs_more(const codec::Fault& fault) {
  const std::string_view what = fault.what;
  return what == "unexpected end" || what == "a string longer than the input" ||
         what == "more items than the input can hold";
}

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

Result<std::optional<Bytes>> Demultiplexer::next(std::uint16_t protocol) {
  for (;;) {
    if (!message_.empty()) {
      CborReader reader(message_);
      const std::size_t size = reader.skip().size();
      if (reader.ok()) {
        Bytes rest(message_.begin() + static_cast<std::ptrdiff_t>(size), message_.end());
        message_.resize(size);
        return std::exchange(message_, std::move(rest));
      }
      if (!needs_more(reader.fault())) return fail(reader.fault().to_error("message"));
    }
    const std::size_t left = received_.size() - taken_;
    if (left < kSegmentHeaderBytes) return std::nullopt;
    const std::uint8_t* header = received_.data() + taken_;
    const std::uint16_t from = load_be16(header + 4), length = load_be16(header + 6);
    if (from != (protocol | kFromResponder))
      return fail(Code::kInvalidInput, "a segment of protocol {:#06x} where {:#06x} is expected",
                  from, protocol | kFromResponder);
    if (left < kSegmentHeaderBytes + length) return std::nullopt;
    if (message_.size() + length > kMaxMessageBytes)
      return fail(Code::kTooLarge, "a message of more than {} bytes", kMaxMessageBytes);
    append(message_, {header + kSegmentHeaderBytes, length});
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

std::optional<std::uint64_t> peek_number(ByteView block) {
  CborReader reader(block);
  reader.begin_array();
  const std::uint64_t era = reader.read_uint();
  if (era < kFirstShelleyEra) return std::nullopt;
  for (int depth = 0; depth < 3; ++depth) reader.begin_array();  // block, header, header body
  const std::uint64_t number = reader.read_uint();
  if (!reader.ok()) return std::nullopt;
  return number;
}

}  // namespace coffer::feed::n2c
