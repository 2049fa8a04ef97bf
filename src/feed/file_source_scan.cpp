#include "feed/file_source_scan.h"

#include <coffer/chain/decode.h>
#include "base/limits.h"
#include "base/result.h"
#include "codec/cbor_reader.h"
#include "feed/block_file.h"

namespace coffer::feed {
namespace {

constexpr std::uint64_t kChunkBytes = 256u << 10;

bool is_blank(std::uint8_t c) {
  return c == '\n' || c == '\r' || c == ' ' || c == '\t';
}

class Scan {
 public:
  Scan(const chain::Network& network, BlockFiles& files, std::uint32_t file, BlockIndex& index,
       const std::atomic<bool>& stop)
      : network_(network), files_(files), file_(file), index_(index), stop_(stop) {}

  Result<> run() {
    const Bytes start = TRY(files_.read(file_, 0, 64));
    if (start.empty()) return {};
    const bool hex = std::all_of(start.begin(), start.end(),
                                 [](auto c) { return std::isxdigit(c) || is_blank(c); });
    const bool bitcoin = network_.family == chain::Family::kBitcoin;
    TRY(chain::check_magic(network_, start, files_.path(file_).string()));
    const bool blk =
        bitcoin && start.size() >= 4 && equal(ByteView(start).first(4), network_.bitcoin.magic);
    files_.set_format(file_, hex   ? BlockFileFormat::kHex
                             : blk ? BlockFileFormat::kBlk
                                   : BlockFileFormat::kRaw);
    if (hex) return scan_hex();
    if (blk) return scan_blk();
    return bitcoin ? scan_one() : scan_cbor();
  }

 private:
  Result<> add(ByteView raw, std::uint64_t offset, std::uint64_t size) {
    if (stop_) return fail(Code::kCancelled, "stopping");
    IndexedBlock block = TRY_IN(files_.where(file_, offset), read_header(network_, raw));
    block.place = {file_, static_cast<std::uint32_t>(size), offset};
    return index_.add(block);
  }

  Result<> scan_blk() {
    for (std::uint64_t at = 0;;) {
      const Bytes head = TRY(files_.read(file_, at, kFrameBytes + kHeaderBytes));
      const ByteView view(head);
      if (head.size() < kFrameBytes || load_le<std::uint64_t>(head.data()) == 0) return {};
      if (!equal(view.first(4), network_.bitcoin.magic))
        return fail(Code::kInvalidInput, "no {} block at {}; is it of another network?",
                    network_.name, files_.where(file_, at));
      const std::uint64_t size = load_le<std::uint32_t>(head.data() + 4);
      const std::uint64_t end = at + kFrameBytes + size;
      if (size > limits::kMaxBlockBytes || TRY(files_.read(file_, end - 1, 1)).empty())
        return fail(Code::kInvalidInput, "the block at {} has {} bytes, beyond the end of the file",
                    files_.where(file_, at), size);
      TRY(add(view.subspan(kFrameBytes, std::min(kHeaderBytes, view.size() - kFrameBytes)),
              at + kFrameBytes, size));
      at = end;
    }
  }

  // The whole file is one block, so all of it has to make sense.
  Result<> scan_one() {
    const Bytes raw = TRY(files_.read(file_, 0, limits::kMaxBlockBytes + 1));
    if (raw.size() > limits::kMaxBlockBytes)
      return fail(Code::kInvalidInput, "{} holds no {} blocks", files_.path(file_).string(),
                  network_.name);
    chain::Block block;
    TRY_IN(files_.path(file_).string(), chain::decode_into(block, network_, raw));
    return add(raw, 0, raw.size());
  }

  Result<> scan_hex() {
    std::uint64_t start = 0, want = kChunkBytes;
    for (;;) {
      const Bytes window = TRY(files_.read(file_, start, want));
      if (window.empty()) return {};
      const bool last = window.size() < want;
      auto at = window.begin();
      for (;;) {
        at = std::find_if_not(at, window.end(), is_blank);
        const auto end = std::find_if(at, window.end(), is_blank);
        if (at == window.end() || (end == window.end() && !last)) break;
        const std::uint64_t offset = start + static_cast<std::uint64_t>(at - window.begin());
        const Bytes raw = TRY_IN(files_.where(file_, offset), from_hex(as_text({at, end})));
        TRY(add(raw, offset, raw.size()));
        at = end;
      }
      // A line that fills the window needs a larger one.
      const bool moved = at != window.begin();
      if (!moved && want > 2 * limits::kMaxBlockBytes)
        return fail(Code::kInvalidInput, "the line at {} is longer than any block",
                    files_.where(file_, start));
      start += static_cast<std::uint64_t>(at - window.begin());
      want = moved ? kChunkBytes : 2 * want;
    }
  }

  Result<> scan_cbor() {
    std::uint64_t start = 0, want = kChunkBytes;
    for (;;) {
      const Bytes window = TRY(files_.read(file_, start, want));
      if (window.empty()) return {};
      ByteView rest(window);
      while (!rest.empty()) {
        codec::CborReader reader(rest);
        const ByteView block = reader.skip();
        if (!reader.ok()) break;
        TRY(add(block, start + (window.size() - rest.size()), block.size()));
        rest = rest.subspan(block.size());
      }
      if (!rest.empty() && rest.size() == window.size()) {
        // Not even one block in it: the window was too small, or what is there is no block.
        if (window.size() < want || want > limits::kMaxBlockBytes)
          return fail(Code::kInvalidInput, "no whole block at {}", files_.where(file_, start));
        want *= 2;
        continue;
      }
      start += window.size() - rest.size();
      want = kChunkBytes;
    }
  }

  const chain::Network& network_;
  BlockFiles& files_;
  const std::uint32_t file_;
  BlockIndex& index_;
  const std::atomic<bool>& stop_;
};

}  // namespace

Result<> scan_block_file(const chain::Network& network, BlockFiles& files, std::uint32_t file,
                         BlockIndex& index, const std::atomic<bool>& stop) {
  return Scan(network, files, file, index, stop).run();
}

}  // namespace coffer::feed
