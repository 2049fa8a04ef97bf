// Reads parts of block files: plain, hex, or XORed with a key as Bitcoin Core does.
// Invariant: at most kOpenFiles descriptors are open, and no more of a file is in memory than what
// was asked for.
#pragma once

#include <filesystem>

#include "feed/block_file.h"
#include "feed/block_index.h"

namespace coffer::feed {

// Not thread-safe.
class BlockFiles {
 public:
  static constexpr std::size_t kOpenFiles = 4;

  explicit BlockFiles(const chain::Network& network) : network_(network) {}
  ~BlockFiles();
  BlockFiles(const BlockFiles&) = delete;
  BlockFiles& operator=(const BlockFiles&) = delete;

  // The key repeats over each file from its start; empty for none.
  void set_key(Bytes key) { key_ = std::move(key); }
  std::uint32_t add(std::filesystem::path path, BlockFileFormat format = BlockFileFormat::kBlk);
  void set_format(std::uint32_t file, BlockFileFormat format) { files_[file].format = format; }
  std::size_t size() const { return files_.size(); }
  const std::filesystem::path& path(std::uint32_t file) const { return files_[file].path; }

  // The file at that path is another one by now.
  void reopen(std::uint32_t file);
  // Up to `size` bytes from `offset` on, fewer at the end of the file; the key is taken off unless
  // `as_stored`. Errors: kNotFound, kUnavailable.
  Result<Bytes> read(std::uint32_t file, std::uint64_t offset, std::uint64_t size,
                     bool as_stored = false);
  // A block, whole. Errors: as read(); kCorrupt if it is no longer what the index says.
  Result<Bytes> read_block(const IndexedBlock& block);

  // "byte 17 of blk00001.dat"
  std::string where(std::uint32_t file, std::uint64_t offset) const;

 private:
  struct File {
    std::filesystem::path path;
    BlockFileFormat format = BlockFileFormat::kBlk;
  };
  struct Open {
    std::uint32_t file = 0;
    int fd = -1;
  };
  Result<int> open(std::uint32_t file);

  const chain::Network network_;
  Bytes key_;
  std::vector<File> files_;
  std::array<Open, kOpenFiles> open_{};
  std::size_t next_slot_ = 0;
};

}  // namespace coffer::feed
