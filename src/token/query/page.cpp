#include "token/query/page.h"

#include "crypto/blake2b.h"

namespace coffer::token {
namespace {

constexpr std::size_t kDigestBytes = 8;
constexpr std::size_t kHeadBytes = kDigestBytes + 16 + Uuid::kSize;

std::unexpected<Error> no_cursor() {
  return fail(Code::kInvalidInput,
              "cursor: not one of this list with these filters; start without a cursor");
}

}  // namespace

CursorSeal& CursorSeal::add(std::string_view text) {
  append_be32(bound_, static_cast<std::uint32_t>(text.size()));
  append(bound_, as_bytes(text));
  return *this;
}
CursorSeal& CursorSeal::add(std::int64_t number) {
  append_be64(bound_, static_cast<std::uint64_t>(number));
  return *this;
}
CursorSeal& CursorSeal::add(const std::optional<std::int64_t>& number) {
  bound_.push_back(number ? 1 : 0);
  return add(number.value_or(0));
}
CursorSeal& CursorSeal::add(const std::optional<Uuid>& id) {
  bound_.push_back(id ? 1 : 0);
  append(bound_, id.value_or(Uuid{}).view());
  return *this;
}

std::string CursorSeal::close(const Place& place) const {
  Bytes bytes;
  append(bytes, crypto::blake2b_256(bound_).view().first(kDigestBytes));
  append_be64(bytes, static_cast<std::uint64_t>(place.number));
  append_be64(bytes, static_cast<std::uint64_t>(place.second));
  append(bytes, place.id.view());
  append(bytes, as_bytes(place.text));
  return to_hex(bytes);
}

Result<std::optional<Place>> CursorSeal::open(std::string_view cursor) const {
  if (cursor.empty()) return std::nullopt;
  if (cursor.size() > kMaxCursorBytes || !is_hex(cursor)) return no_cursor();
  const Bytes bytes = TRY(from_hex(cursor));
  if (bytes.size() < kHeadBytes) return no_cursor();
  const ByteView view = bytes;
  if (!equal(view.first(kDigestBytes), crypto::blake2b_256(bound_).view().first(kDigestBytes)))
    return no_cursor();
  Place place;
  place.number = static_cast<std::int64_t>(load_be64(bytes.data() + kDigestBytes));
  place.second = static_cast<std::int64_t>(load_be64(bytes.data() + kDigestBytes + 8));
  place.id = Uuid::from(bytes.data() + kDigestBytes + 16);
  place.text = as_text(view.subspan(kHeadBytes));
  return place;
}

}  // namespace coffer::token
