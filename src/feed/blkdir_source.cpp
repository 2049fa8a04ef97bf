#include "feed/blkdir_source.h"

#include <sys/stat.h>

#include <coffer/base/log.h>
#include <coffer/chain/decode.h>
#include "base/file.h"
#include "base/limits.h"
#include "base/result.h"
#include "feed/block_file.h"

namespace coffer::feed {
namespace {

constexpr std::uint64_t kLeastBlockBytes = kHeaderBytes + 1;
constexpr std::uint64_t kSearchBytes = 1u << 20;
constexpr std::int64_t kSettleNs = 2'000'000'000;  // coarser than any file system's timestamps

bool is_block_file_name(const std::string& name) {
  return name.size() >= 12 && name.starts_with("blk") && name.ends_with(".dat") &&
         std::all_of(name.begin() + 3, name.end() - 4, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

BlkDirSource::BlkDirSource(std::filesystem::path directory, const chain::Network& network,
                           const Clock& clock, BlkDirOptions options)
    : directory_(std::move(directory)),
      network_(network),
      clock_(clock),
      options_(options),
      files_(network),
      index_(network) {}

std::string BlkDirSource::describe() const {
  return "blocks directory " + directory_.string();
}

Result<> BlkDirSource::read_key() {
  if (key_known_) return {};
  auto key = read_file(directory_ / "xor.dat", 64);
  if (!key && key.error().code != Code::kNotFound) return fail(std::move(key).error());
  if (key && key->size() != 8)
    return fail(Code::kInvalidInput, "{} has {} bytes where a key has 8",
                (directory_ / "xor.dat").string(), key->size());
  if (key) files_.set_key(std::move(*key));
  key_known_ = true;
  return {};
}

Result<> BlkDirSource::find_files() {
  std::error_code error;
  std::filesystem::directory_iterator it(directory_, error), end;
  for (; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (is_block_file_name(name) && !progress_.contains(name))
      progress_[name].file = files_.add(it->path());
  }
  if (error == std::errc::not_a_directory)
    return fail(Code::kInvalidInput,
                "{} is not a directory; give the directory 'blocks' of Bitcoin Core",
                directory_.string());
  if (error)
    return fail(Code::kUnavailable, "cannot list {}: {}", directory_.string(), error.message());
  if (progress_.empty())
    return fail(Code::kInvalidInput,
                "no blk00000.dat or later in {}; give the directory 'blocks' of Bitcoin Core",
                directory_.string());
  return {};
}

// The next magic in the file from the offset on. Core leaves rubbish where it was cut off.
Result<std::uint64_t> BlkDirSource::find_magic(std::uint32_t file, std::uint64_t offset) {
  const ByteView magic(network_.bitcoin.magic);
  for (;;) {
    const Bytes part = TRY(files_.read(file, offset, kSearchBytes));
    auto found = std::search(part.begin(), part.end(), magic.begin(), magic.end());
    if (found != part.end()) return offset + static_cast<std::uint64_t>(found - part.begin());
    if (part.size() < kSearchBytes) return kNowhere;
    offset += part.size() - 3;
  }
}

Result<std::uint64_t> BlkDirSource::whole_block_at(Progress& progress) {
  const ByteView magic(network_.bitcoin.magic);
  for (std::uint64_t at = progress.offset;;) {
    // Preallocated room is zeros on disk, key or not.
    const Bytes stored = TRY(files_.read(progress.file, at, kFrameBytes, true));
    if (stored.size() < kFrameBytes || load_le<std::uint64_t>(stored.data()) == 0) return 0;
    const Bytes frame = TRY(files_.read(progress.file, at, kFrameBytes));
    const std::uint64_t size = load_le<std::uint32_t>(frame.data() + 4);
    if (equal(ByteView(frame).first(4), magic) && size >= kLeastBlockBytes &&
        size <= limits::kMaxBlockBytes) {
      // A frame right behind it proves that Core finished this one; else its content has to.
      bool whole = !progress.rewritten &&
                   equal(TRY(files_.read(progress.file, at + kFrameBytes + size, 4)), magic);
      if (!whole) {
        const Bytes raw = TRY(files_.read(progress.file, at + kFrameBytes, size));
        chain::Block block;
        whole = raw.size() == size && chain::decode_into(block, network_, raw).has_value();
      }
      if (!whole) return 0;  // Core goes on with it, or writes over it after a crash
      if (at > progress.offset) progress.first_gap = std::min(progress.first_gap, progress.offset);
      progress.offset = at;
      return size;
    }
    if (at == 0) TRY(chain::check_magic(network_, frame, files_.path(progress.file).string()));
    if (progress.warned_to <= at)
      log::warn("not a block; looking further", {{"at", files_.where(progress.file, at)}});
    progress.warned_to = std::max(progress.warned_to, at + 1);
    at = TRY(find_magic(progress.file, at + 1));
    if (at == kNowhere) return 0;
  }
}

Result<> BlkDirSource::read_new_blocks(Progress& progress) {
  while (!interrupted_) {
    const std::uint64_t size = TRY(whole_block_at(progress));
    if (size == 0) return {};
    const std::uint64_t body = progress.offset + kFrameBytes;
    const Bytes header = TRY(files_.read(progress.file, body, kHeaderBytes));
    IndexedBlock block = TRY_IN(files_.where(progress.file, body), read_header(network_, header));
    block.place = {progress.file, static_cast<std::uint32_t>(size), body};
    progress.last = block.place;
    progress.last_hash = block.hash;
    progress.offset = body + size;
    if (const auto known = index_.find(block.hash))
      note_copy(*known, block.place);
    else
      TRY(index_.add(block));
  }
  return cancelled();
}

Result<> BlkDirSource::read_changed(Progress& progress) {
  const std::uint64_t read_to = progress.offset;
  const bool has_gap = progress.first_gap != kNowhere;
  if (progress.last.size > 0 && !TRY(holds(progress.last, progress.last_hash)))
    TRY(forget_overwritten(progress));
  if (has_gap) progress.offset = std::min(progress.offset, progress.first_gap);
  progress.first_gap = kNowhere;
  TRY(read_new_blocks(progress));
  if (progress.offset > read_to && !has_gap) return {};
  // Something was written, and not where the next block is expected: then further in front.
  TRY(forget_overwritten(progress));
  return read_new_blocks(progress);
}

Result<> BlkDirSource::poll() {
  TRY(find_files());
  TRY(read_key());
  for (auto& [name, progress] : progress_) {
    struct stat status;
    // A file that a pruning node removed has nothing new.
    if (::stat(files_.path(progress.file).c_str(), &status) != 0) continue;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    const std::int64_t mtime_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
    if (progress.settled && size == progress.seen_size && mtime_ns == progress.seen_mtime_ns)
      continue;
    if (progress.inode != status.st_ino) files_.reopen(progress.file);
    progress.inode = status.st_ino;
    TRY(read_changed(progress));
    progress.seen_size = size;
    progress.seen_mtime_ns = mtime_ns;
    // A time ahead of ours is of a clock that was wrong; what is written from now on has another.
    progress.settled = std::abs(clock_.unix_ms() * 1'000'000 - mtime_ns) > kSettleNs;
  }
  if (!index_.best().empty()) {
    set_tip(index_[index_.best().back()].number);
  }
  next_poll_steady_ms_ = clock_.steady_ms() + options_.poll_ms;
  return {};
}

Result<chain::Point> BlkDirSource::intersect(std::span<const chain::Point> points) {
  TRY(poll());
  served_ = BlockIndex::kNoBlock;
  for (const chain::Point& point : points)
    if (index_.anchor(point)) break;
  if (!index_.best().empty()) {
    set_tip(index_[index_.best().back()].number);
  }
  for (const chain::Point& point : points) {
    const auto fork = index_.find_fork(point.hash);
    if (!fork) continue;
    served_ = *fork;
    return index_[served_].hash == point.hash ? point : index_.point(served_);
  }
  const auto waiting = index_.first_waiting();
  const bool starts_late =
      index_.best().empty() ? waiting.has_value() : index_[index_.best().front()].place.size == 0;
  if (!starts_late) return chain::Point::origin();
  const IndexedBlock& block =
      waiting ? index_[*waiting]
              : index_[index_.best()[std::min<std::size_t>(1, index_.best().size() - 1)]];
  return fail(Code::kInvalidInput,
              "block {} is missing: block {} at {} follows it; is the node pruned, or of another "
              "network?",
              chain::display(network_.family, block.prev),
              chain::display(network_.family, block.hash),
              files_.where(block.place.file, block.place.offset));
}

// Where the reader has to go back to, if what it has is not on the best chain.
std::optional<SourceEvent> BlkDirSource::step_back() {
  if (served_ != BlockIndex::kNoBlock) served_ = index_.current(served_);
  if (served_ == BlockIndex::kNoBlock || index_.on_best(served_)) return std::nullopt;
  while (served_ != BlockIndex::kNoBlock && !index_.on_best(served_)) {
    const BlockIndex::Id parent = index_[served_].parent;
    served_ = parent == BlockIndex::kNoBlock ? parent : index_.current(parent);
  }
  const bool shared = served_ != BlockIndex::kNoBlock;
  return SourceEvent(RolledBack{shared ? index_.point(served_) : chain::Point::origin()});
}

Result<std::optional<SourceEvent>> BlkDirSource::ready_event() {
  for (;;) {
    if (index_.best().empty()) return std::nullopt;
    if (auto back = step_back()) return back;
    const std::size_t at = served_ == BlockIndex::kNoBlock ? 0 : index_[served_].position + 1;
    if (at == index_.best().size()) return std::nullopt;
    const BlockIndex::Id id = index_.best()[at];
    Result<Bytes> raw = files_.read_block(index_[id]);
    if (raw) {
      served_ = id;
      return SourceEvent(NextBlock{std::move(*raw)});
    }
    // It was overwritten since it was read; what stands there now may be another block.
    if (raw.error().code != Code::kCorrupt) return fail(std::move(raw).error());
    const BlockPlace place = index_[id].place;
    for (auto& [name, progress] : progress_) {
      if (progress.file != place.file) continue;
      TRY(forget_overwritten(progress));
      TRY(read_new_blocks(progress));
    }
    if (index_.on_best(id) && index_[id].place == place) return fail(std::move(raw).error());
  }
}

Result<SourceEvent> BlkDirSource::next(int timeout_ms) {
  if (interrupted_) return cancelled();
  // Also in the middle of catching up: a branch may have changed by then.
  if (clock_.steady_ms() >= next_poll_steady_ms_) TRY(poll());
  if (auto step = TRY(ready_event())) return std::move(*step);
  if (!options_.follow) return SourceEvent(End{});
  wait(std::min<std::int64_t>(timeout_ms, next_poll_steady_ms_ - clock_.steady_ms()));
  if (interrupted_) return cancelled();
  if (clock_.steady_ms() >= next_poll_steady_ms_) TRY(poll());
  if (auto step = TRY(ready_event())) return std::move(*step);
  return SourceEvent(Idle{});
}

}  // namespace coffer::feed
