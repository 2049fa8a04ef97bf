// Block files as a source: one file or a directory of them, blocks in any order and any format,
// served in chain order. Invariant: only headers are in memory; bodies are read when served.
#pragma once

#include <filesystem>

#include "feed/file_source_reader.h"
#include "feed/source_base.h"

namespace coffer::feed {

class FileSource final : public SourceBase {
 public:
  // Looks at nothing yet: the first intersect() or next() reads all headers.
  FileSource(std::filesystem::path path, const chain::Network& network);

  std::string describe() const override;
  // A set that lacks the chain's first blocks is taken if it goes on after one of the points, or
  // holds one. Where its best chain left the reader's, the answer is the last block they share.
  // Errors: kInvalidInput naming file and offset, or the block that is missing; kNotFound.
  Result<chain::Point> intersect(std::span<const chain::Point> points) override;
  // NextBlock, then End. Never waits.
  Result<SourceEvent> next(int timeout_ms) override;
  bool is_static() const override { return true; }

 private:
  Result<> scan();
  Result<> check_complete() const;
  chain::Point start_at(std::size_t position, const chain::Point& met);

  const std::filesystem::path path_;
  const chain::Network network_;
  BlockFiles files_;
  BlockIndex index_;
  bool scanned_ = false;
  std::size_t at_ = 0;  // the next block to serve, on the best chain
  Bytes genesis_;       // served when the files start after it and we know it by heart
};

}  // namespace coffer::feed
