// Bitcoin Core's blocks directory as a source, also while Core writes into it: blkNNNNN.dat files
// with blocks out of order, stale branches, an XOR key, preallocated zeros, an unfinished last
// block. Core that was killed writes again over blocks that were read: those that are gone are
// forgotten, and what stands there now is read. Invariant: a block is served only once it is whole;
// only headers are in memory.
#pragma once

#include <filesystem>
#include <map>

#include <coffer/base/clock.h>
#include "feed/file_source_reader.h"
#include "feed/source_base.h"

namespace coffer::feed {

struct BlkDirOptions {
  int poll_ms = 500;   // between looks for what Core wrote
  bool follow = true;  // false: End at the tip instead of Idle
};

class BlkDirSource final : public SourceBase {
 public:
  // Looks at nothing yet: the first intersect() or next() reads all headers.
  BlkDirSource(std::filesystem::path directory, const chain::Network& network, const Clock& clock,
               BlkDirOptions options = {});

  std::string describe() const override;
  // The directory of a pruned node is taken if it goes on after one of the points, or holds one.
  // Errors: kInvalidInput (no block files, or none of this network), kNotFound, kUnavailable.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  // A branch that got heavier comes as RolledBack to the fork, then its blocks.
  Result<SourceEvent> next(int timeout_ms) override;
  bool is_static() const override { return !options_.follow; }

 private:
  static constexpr std::uint64_t kNowhere = ~0ull;
  struct Progress {
    std::uint32_t file = 0;              // in files_
    std::uint64_t offset = 0;            // of what is not read yet
    std::uint64_t first_gap = kNowhere;  // rubbish that was passed over; Core may write there
    BlockPlace last = {};                // the newest block read, with size 0 if there is none
    Hash256 last_hash{};
    bool rewritten = false;  // what stands behind a block says nothing about it
    std::uint64_t inode = 0;
    std::uint64_t seen_size = 0;  // of the file when it was last read to its end…
    std::int64_t seen_mtime_ns = -1;
    bool settled = false;  // …and nothing can have been written since without a new mtime
    std::uint64_t warned_to = 0;
  };
  Result<> read_key();
  Result<> find_files();
  Result<> poll();
  Result<> read_changed(Progress& progress);
  Result<> read_new_blocks(Progress& progress);
  // Whether the block still is at that place, by its frame, its header and its last byte.
  Result<bool> holds(const BlockPlace& place, const Hash256& hash);
  // Forgets the blocks of the file that are no longer where they were read, and goes back to before
  // the first of them. Cost: a short read for each block of the file.
  Result<> forget_overwritten(Progress& progress);
  void note_copy(BlockIndex::Id id, const BlockPlace& place);
  Result<bool> find_copy(BlockIndex::Id id);
  // The size of the block at the offset if it is whole; 0 if it is not there yet.
  Result<std::uint64_t> whole_block_at(Progress& progress);
  Result<std::uint64_t> find_magic(std::uint32_t file, std::uint64_t offset);
  Result<std::optional<SourceEvent>> ready_event();
  std::optional<SourceEvent> step_back();

  const std::filesystem::path directory_;
  const chain::Network network_;
  const Clock& clock_;
  const BlkDirOptions options_;
  BlockFiles files_;
  BlockIndex index_;
  std::map<std::string, Progress> progress_;  // by file name: Core numbers them in order
  std::unordered_multimap<Hash256, BlockPlace, HashOfHash> copies_;  // of blocks read before
  bool key_known_ = false;
  BlockIndex::Id served_ = BlockIndex::kNoBlock;  // what the reader has
  std::int64_t next_poll_steady_ms_ = 0;
};

}  // namespace coffer::feed
