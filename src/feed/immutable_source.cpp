#include "feed/immutable_source.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "base/file.h"
#include "base/limits.h"
#include "base/result.h"
#include "codec/cbor_reader.h"
#include "crypto/blake2b.h"
#include "crypto/crc32.h"

namespace coffer::feed {
namespace {

namespace fs = std::filesystem;

// A chunk of mainnet has 86 kB of primary and up to 1.2 MB of secondary.
constexpr std::uint64_t kMaxIndexBytes = 16u << 20;
constexpr std::uint8_t kFirstShelleyEra = 2;

Result<std::uint64_t> size_of(int fd, const fs::path& path) {
  struct stat status;
  if (::fstat(fd, &status) != 0) return fail(errno_error(errno, "cannot read " + path.string()));
  return static_cast<std::uint64_t>(status.st_size);
}

Result<Bytes> read_index(const fs::path& path) {
  auto data = read_file(path, kMaxIndexBytes);
  if (!data && data.error().code == Code::kNotFound)
    return fail(Code::kCorrupt, "{} is missing, but its chunk is there", path.string());
  return data;
}

}  // namespace

ImmutableSource::Chunk::~Chunk() {
  if (fd >= 0) ::close(fd);
}
ImmutableSource::Chunk::Chunk(Chunk&& other) noexcept {
  *this = std::move(other);
}
ImmutableSource::Chunk& ImmutableSource::Chunk::operator=(Chunk&& other) noexcept {
  number = other.number;
  last = other.last;
  std::swap(fd, other.fd);
  entries.swap(other.entries);
  return *this;
}

ImmutableSource::ImmutableSource(ImmutableSourceOptions options) : options_(std::move(options)) {}
ImmutableSource::~ImmutableSource() = default;

std::string ImmutableSource::describe() const {
  return "immutable database " + options_.directory.string();
}

fs::path ImmutableSource::file(std::uint32_t number, const char* extension) const {
  return options_.directory / fmt::format("{:05}.{}", number, extension);
}

Result<> ImmutableSource::look() {
  std::error_code error;
  fs::directory_iterator entries(options_.directory, error);
  if (error == std::errc::not_a_directory)
    return fail(Code::kInvalidInput,
                "{} is not a directory; give the directory \"immutable\" of a node's database",
                options_.directory.string());
  if (error) return fail(errno_error(error.value(), "cannot open " + options_.directory.string()));
  std::uint64_t count = 0;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    const std::size_t digits = name.find('.');
    if (digits < 5 || digits > 9 || name.substr(digits) != ".chunk") continue;
    std::uint32_t number = 0;
    const auto parsed = std::from_chars(name.data(), name.data() + digits, number);
    if (parsed.ec != std::errc{} || parsed.ptr != name.data() + digits) continue;
    first_number_ = count == 0 ? number : std::min(first_number_, number);
    last_number_ = count == 0 ? number : std::max(last_number_, number);
    ++count;
  }
  if (error) return fail(errno_error(error.value(), "cannot read " + options_.directory.string()));
  if (count == 0)
    return fail(
        Code::kNotFound,
        "no chunk files in {}; it should be the directory \"immutable\" of a node's database",
        options_.directory.string());
  if (count != std::uint64_t{last_number_} - first_number_ + 1)
    for (std::uint32_t number = first_number_; number < last_number_; ++number)
      if (!fs::exists(file(number, "chunk"), error))
        return fail(Code::kCorrupt, "{} is missing, but later chunks are there",
                    file(number, "chunk").string());
  return {};
}

Result<ImmutableSource::Chunk> ImmutableSource::load(std::uint32_t number) const {
  const fs::path path = file(number, "chunk");
  Chunk chunk;
  chunk.number = number;
  chunk.last = number == last_number_;
  chunk.fd = TRY(open_regular_file(path));
  // A node makes all three files before it writes a block into the first.
  if (chunk.last && TRY(size_of(chunk.fd, path)) == 0) return chunk;
  // In this order, against that of the node's writing, each file covers the one read before.
  const Bytes primary = TRY(read_index(file(number, "primary")));
  const Bytes secondary = TRY(read_index(file(number, "secondary")));
  const std::uint64_t size = TRY(size_of(chunk.fd, path));
  chunk.entries = TRY_IN(path.string(),
                         parse_chunk_index(primary, secondary, size,
                                           chunk.last ? ChunkState::kLast : ChunkState::kFinished));
  return chunk;
}

Result<> ImmutableSource::check_block(const ChunkEntry& entry, ByteView raw) {
  auto decoded =
      chain::decode_into(scratch_, options_.network, raw, {.hash = false, .verify = false});
  if (!decoded) return fail(Code::kCorrupt, "{}", decoded.error().message);
  crypto::Blake2b256 hasher;
  const std::uint8_t prefix[] = {0x82, scratch_.era};  // Byron hashes [kind, header]
  if (scratch_.era < kFirstShelleyEra) hasher.update(prefix);
  const Hash256 hash = hasher.update(scratch_.header).finish();
  if (hash != entry.hash)
    return fail(Code::kCorrupt, "the header's hash is {}, the index says {}", hash.hex(),
                entry.hash.hex());
  if (scratch_.slot != entry.slot || scratch_.epoch_boundary != entry.epoch_boundary)
    return fail(Code::kCorrupt, "the header's slot is {}, the index says {}", scratch_.slot,
                entry.slot);
  const auto at = static_cast<std::size_t>(scratch_.header.data() - raw.data());
  if (scratch_.era >= kFirstShelleyEra &&
      (at != entry.header_offset || scratch_.header.size() != entry.header_size))
    return fail(Code::kCorrupt, "the header lies at {}+{}, the index says {}+{}", at,
                scratch_.header.size(), entry.header_offset, entry.header_size);
  return {};
}

