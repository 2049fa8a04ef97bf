// The index of one chunk of a Cardano node's immutable database: which bytes of NNNNN.chunk are
// which block. NNNNN.secondary has an entry of 56 bytes for each block, NNNNN.primary tells for
// each slot of the chunk where that slot's entry begins. Pure: no files, no clock.
// Invariant: the entries that come back are adjacent, not empty, and lie within the chunk.
#pragma once

#include <vector>

#include <coffer/base/bytes.h>
#include <coffer/base/strong.h>

namespace coffer::feed {

inline constexpr std::size_t kSecondaryEntryBytes = 56;

struct ChunkEntry {
  std::uint64_t offset = 0;         // of the block in the chunk
  std::uint64_t size = 0;           // up to the next block, or to the end of the chunk
  std::uint16_t header_offset = 0;  // within the block
  std::uint16_t header_size = 0;
  std::uint32_t crc = 0;  // of the whole block
  Hash256 hash{};
  Slot slot;  // of an epoch-boundary block: the first slot of its epoch, as the decoder has it
  bool epoch_boundary = false;
};

// A finished chunk must agree with its index in every byte. The last one may still be written (a
// node writes the block first, then secondary, then primary), or have been cut off: the chunk or
// the primary anywhere, the secondary within or before its last entry.
enum class ChunkState : std::uint8_t { kFinished, kLast };

// The blocks of a chunk in order. Of the last chunk: those that primary and secondary know and that
// the chunk holds up to the next one's offset; its final entry may still be cut off within.
// Thread-safe. Errors: kCorrupt naming the file's extension and the offset in it; kTooLarge.
// Cost: one pass over both indexes.
Result<std::vector<ChunkEntry>> parse_chunk_index(ByteView primary, ByteView secondary,
                                                  std::uint64_t chunk_size,
                                                  ChunkState state = ChunkState::kFinished);

}  // namespace coffer::feed
