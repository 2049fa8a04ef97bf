#include "chainstate/header_codec.h"
#include "base/result.h"

namespace coffer::chainstate {
namespace {

constexpr std::size_t kHeaderBytes = 65;

}  // namespace

Bytes stale_key(Ordinal ordinal, const Hash256& hash) {
  Bytes key;
  append(key, ordinal_key(ordinal));
  append(key, hash.view());
  return key;
}

Bytes encode_header(const HeaderInfo& info) {
  Bytes out;
  out.reserve(kHeaderBytes);
  append(out, info.prev.view());
  append_be64(out, info.ordinal.value);
  append_be64(out, info.number.value);
  append_be64(out, info.slot.value);
  append_be64(out, static_cast<std::uint64_t>(info.time_unix_s));
  out.push_back(info.epoch_boundary ? 1 : 0);
  return out;
}

Result<HeaderInfo> decode_header(const Hash256& hash, ByteView data) {
  if (data.size() != kHeaderBytes)
    return fail(Code::kCorrupt, "header {} has {} bytes instead of {}", hash.hex(), data.size(),
                kHeaderBytes);
  const std::uint8_t* at = data.data() + 32;
  return HeaderInfo{hash,
                    Hash256::from(data.data()),
                    Ordinal(load_be64(at)),
                    BlockNumber(load_be64(at + 8)),
                    Slot(load_be64(at + 16)),
                    static_cast<std::int64_t>(load_be64(at + 24)),
                    at[32] == 1};
}

Bytes encode_active(const HeaderInfo& info) {
  Bytes out;
  append(out, info.hash.view());
  append_be64(out, info.number.value);
  append_be64(out, info.slot.value);
  return out;
}

}  // namespace coffer::chainstate
