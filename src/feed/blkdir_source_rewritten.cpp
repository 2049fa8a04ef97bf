// The part of BlkDirSource that finds out which blocks are no longer where they were read.
#include <coffer/base/log.h>
#include "base/result.h"
#include "crypto/sha256.h"
#include "feed/blkdir_source.h"
#include "feed/block_file.h"

namespace coffer::feed {
namespace {}  // namespace

Result<bool> BlkDirSource::holds(const BlockPlace& place, const Hash256& hash) {
  const Bytes head =
      TRY(files_.read(place.file, place.offset - kFrameBytes, kFrameBytes + kHeaderBytes));
  if (head.size() < kFrameBytes + kHeaderBytes) return false;
  if (!equal(ByteView(head).first(4), network_.bitcoin.magic) ||
      load_le<std::uint32_t>(head.data() + 4) != place.size ||
      crypto::sha256d(ByteView(head).subspan(kFrameBytes)) != hash)
    return false;
  return !TRY(files_.read(place.file, place.offset + place.size - 1, 1)).empty();
}

void BlkDirSource::note_copy(BlockIndex::Id id, const BlockPlace& place) {
  if (index_[id].place == place) return;
  const auto [begin, end] = copies_.equal_range(index_[id].hash);
  if (std::none_of(begin, end, [&](const auto& entry) { return entry.second == place; }))
    copies_.emplace(index_[id].hash, place);
}

// Takes another place where the block is, if there is one.
Result<bool> BlkDirSource::find_copy(BlockIndex::Id id) {
  for (auto it = copies_.find(index_[id].hash); it != copies_.end();
       it = copies_.find(index_[id].hash)) {
    const BlockPlace place = it->second;
    copies_.erase(it);
    if (!TRY(holds(place, index_[id].hash))) continue;
    index_.move(id, place);
    return true;
  }
  return false;
}

Result<> BlkDirSource::forget_overwritten(Progress& progress) {
  std::uint64_t intact = 0;  // bytes from the start of the file
  bool broken = false;
  const bool last_is_gone =
      progress.last.size > 0 && !TRY(holds(progress.last, progress.last_hash));
  std::vector<BlockIndex::Id> gone;
  for (const BlockIndex::Id id : index_.in_file(progress.file)) {
    const BlockPlace place = index_[id].place;
    if (TRY(holds(place, index_[id].hash))) {
      if (!broken) intact = place.offset + place.size;
      continue;
    }
    broken = true;
    if (!TRY(find_copy(id))) gone.push_back(id);
  }
  if (!broken && !last_is_gone) return {};
  log::warn(
      "the node wrote over blocks that were read, as it does after it was killed; reading on "
      "from the last one that is still there",
      {{"from", files_.where(progress.file, intact)}, {"blocks gone", gone.size()}});
  index_.forget(gone);
  progress.offset = intact;
  progress.first_gap = kNowhere;
  progress.last = {};
  progress.rewritten = true;
  return {};
}

}  // namespace coffer::feed
