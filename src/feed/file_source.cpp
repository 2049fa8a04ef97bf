#include "feed/file_source.h"

#include "base/result.h"
#include "feed/devnet_flavour.h"
#include "feed/file_source_scan.h"

namespace coffer::feed {
namespace {

constexpr std::uint32_t kBuiltIn = ~0u;  // the file of a block that is in no file

Result<std::vector<std::filesystem::path>> files_at(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::vector{path};
  std::vector<std::filesystem::path> found;
  std::filesystem::directory_iterator it(path, error), end;
  for (; !error && it != end; it.increment(error)) {
    const bool hidden = it->path().filename().string().starts_with('.');
    std::error_code ignored;
    if (!hidden && it->is_regular_file(ignored)) found.push_back(it->path());
  }
  if (error) return fail(Code::kUnavailable, "cannot list {}: {}", path.string(), error.message());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

FileSource::FileSource(std::filesystem::path path, const chain::Network& network)
    : path_(std::move(path)), network_(network), files_(network), index_(network) {}

std::string FileSource::describe() const {
  return "file " + path_.string();
}

Result<> FileSource::scan() {
  if (scanned_) return {};
  for (auto& path : TRY(files_at(path_))) {
    const std::uint32_t file = files_.add(std::move(path));
    TRY(scan_block_file(network_, files_, file, index_, interrupted_));
  }
  if (index_.size() == 0) return fail(Code::kInvalidInput, "no block in {}", path_.string());
  // Nodes have the first block built in, so what people export often starts after it.
  if (network_.family == chain::Family::kBitcoin && index_.awaits(network_.genesis)) {
    auto genesis = make_bitcoin_flavour()->genesis_block();
    if (genesis && genesis->hash == network_.genesis) {
      IndexedBlock block = TRY(read_header(network_, genesis->raw));
      block.place.file = kBuiltIn;
      genesis_ = std::move(genesis->raw);
      TRY(index_.add(block));
    }
  }
  scanned_ = true;
  return {};
}

Result<> FileSource::check_complete() const {
  const auto waiting = index_.first_waiting();
  if (!waiting) return {};
  const IndexedBlock& block = index_[*waiting];
  for (const Hash256& hash : {block.hash, block.prev})
    if (const std::string whose = chain::network_of_first_block(network_.family, hash);
        !whose.empty() && hash != network_.genesis)
      return fail(Code::kConflict, "{} holds blocks of {}, not of {}", path_.string(), whose,
                  network_.name);
  return fail(Code::kInvalidInput, "block {} is missing: block {} at {} follows it",
              chain::display(network_.family, block.prev),
              chain::display(network_.family, block.hash),
              files_.where(block.place.file, block.place.offset));
}

Result<chain::Point> FileSource::intersect(std::span<const chain::Point> points) {
  TRY(scan());
  for (const chain::Point& point : points)
    if (index_.anchor(point)) break;
  for (const chain::Point& point : points) {
    // The points are only some of the reader's blocks; it has what comes before them too.
    const auto fork = index_.find_fork(point.hash);
    if (!fork) continue;
    TRY(check_complete());
    const bool same = index_[*fork].hash == point.hash;
    return start_at(index_[*fork].position + 1, same ? point : index_.point(*fork));
  }
  TRY(check_complete());
  const IndexedBlock& first = index_[index_.best().front()];
  if (first.place.size == 0 && first.place.file != kBuiltIn)
    return fail(Code::kInvalidInput, "{} starts after block {}, which the reader no longer has",
                describe(), chain::display(network_.family, first.hash));
  return start_at(0, chain::Point::origin());
}

chain::Point FileSource::start_at(std::size_t position, const chain::Point& met) {
  at_ = position;
  set_tip(index_[index_.best().back()].number);
  return met;
}

Result<SourceEvent> FileSource::next(int) {
  if (interrupted_) return cancelled();
  if (!tip_number()) TRY(intersect({}));
  if (at_ == index_.best().size()) return SourceEvent(End{});
  const IndexedBlock& block = index_[index_.best()[at_]];
  Bytes raw = block.place.file == kBuiltIn ? genesis_ : TRY(files_.read_block(block));
  ++at_;
  return SourceEvent(NextBlock{std::move(raw)});
}

}  // namespace coffer::feed
