#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/file.h"
#include "base/file_lock.h"
#include "base/result.h"
#include "sql/connection.h"
#include "sql/location.h"
#include "sql/rename_new.h"
#include "sql/restore.h"

namespace coffer::sql {
namespace {

namespace fs = std::filesystem;

// Every connection to a database in WAL mode has a shared lock in here as long as it is open. (The
// bytes from PENDING_BYTE on in SQLite's file format; they hold no data.)
constexpr LockRange kSqliteLocks = {.start = 0x40000000, .length = 512};
constexpr std::string_view kMagic = "SQLite format 3";
constexpr std::size_t kRestoreChunkBytes = 1u << 20;
constexpr int kMostLinks = 40;
constexpr int kMostKept = 1'000;  // replaced databases beside each other

fs::path with_suffix(const fs::path& path, std::string_view suffix) {
  return path.string() + std::string(suffix);
}

// Committed changes that are not in the file itself yet: its log, or what undoes a half-done
// change.
Result<bool> has_unfinished_changes(const fs::path& path, std::string_view suffix) {
  struct stat found{};
  if (::stat(with_suffix(path, suffix).c_str(), &found) == 0) return found.st_size > 0;
  if (errno == ENOENT) return false;
  return fail(errno_error(errno, "cannot look at " + with_suffix(path, suffix).string()));
}

void remove_quietly(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

// The copy while it is being made: one process at a time, and gone unless it was given its name.
class Copy {
 public:
  static Result<std::unique_ptr<Copy>> begin(const fs::path& path) {
    // A killed run may have left one, with a log that must not be taken for ours.
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0) return fail(errno_error(errno, "cannot create " + path.string()));
    std::unique_ptr<Copy> copy(new Copy(path, file));
    struct stat mine{}, named{};
    const bool ours = ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &mine) == 0 &&
                      ::stat(path.c_str(), &named) == 0 && mine.st_ino == named.st_ino;
    if (!ours)
      return fail(Code::kUnavailable, "another restore is writing {}; wait for it", path.string());
    copy->ours_ = true;
    for (const char* suffix : {"-wal", "-shm", "-journal"})
      remove_quietly(with_suffix(path, suffix));
    if (::ftruncate(file, 0) != 0) return fail(errno_error(errno, "cannot write " + path.string()));
    return copy;
  }
  ~Copy() {
    if (ours_)
      for (const char* suffix : {"", "-wal", "-shm", "-journal"})
        remove_quietly(with_suffix(path_, suffix));
    ::close(file_);
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;

  const fs::path& path() const { return path_; }
  Result<> write(ByteView data) {
    while (!data.empty()) {
      const ssize_t wrote = ::write(file_, data.data(), data.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return fail(errno_error(errno, "cannot write " + path_.string()));
      data = data.subspan(static_cast<std::size_t>(wrote));
    }
    return {};
  }
  Result<> give_name(const fs::path& name) {
    if (::rename(path_.c_str(), name.c_str()) != 0)
      return fail(errno_error(errno, "cannot rename to " + name.string()));
    ours_ = false;
    return {};
  }

 private:
  Copy(fs::path path, int file) : path_(std::move(path)), file_(file) {}
  const fs::path path_;
  const int file_;
  bool ours_ = false;
};

// An empty file that holds the place of the database, locked before it gets there, so that whoever
// opens it waits, and then finds that it has moved.
class Placeholder {
 public:
  static Result<std::unique_ptr<Placeholder>> begin(const fs::path& target) {
    const fs::path path = with_suffix(target, ".restoring-place");
    const Descriptor file{::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600)};
    struct stat found{};
    if (file.number < 0 || ::fstat(file.number, &found) != 0)
      return fail(errno_error(errno, "cannot create " + path.string()));
    if (found.st_size != 0)  // not ours, which is empty also after a kill
      return fail(Code::kConflict, "{} is in the way; move it away", path.string());
    return std::unique_ptr<Placeholder>(
        new Placeholder(path, target, TRY(FileLock::take(path, kSqliteLocks))));
  }
  ~Placeholder() {
    if (at_ != At::kGone) remove_quietly(at_ == At::kBeside ? path_ : target_);
  }
  Placeholder(const Placeholder&) = delete;
  Placeholder& operator=(const Placeholder&) = delete;

  // Where there is none: one that was made meanwhile is not overwritten.
  Result<> take_free_place() {
    TRY(rename_to_new(path_, target_));
    at_ = At::kTarget;
    return {};
  }
  Result<> take_place_of_database() {
    if (::rename(path_.c_str(), target_.c_str()) != 0)
      return fail(errno_error(errno, "cannot rename to " + target_.string()));
    at_ = At::kTarget;
    return {};
  }
  // The copy has the place.
  void yield_place() {
    if (at_ == At::kTarget) at_ = At::kGone;
  }

 private:
  enum class At : std::uint8_t { kBeside, kTarget, kGone };
  Placeholder(fs::path path, fs::path target, FileLock lock)
      : path_(std::move(path)), target_(std::move(target)), lock_(std::move(lock)) {}
  const fs::path path_, target_;
  const FileLock lock_;
  At at_ = At::kBeside;
};

// A file at rest, as a backup is.
Result<> check_source(const fs::path& from, const fs::path& target) {
  if (!TRY(file_exists(from))) return fail(Code::kNotFound, "there is no {}", from.string());
  std::error_code error;
  for (const char* name : {"", ".restoring"})
    for (const char* suffix : {"", "-wal", "-shm", "-journal"})
      if (const fs::path ours = with_suffix(target, std::string(name) + suffix);
          fs::equivalent(from, ours, error))
        return fail(Code::kUsage, "{} is {}; name a backup, or give it another name", from.string(),
                    ours == target ? "the database itself" : "a file that a restore overwrites");
  for (const char* suffix : {"-wal", "-journal"})
    if (TRY(has_unfinished_changes(from, suffix)))
      return fail(Code::kConflict,
                  "{0} is in use or was not closed ({0}{1} is beside it); restore a file that "
                  "'coffer db backup' made",
                  from.string(), suffix);
  return {};
}

Result<std::int64_t> copy_bytes(const fs::path& from, Copy& to,
                                const std::function<void(const RestoreProgress&)>& progress) {
  const Descriptor source{::open(from.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat found{};
  if (source.number < 0 || ::fstat(source.number, &found) != 0)
    return fail(errno_error(errno, "cannot open " + from.string()));
  RestoreProgress so_far{0, found.st_size};
  Bytes buffer(kRestoreChunkBytes);
  for (;;) {
    const ssize_t got = ::read(source.number, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno_error(errno, "cannot read " + from.string()));
    const ByteView part(buffer.data(), static_cast<std::size_t>(got));
    if (so_far.done_bytes == 0 && !as_text(part).starts_with(kMagic))
      return fail(Code::kInvalidInput, "{} is no SQLite database", from.string());
    if (got == 0) return so_far.done_bytes;
    TRY(to.write(part));
    so_far.done_bytes += got;
    if (progress) progress(so_far);
  }
}

// Whole, of Coffer, of this network, not newer than this program, and of these modules.
Result<MigrationStatus> check_copy(const fs::path& path, const MigrateOptions& expected) {
  DatabaseOptions options;
  options.location = "sqlite:" + path.string();
  options.create_if_missing = false;
  options.statement_timeout_ms = 0;
  const auto database = TRY(Database::open(options));
  {
    Connection connection = TRY(database->acquire());
    const auto answer = TRY(connection.value<std::string>("PRAGMA quick_check(1)"));
    if (answer != "ok") return fail(Code::kCorrupt, "it is damaged; restore another backup");
  }
  MigrationStatus status = TRY(migration_status(*database, expected));
  // Without an identity is what belongs to no network, such as a token ledger.
  if (status.applied.empty() || (expected.identity && !status.identity))
    return fail(Code::kInvalidInput, "it is no database of Coffer");
  for (const Migration& known : expected.known)
    if (std::ranges::find(status.applied, known.module, &Applied::module) == status.applied.end())
      return fail(Code::kInvalidInput, "it has no tables of {}: it is a backup of something else",
                  known.module);
  return status;
}

Result<> remove_if_there(const fs::path& path) {
  std::error_code error;
  fs::remove(path, error);
  if (error) return fail(errno_error(error.value(), "cannot remove " + path.string()));
  return {};
}

// A second name for the file, and for what belongs to it.
Result<fs::path> link_aside(const fs::path& path) {
  for (int number = 1; number <= kMostKept; ++number) {
    fs::path kept = with_suffix(path, fmt::format(".replaced-{}", number));
    // A log that was left there must not meet another file either.
    if (TRY(file_exists(with_suffix(kept, "-wal"))) ||
        TRY(file_exists(with_suffix(kept, "-journal"))))
      continue;
    if (::link(path.c_str(), kept.c_str()) == 0) {
      for (const char* suffix : {"-wal", "-journal"}) {
        const fs::path name = with_suffix(path, suffix), other = with_suffix(kept, suffix);
        if (::link(name.c_str(), other.c_str()) != 0 && errno != ENOENT)
          return fail(errno_error(errno, "cannot create " + other.string()));
      }
      return kept;
    }
    if (errno != EEXIST) return fail(errno_error(errno, "cannot create " + kept.string()));
  }
  return fail(Code::kConflict, "{}.replaced-1 to -{} are all there; move some away", path.string(),
              kMostKept);
}

Result<> sync_parent(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return sync_to_disk(parent.empty() ? "." : parent);
}

Result<bool> is_in_the_way(const fs::path& target, bool replace) {
  const bool there = TRY(file_exists(target));
  if (there && !replace)
    return fail(Code::kConflict, "{} is there already; --replace puts it aside", target.string());
  return there;
}

// The old database out of the way and the copy into its place. Throughout, what is at `target` is
// locked: so no process has it open, or begins to.
Result<fs::path> put_in_place(Copy& copy, const fs::path& target, bool replace) {
  TRY(sync_to_disk(copy.path()));
  const auto placeholder = TRY(Placeholder::begin(target));
  fs::path kept;
  std::optional<FileLock> lock;
  if (TRY(is_in_the_way(target, replace))) {
    lock = TRY(FileLock::take(target, kSqliteLocks));
    kept = TRY(link_aside(target));
    TRY(sync_parent(target));
    // After an orderly end there is no log, and the one takes the place of the other at once. A
    // file and a log that do not belong together are damage: so with a log, the file goes first,
    // and what a crash leaves here is an empty one, and a whole one under its other name.
    if (TRY(has_unfinished_changes(target, "-wal")) ||
        TRY(has_unfinished_changes(target, "-journal")))
      TRY(placeholder->take_place_of_database());
  } else {
    TRY(placeholder->take_free_place());
  }
  const auto finish = [&]() -> Result<> {
    for (const char* suffix : {"-wal", "-shm", "-journal"})
      TRY(remove_if_there(with_suffix(target, suffix)));
    TRY(sync_parent(target));
    TRY(copy.give_name(target));
    placeholder->yield_place();
    return sync_parent(target);
  };
  auto done = finish();
  if (!done && !kept.empty()) done.error().message += "; the database is also " + kept.string();
  if (!done) return fail(std::move(done).error());
  return kept;
}

}  // namespace

Result<Restored> restore(std::string_view location, const fs::path& from,
                         const RestoreOptions& options,
                         const std::function<void(const RestoreProgress&)>& progress) {
  const LocationInfo where = TRY(describe_location(location));
  if (where.dialect != Dialect::kSqlite)
    return fail(Code::kUsage, "PostgreSQL is restored with its own tools: pg_restore {}",
                where.tool_flags);
  std::error_code error;
  fs::path target = where.path;
  for (int links = 0; links < kMostLinks && fs::is_symlink(target, error); ++links)
    target = target.parent_path() / fs::read_symlink(target, error);
  TRY(check_source(from, target));
  // Before the long part.
  if (TRY(is_in_the_way(target, options.replace))) (void)TRY(FileLock::take(target, kSqliteLocks));
  const auto copy = TRY(Copy::begin(with_suffix(target, ".restoring")));
  Restored restored;
  restored.size_bytes = TRY(copy_bytes(from, *copy, progress));
  restored.status = TRY_IN(from.string(), check_copy(copy->path(), options.expected));
  restored.kept = TRY(put_in_place(*copy, target, options.replace));
  return restored;
}

}  // namespace coffer::sql
