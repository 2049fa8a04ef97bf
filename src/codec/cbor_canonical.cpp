// Checks canonical form by walking the items; recursion is bounded by the depth limit.
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::codec {
namespace {

bool minimal_head(ByteView item) {
  // A shortest head is what our own writer would produce for the same value.
  const std::uint8_t low = item[0] & 31;
  switch (low) {
    case 24: return item[1] >= 24;
    case 25: return load_be16(item.data() + 1) > 0xff;
    case 26: return load_be32(item.data() + 1) > 0xffff;
    case 27: return load_be64(item.data() + 1) > 0xffffffff;
    default: return low != 31;
  }
}

bool ascending(ByteView a, ByteView b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

bool canonical_item(CborReader& reader, ByteView data) {
  if (reader.at_end()) return false;
  const CborType type = reader.type();
  if (type == CborType::kBreak) return false;
  {
    CborReader whole = reader;
    whole.skip();
    if (!whole.ok()) return false;
  }
  if (type != CborType::kSimple && !minimal_head(data.subspan(reader.offset()))) return false;
  if (type == CborType::kTag) {
    reader.read_tag();
    return canonical_item(reader, data);
  }
  if (type == CborType::kArray) {
    for (auto items = reader.begin_array(); reader.next(items);)
      if (!canonical_item(reader, data)) return false;
    return reader.ok();
  }
  if (type == CborType::kMap) {
    ByteView previous;
    for (auto items = reader.begin_map(); reader.next(items);) {
      const std::size_t start = reader.offset();
      if (!canonical_item(reader, data)) return false;
      ByteView key = reader.since(start);
      if (!previous.empty() && !ascending(previous, key)) return false;
      previous = key;
      if (!canonical_item(reader, data)) return false;
    }
    return reader.ok();
  }
  reader.skip();
  return reader.ok();
}

}  // namespace

bool is_canonical_cbor(ByteView data) {
  CborReader reader(data);
  return canonical_item(reader, data) && reader.at_end();
}

}  // namespace coffer::codec
