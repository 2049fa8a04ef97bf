// Finds the blocks of one file, whichever format it has, without holding more than one of them.
#pragma once

#include <atomic>

#include "feed/file_source_reader.h"

namespace coffer::feed {

// Adds the blocks of a file to the index and tells `files` its format. Trailing zeros of a blk file
// are its end. Cost: Bitcoin's blk files are skipped through by header, all else is read once.
// Errors: kInvalidInput with file and offset; kCancelled once `stop` is set; those of reading.
Result<> scan_block_file(const chain::Network& network, BlockFiles& files, std::uint32_t file,
                         BlockIndex& index, const std::atomic<bool>& stop);

}  // namespace coffer::feed
