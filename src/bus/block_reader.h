// Blocks of the chain once more, by height, for an engine that needs old ones beside the follower:
// to look for what was imported later, or to fill an emptied store.
#pragma once

#include <cstdint>

#include <coffer/chain/block.h>

namespace coffer::bus {

class BlockReader {
 public:
  virtual ~BlockReader() = default;
  // The block of this height on the chain that is stored, with its number, slot and place. Cheap
  // for the height after the last one; for another one the source is asked where it is. Errors:
  // kUnavailable, retryable, if the source does not have it now; kCancelled after interrupt();
  // kNotFound above the tip; those of the source and of decoding.
  virtual Result<chain::Block> read(std::uint64_t height) = 0;
  // Ends a read, now and from now on. Thread-safe.
  virtual void interrupt() = 0;
};

}  // namespace coffer::bus
