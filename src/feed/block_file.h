// Files of blocks: blk-style (magic, size, block), hex (a block a line), or raw (one Bitcoin block,
// or Cardano blocks one after the other). Which one it is shows in the first bytes.
#pragma once

#include <coffer/chain/network.h>

namespace coffer::feed {

// What a blk file puts before a block, magic and size, and a Bitcoin block's header.
inline constexpr std::uint64_t kFrameBytes = 8, kHeaderBytes = 80;

enum class BlockFileFormat : std::uint8_t { kBlk, kHex, kRaw };

// The blocks of a file's bytes, in file order, not decoded. Trailing zeros of a blk file that is
// still being written are its end. Errors: kInvalidInput with the offset.
Result<std::vector<Bytes>> split_blocks(const chain::Network& network, ByteView data);

// Appends a block in a format.
void append_block(Bytes& out, const chain::Network& network, BlockFileFormat format,
                  ByteView block);

}  // namespace coffer::feed
