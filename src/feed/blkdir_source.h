// Bitcoin Core's blocks directory as a source, also while Core writes into it: blkNNNNN.dat files
// with blocks out of order, stale branches, an XOR key, preallocated zeros, an unfinished last
// block. Invariant: a block is served only once it is whole; only headers are in memory.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>

#include "base/clock.h"
#include "feed/file_source_reader.h"
#include "feed/source.h"

namespace coffer::feed {

struct BlkDirOptions {
  int poll_ms = 500;   // between looks for what Core wrote
  bool follow = true;  // false: End at the tip instead of Idle
};

class BlkDirSource final : public Source {
 public:
  // Looks at nothing yet: the first intersect() or next() reads all headers.
  BlkDirSource(std::filesystem::path directory, const chain::Network& network, const Clock& clock,
               BlkDirOptions options = {});

  std::string describe() const override;
  // The directory of a pruned node is taken if it goes on after one of the points.
  // Errors: kInvalidInput (no block files, or none of this network), kNotFound, kUnavailable.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  // A branch that got heavier comes as Backward to the fork, then its blocks.
  Result<Step> next(int timeout_ms) override;
  std::optional<std::uint64_t> tip_number() const override;
  void interrupt() override;

 private:
  struct Progress {
    std::uint32_t file = 0;       // in files_
    std::uint64_t offset = 0;     // of what is not read yet
    std::uint64_t seen_size = 0;  // of the file when it was last read to its end…
    std::int64_t seen_mtime_ns = -1;
    bool settled = false;  // …and nothing can have been written since without a new mtime
    std::uint64_t warned_at = ~0ull;
  };
  Result<> read_key();
  Result<> find_files();
  Result<> poll();
  Result<> read_new_blocks(Progress& progress);
  // The size of the block at the offset if it is whole; 0 if it is not there yet.
  Result<std::uint64_t> whole_block_at(Progress& progress);
  Result<std::uint64_t> find_magic(std::uint32_t file, std::uint64_t offset);
  Result<std::optional<Step>> ready_step();

  const std::filesystem::path directory_;
  const chain::Network network_;
  const Clock& clock_;
  const BlkDirOptions options_;
  BlockFiles files_;
  BlockIndex index_;
  std::map<std::string, Progress> progress_;  // by file name: Core numbers them in order
  bool key_known_ = false;
  BlockIndex::Id served_ = BlockIndex::kNoBlock;  // what the reader has
  std::int64_t next_poll_steady_ms_ = 0;
  std::atomic<std::uint64_t> tip_{0};
  std::atomic<bool> tip_known_{false};
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace coffer::feed
