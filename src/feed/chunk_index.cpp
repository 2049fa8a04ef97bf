#include "feed/chunk_index.h"

#include <optional>

#include "base/limits.h"
#include "base/result.h"

namespace coffer::feed {
namespace {

constexpr std::uint8_t kPrimaryVersion = 1;
constexpr std::uint64_t kByronEpochSlots = 21'600;  // only Byron has epoch-boundary blocks

// Relative slots that hold a block, in order; 0 is the place of an epoch-boundary block.
Result<std::vector<std::uint32_t>> parse_primary(ByteView primary, ChunkState state) {
  std::vector<std::uint32_t> filled;
  if (primary.empty() && state == ChunkState::kLast) return filled;
  if (primary.empty() || primary[0] != kPrimaryVersion)
    return fail(Code::kCorrupt, "primary at offset 0: no version byte {}", kPrimaryVersion);
  const std::size_t count = (primary.size() - 1) / 4;
  if ((primary.size() - 1) % 4 != 0 && state == ChunkState::kFinished)
    return fail(Code::kCorrupt, "primary at offset {}: half an offset", 1 + 4 * count);
  if (count == 0 && state == ChunkState::kFinished)
    return fail(Code::kCorrupt, "primary at offset 1: no offsets");
  std::uint32_t previous = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t offset = load_be32(primary.data() + 1 + 4 * i);
    const std::uint32_t step = offset - previous;
    // A slot holds one block or none.
    if (offset < previous || (step != 0 && (i == 0 || step != kSecondaryEntryBytes)))
      return fail(Code::kCorrupt, "primary at offset {}: {} after {}, neither the same nor {} more",
                  1 + 4 * i, offset, previous, kSecondaryEntryBytes);
    if (step != 0) filled.push_back(static_cast<std::uint32_t>(i - 1));
    previous = offset;
  }
  return filled;
}

ChunkEntry parse_entry(const std::uint8_t* at) {
  ChunkEntry entry;
  entry.offset = load_be64(at);
  entry.header_offset = load_be16(at + 8);
  entry.header_size = load_be16(at + 10);
  entry.crc = load_be32(at + 12);
  entry.hash = Hash256::from(at + 16);
  entry.slot = Slot(load_be64(at + 48));
  return entry;
}

// Entries of the secondary that the chunk holds, each with its size; the last one reaches to the
// end of the chunk.
Result<std::vector<ChunkEntry>> parse_secondary(ByteView secondary, std::uint64_t chunk_size) {
  const std::size_t count = secondary.size() / kSecondaryEntryBytes;
  std::vector<ChunkEntry> entries;
  entries.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t* at = secondary.data() + i * kSecondaryEntryBytes;
    ChunkEntry entry = parse_entry(at);
    if (i == 0 && entry.offset != 0)
      return fail(Code::kCorrupt, "secondary at offset 0: the first block lies at {}, not at 0",
                  entry.offset);
    const bool has_next = i + 1 < count;
    const std::uint64_t end = has_next ? load_be64(at + kSecondaryEntryBytes) : chunk_size;
    if (has_next && end <= entry.offset)
      return fail(Code::kCorrupt, "secondary at offset {}: block {} lies at {}, not after {}",
                  (i + 1) * kSecondaryEntryBytes, i + 1, end, entry.offset);
    if (entry.offset >= chunk_size || end > chunk_size) break;
    entry.size = end - entry.offset;
    if (has_next && entry.size > limits::kMaxBlockBytes)
      return fail(Code::kTooLarge, "secondary at offset {}: a block of {} bytes",
                  i * kSecondaryEntryBytes, entry.size);
    entries.push_back(entry);
  }
  return entries;
}

// Slots of the entries against the places that the primary gives them.
Result<> check_slots(std::vector<ChunkEntry>& entries, const std::vector<std::uint32_t>& filled) {
  std::optional<std::uint64_t> first_slot;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ChunkEntry& entry = entries[i];
    entry.epoch_boundary = filled[i] == 0;
    const std::uint64_t stated = entry.slot.value;
    const std::uint64_t within = entry.epoch_boundary ? 0 : filled[i] - 1;
    if (entry.epoch_boundary) entry.slot = Slot(stated * kByronEpochSlots);
    const bool overflows = entry.epoch_boundary ? stated > 0xffffffff : stated < within;
    if (overflows || (first_slot && entry.slot.value - within != *first_slot))
      return fail(Code::kCorrupt, "secondary at offset {}: {} {} is not at place {} of the primary",
                  i * kSecondaryEntryBytes, entry.epoch_boundary ? "epoch" : "slot", stated,
                  filled[i]);
    first_slot = entry.slot.value - within;
  }
  return {};
}

}  // namespace

Result<std::vector<ChunkEntry>> parse_chunk_index(ByteView primary, ByteView secondary,
                                                  std::uint64_t chunk_size, ChunkState state) {
  const std::vector<std::uint32_t> filled = TRY(parse_primary(primary, state));
  const std::uint64_t known = filled.size() * kSecondaryEntryBytes;
  const bool lags = state == ChunkState::kLast && known < secondary.size();
  // The entry being written when a node was killed, or when its files were copied, may be lost.
  const bool cut = state == ChunkState::kLast && secondary.size() < known &&
                   known - secondary.size() <= kSecondaryEntryBytes;
  if (known != secondary.size() && !lags && !cut)
    return fail(Code::kCorrupt, "primary at offset {}: it ends at {}, but the secondary at {}",
                primary.size() < 5 ? 0 : 1 + 4 * ((primary.size() - 1) / 4 - 1), known,
                secondary.size());
  std::vector<ChunkEntry> entries = TRY(parse_secondary(secondary, chunk_size));
  const std::size_t stated = secondary.size() / kSecondaryEntryBytes;
  // A cut-off chunk has indexes that agree; an index that is being written has all its blocks.
  // Both at once means that the three files do not belong together.
  if (entries.size() < stated && (lags || state == ChunkState::kFinished))
    return fail(Code::kCorrupt,
                "secondary at offset {}: block {} lies beyond the {} bytes of the chunk",
                entries.size() * kSecondaryEntryBytes, entries.size(), chunk_size);
  if (state == ChunkState::kFinished && stated == 0 && chunk_size != 0)
    return fail(Code::kCorrupt, "secondary at offset 0: no block, but the chunk has {} bytes",
                chunk_size);
  if (state == ChunkState::kFinished && !entries.empty() &&
      entries.back().size > limits::kMaxBlockBytes)
    return fail(Code::kTooLarge, "secondary at offset {}: a block of {} bytes",
                (stated - 1) * kSecondaryEntryBytes, entries.back().size);
  if (entries.size() > filled.size()) entries.resize(filled.size());
  TRY(check_slots(entries, filled));
  return entries;
}

}  // namespace coffer::feed
