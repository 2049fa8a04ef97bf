#include "bus/position_codec.h"
#include "base/result.h"

namespace coffer::bus {
namespace {

constexpr std::size_t kPositionBytes = 48;

}  // namespace

Bytes encode_position(const Position& position) {
  Bytes out;
  if (position.at_origin) return out;
  append_be64(out, position.ordinal.value);
  append_be64(out, position.point.slot.value);
  append(out, position.point.hash.view());
  return out;
}

Result<Position> decode_position(ByteView data) {
  if (data.empty()) return Position::origin();
  if (data.size() != kPositionBytes)
    return fail(Code::kCorrupt, "a stored position has {} bytes instead of {}", data.size(),
                kPositionBytes);
  return Position::after(Ordinal(load_be64(data.data())),
                         {Slot(load_be64(data.data() + 8)), Hash256::from(data.data() + 16)});
}

}  // namespace coffer::bus