Result<std::optional<Bytes>> ImmutableSource::read_block(const Chunk& chunk, std::size_t index) {
  const ChunkEntry& entry = chunk.entries[index];
  const auto context = [&] {
    return fmt::format("{} at offset {}", file(chunk.number, "chunk").string(), entry.offset);
  };
  const std::uint64_t wanted = std::min(entry.size, limits::kMaxBlockBytes);
  // Shorter if the file shrank; its checksum will not fit then.
  Bytes raw = TRY_IN(context(), read_at(chunk.fd, entry.offset, wanted));
  std::uint32_t crc = crypto::crc32(raw);
  if (crc != entry.crc && chunk.last && index + 1 == chunk.entries.size()) {
    // The end of this block is nowhere written down: the chunk may be cut off within it, or hold
    // some of a next one.
    codec::CborReader reader(raw);
    const std::size_t size = reader.skip().size();
    if (!reader.ok()) return std::nullopt;
    raw.resize(size);
    crc = crypto::crc32(raw);
  }
  if (crc != entry.crc)
    return fail(Code::kCorrupt, "{}: CRC-32 is {:08x}, the index says {:08x}", context(), crc,
                entry.crc);
  TRY_IN(context(), check_block(entry, raw));
  return raw;
}

Result<std::optional<ImmutableSource::Chunk>> ImmutableSource::find_chunk(Slot slot) const {
  std::optional<Chunk> found;
  std::uint64_t low = first_number_, high = std::uint64_t{last_number_} + 1;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    // A run of slots without a block has no place of its own: look at the chunk before it.
    std::uint64_t at = middle;
    Chunk chunk = TRY(load(static_cast<std::uint32_t>(at)));
    while (chunk.entries.empty() && at > low) chunk = TRY(load(static_cast<std::uint32_t>(--at)));
    if (!chunk.entries.empty() && chunk.entries.front().slot > slot) {
      high = at;
    } else {
      if (!chunk.entries.empty()) found = std::move(chunk);
      low = middle + 1;
    }
  }
  return found;
}

Result<> ImmutableSource::find_tip() {
  for (std::uint64_t number = std::uint64_t{last_number_} + 1; number-- > first_number_;) {
    const Chunk chunk = TRY(load(static_cast<std::uint32_t>(number)));
    for (std::size_t i = chunk.entries.size(); i-- > 0;) {
      if (!TRY(read_block(chunk, i))) continue;
      set_tip(scratch_.number.value);
      return {};
    }
  }
  return {};
}

Result<chain::Point> ImmutableSource::intersect(std::span<const chain::Point> points) {
  TRY(look());
  TRY(find_tip());
  for (const chain::Point& point : points) {
    if (interrupted_) return cancelled();
    if (point.is_origin()) break;
    std::optional<Chunk> chunk = TRY(find_chunk(point.slot));
    if (!chunk) continue;
    for (std::size_t i = 0; i < chunk->entries.size(); ++i) {
      if (chunk->entries[i].hash != point.hash) continue;
      if (!TRY(read_block(*chunk, i))) break;  // cut off: this reader saw more than is left
      chunk_ = std::move(*chunk);
      next_entry_ = i + 1;
      return point;
    }
  }
  chunk_ = TRY(load(first_number_));
  next_entry_ = 0;
  return chain::Point::origin();
}

Result<bool> ImmutableSource::advance() {
  while (next_entry_ >= chunk_.entries.size()) {
    if (!chunk_.last) {
      chunk_ = TRY(load(chunk_.number + 1));
      next_entry_ = 0;
      continue;
    }
    if (!options_.follow) return false;
    TRY(look());
    Chunk again = TRY(load(chunk_.number));
    if (again.entries.size() < chunk_.entries.size())
      return fail(Code::kUnavailable, "{} became shorter; meeting it anew",
                  file(chunk_.number, "chunk").string());
    const bool grew = again.entries.size() > chunk_.entries.size() || !again.last;
    chunk_ = std::move(again);
    if (!grew) return false;
    TRY(find_tip());
  }
  return true;
}

Result<SourceEvent> ImmutableSource::next(int timeout_ms) {
  for (int left_ms = timeout_ms;;) {
    if (interrupted_) return cancelled();
    if (TRY(advance())) {
      if (std::optional<Bytes> raw = TRY(read_block(chunk_, next_entry_))) {
        ++next_entry_;
        return SourceEvent(NextBlock{std::move(*raw)});
      }
      // Cut off: the tip, until the node writes the rest of it.
      if (options_.follow) chunk_.entries.pop_back();
    }
    if (!options_.follow) return SourceEvent(End{});
    if (left_ms <= 0) return SourceEvent(Idle{});
    const int pause_ms = std::min(left_ms, options_.look_every_ms);
    left_ms -= pause_ms;
    wait(pause_ms);
  }
}

}  // namespace coffer::feed
