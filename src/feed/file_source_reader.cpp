#include "feed/file_source_reader.h"

#include <unistd.h>

#include "base/file.h"
#include "base/result.h"
#include "crypto/sha256.h"

namespace coffer::feed {

BlockFiles::~BlockFiles() {
  for (const Open& open : open_)
    if (open.fd >= 0) ::close(open.fd);
}

std::uint32_t BlockFiles::add(std::filesystem::path path, BlockFileFormat format) {
  files_.push_back({std::move(path), format});
  return static_cast<std::uint32_t>(files_.size() - 1);
}

std::string BlockFiles::where(std::uint32_t file, std::uint64_t offset) const {
  return fmt::format("byte {} of {}", offset, files_[file].path.string());
}

Result<int> BlockFiles::open(std::uint32_t file) {
  for (const Open& open : open_)
    if (open.fd >= 0 && open.file == file) return open.fd;
  const int fd = TRY(open_regular_file(files_[file].path));
  Open& slot = open_[next_slot_++ % kOpenFiles];
  if (slot.fd >= 0) ::close(slot.fd);
  slot = {file, fd};
  return fd;
}

void BlockFiles::reopen(std::uint32_t file) {
  for (Open& open : open_) {
    if (open.fd < 0 || open.file != file) continue;
    ::close(open.fd);
    open.fd = -1;
  }
}

Result<Bytes> BlockFiles::read(std::uint32_t file, std::uint64_t offset, std::uint64_t size,
                               bool as_stored) {
  const int fd = TRY(open(file));
  Bytes data = TRY_IN(files_[file].path.string(), read_at(fd, offset, size));
  if (!key_.empty() && !as_stored)
    for (std::size_t i = 0; i < data.size(); ++i) data[i] ^= key_[(offset + i) % key_.size()];
  return data;
}

Result<Bytes> BlockFiles::read_block(const IndexedBlock& block) {
  const BlockPlace& place = block.place;
  const bool hex = files_[place.file].format == BlockFileFormat::kHex;
  const std::uint64_t stored = place.size * (hex ? 2ull : 1ull);
  Bytes raw = TRY(read(place.file, place.offset, stored));
  if (raw.size() != stored)
    return fail(Code::kCorrupt, "the block at {} is cut off; did the file change?",
                where(place.file, place.offset));
  if (hex) raw = TRY_IN(where(place.file, place.offset), from_hex(as_text(raw)));
  if (network_.family == chain::Family::kBitcoin &&
      (raw.size() < 80 || crypto::sha256d(ByteView(raw).first(80)) != block.hash))
    return fail(Code::kCorrupt, "the block at {} is not block {}; did the file change?",
                where(place.file, place.offset), chain::display(network_.family, block.hash));
  return raw;
}

}  // namespace coffer::feed
