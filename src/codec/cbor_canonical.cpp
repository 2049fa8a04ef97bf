// Checks canonical form in one pass with an explicit stack: depth costs no C++ stack (E12).
#include <vector>

#include "codec/cbor_reader.h"

namespace coffer::codec {
namespace {

bool minimal_head(ByteView item) {
  const std::uint8_t low = item[0] & 31;
  switch (low) {
    case 24: return item.size() > 1 && item[1] >= 24;
    case 25: return item.size() > 2 && load_be16(item.data() + 1) > 0xff;
    case 26: return item.size() > 4 && load_be32(item.data() + 1) > 0xffff;
    case 27: return item.size() > 8 && load_be64(item.data() + 1) > 0xffffffff;
    default: return low != 31;
  }
}

bool ascending(ByteView a, ByteView b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

struct Container {
  std::uint64_t left = 0;  // items still to come; keys and values of a map count each
  bool is_map = false;
  std::size_t item_start = 0;  // of the item that is read now
  ByteView previous_key{};
};

// Takes note that an item ended at `end`, which may end the containers around it as well.
// False: a key is out of order.
bool complete_item(std::vector<Container>& open, ByteView data, std::size_t end) {
  while (!open.empty()) {
    Container& top = open.back();
    if (top.is_map && top.left % 2 == 0) {
      const ByteView key = data.subspan(top.item_start, end - top.item_start);
      if (!top.previous_key.empty() && !ascending(top.previous_key, key)) return false;
      top.previous_key = key;
    }
    top.item_start = end;
    if (--top.left > 0) return true;
    open.pop_back();
  }
  return true;
}

}  // namespace

bool is_canonical_cbor(ByteView data) {
  CborReader reader(data);
  std::vector<Container> open;
  do {
    const CborType type = reader.type();
    if (type == CborType::kEnd || type == CborType::kBreak) return false;
    if (type != CborType::kSimple && !minimal_head(data.subspan(reader.offset()))) return false;
    std::uint64_t items = 0;
    switch (type) {
      case CborType::kArray: items = reader.begin_array().left; break;
      case CborType::kMap: items = 2 * reader.begin_map().left; break;
      case CborType::kTag:
        reader.read_tag();
        items = 1;
        break;
      default: reader.skip();
    }
    if (!reader.ok()) return false;
    if (items > 0)
      open.push_back({items, type == CborType::kMap, reader.offset()});
    else if (!complete_item(open, data, reader.offset()))
      return false;
  } while (!open.empty());
  return reader.at_end();
}

}  // namespace coffer::codec
