// Any bytes as the two index files of a chunk: an error, or entries that lie within it, in order.
#include "base/check.h"
#include "feed/chunk_index.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  if (size < 4) return 0;
  const std::size_t split = load_le<std::uint16_t>(data) % (size - 3);
  const std::uint64_t chunk_size = std::uint64_t{load_le<std::uint16_t>(data + 2)} * 64;
  const ByteView rest(data + 4, size - 4);
  const std::size_t at = std::min(split, rest.size());
  auto entries = feed::parse_chunk_index(rest.first(at), rest.subspan(at), chunk_size);
  if (!entries) return 0;
  std::uint64_t before = 0;
  for (const feed::ChunkEntry& entry : *entries) {
    CHECK(entry.offset >= before && entry.offset < chunk_size);
    before = entry.offset;
  }
  return 0;
}
