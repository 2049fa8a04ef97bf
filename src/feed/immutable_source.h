// A Cardano node's immutable database as a source: NNNNN.chunk, .primary and .secondary in a
// directory, one set for each run of slots, numbers without gaps.
// Invariants: a block is given only when index, CRC-32, header hash and slot agree with it; one
// chunk's index and one block are in memory at a time. A last chunk that is cut off, or is being
// written, is the tip; any other disagreement is kCorrupt and names the chunk and the offset.
#pragma once

#include <filesystem>

#include <coffer/chain/decode.h>
#include "feed/chunk_index.h"
#include "feed/source_base.h"

namespace coffer::feed {

struct ImmutableSourceOptions {
  std::filesystem::path directory;
  chain::Network network;
  bool follow = false;        // wait for the node to write more, instead of End
  int look_every_ms = 1'000;  // how often to look for more
};

class ImmutableSource final : public SourceBase {
 public:
  // Touches nothing yet.
  explicit ImmutableSource(ImmutableSourceOptions options);
  ~ImmutableSource() override;

  std::string describe() const override;
  // Errors: kNotFound or kUnavailable (no such directory, or no chunks in it), kCorrupt, kTooLarge.
  // Cost: for each point, the indexes of O(log chunks) chunks.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  // Errors: as intersect; kCancelled. Cost: reading and decoding one block.
  Result<SourceEvent> next(int timeout_ms) override;
  bool is_static() const override { return !options_.follow; }

 private:
  struct Chunk {
    Chunk() = default;
    ~Chunk();
    Chunk(Chunk&& other) noexcept;
    Chunk& operator=(Chunk&& other) noexcept;
    std::uint32_t number = 0;
    bool last = false;  // when it was loaded
    int fd = -1;        // of the .chunk file
    std::vector<ChunkEntry> entries;
  };

  std::filesystem::path file(std::uint32_t number, const char* extension) const;
  // Finds the first and last chunk's number. Errors also when one between them is missing.
  Result<> look();
  Result<Chunk> load(std::uint32_t number) const;
  // The block's bytes, checked; nothing where the last chunk is cut off.
  Result<std::optional<Bytes>> read_block(const Chunk& chunk, std::size_t index);
  Result<> check_block(const ChunkEntry& entry, ByteView raw);
  // The last chunk whose first block's slot is not after this one.
  Result<std::optional<Chunk>> find_chunk(Slot slot) const;
  Result<> find_tip();
  // Loads the chunk that holds the next block. False: there is none now.
  Result<bool> advance();

  const ImmutableSourceOptions options_;
  std::uint32_t first_number_ = 0, last_number_ = 0;
  Chunk chunk_;
  std::size_t next_entry_ = 0;  // of chunk_
  chain::Block scratch_;        // its tables are used again
};

}  // namespace coffer::feed
