#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/temp_dir.h"
#include "kv/test_support.h"

namespace {

// How much of each log was there at its last sync. Made on first use: a child of another test runs
// before what is global here is ready.
struct Synced {
  std::mutex mutex;
  std::map<std::string, std::uintmax_t> bytes;
  static Synced& get() {
    static Synced synced;
    return synced;
  }
};

void note_sync(int fd) {
  std::error_code gone;
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), gone);
  if (gone || path.extension() != ".log") return;
  Synced& synced = Synced::get();
  const std::scoped_lock lock(synced.mutex);
  synced.bytes[path] = std::filesystem::file_size(path, gone);
}

}  // namespace

// Stand before those of the C library, so that a test knows what a power loss would have left.
extern "C" int fdatasync(int fd) {
  note_sync(fd);
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}
extern "C" int fsync(int fd) {
  note_sync(fd);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

namespace coffer::kv {
namespace {

ByteView key(std::string_view text) {
  return as_bytes(text);
}

TEST(SortedFiles, IngestedWholeOverOlderCommits) {
  TempDir dir;
  {
    auto db = Database::open(options_at(dir.path())).value();
    const Column a = db->column("a").value(), b = db->column("b").value();
    Batch batch;
    batch.put(a, key("1"), key("old"));
    batch.put(a, key("2"), key("old"));
    ASSERT_TRUE(db->commit(batch));
    const Snapshot before = db->snapshot();
    std::vector<SortedFile> files;
    files.push_back(db->sorted_file(a).value());
    files.push_back(db->sorted_file(b).value());
    ASSERT_TRUE(files[0].put(key("1"), key("new")));
    ASSERT_TRUE(files[0].del(key("2")));
    ASSERT_TRUE(files[1].put(key("3"), key("three")));
    EXPECT_EQ(files[1].put(key("3"), key("again")).error().code, Code::kInvalidInput);
    EXPECT_EQ(as_text(*db->get(a, key("1")).value()), "old");
    ASSERT_TRUE(db->ingest(files));
    EXPECT_EQ(as_text(*db->get(a, key("1"), &before).value()), "old");
    EXPECT_EQ(as_text(*db->get(a, key("1")).value()), "new");
    EXPECT_FALSE(db->get(a, key("2")).value());
    // Later commits win over what was taken in.
    batch.clear();
    batch.put(b, key("3"), key("four"));
    ASSERT_TRUE(db->commit(batch));
  }
  auto db = Database::open(options_at(dir.path())).value();
  EXPECT_EQ(as_text(*db->get(db->column("a").value(), key("1")).value()), "new");
  EXPECT_EQ(as_text(*db->get(db->column("b").value(), key("3")).value()), "four");
}

TEST(SortedFiles, DiscardedFilesLeaveNothing) {
  TempDir dir;
  auto db = Database::open(options_at(dir.path())).value();
  const Column a = db->column("a").value();
  {
    SortedFile file = db->sorted_file(a).value();
    ASSERT_TRUE(file.put(key("1"), key("x")));
  }
  EXPECT_TRUE(fs::is_empty(dir.path() / "ingest"));
  std::ofstream(dir.path() / "ingest" / "7.sst") << "what a crash left";
  db.reset();
  db = Database::open(options_at(dir.path())).value();
  EXPECT_FALSE(fs::exists(dir.path() / "ingest"));
  EXPECT_FALSE(db->get(db->column("a").value(), key("1")).value());
}

TEST(SortedFiles, SnapshotsSeeAllColumnsOrNone) {
  TempDir dir;
  auto db = Database::open(options_at(dir.path())).value();
  const Column a = db->column("a").value(), b = db->column("b").value();
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> torn{0}, changed{0}, reads{0};
  std::vector<std::jthread> readers;
  readers.reserve(3);
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!stop) {
        const Snapshot snapshot = db->snapshot();
        const auto first = db->get(a, key("k"), &snapshot).value();
        const auto second = db->get(b, key("k"), &snapshot).value();
        std::this_thread::yield();
        const auto third = db->get(a, key("k"), &snapshot).value();
        if (first != second) ++torn;
        if (first != third) ++changed;
        ++reads;
      }
    });
  for (std::uint64_t i = 0; i < 40; ++i) {
    Bytes value;
    append_be64(value, i);
    std::vector<SortedFile> files;
    files.push_back(db->sorted_file(a).value());
    files.push_back(db->sorted_file(b).value());
    for (SortedFile& file : files) ASSERT_TRUE(file.put(key("k"), value));
    ASSERT_TRUE(db->ingest(files));
  }
  stop = true;
  readers.clear();
  EXPECT_EQ(torn, 0u) << "of " << reads;
  EXPECT_EQ(changed, 0u) << "of " << reads;
}

TEST(SortedFiles, NoMoreDurableThanEarlierCommits) {
  TempDir dir;
  const fs::path live = dir.path() / "live", after = dir.path() / "after";
  auto db = Database::open(options_at(live)).value();
  const Column a = db->column("a").value(), b = db->column("b").value();
  Batch batch;
  batch.put(a, key("header"), key("x"));
  ASSERT_TRUE(db->commit(batch));
  std::vector<SortedFile> files;
  files.push_back(db->sorted_file(b).value());
  ASSERT_TRUE(files[0].put(key("state"), key("x")));
  ASSERT_TRUE(db->ingest(files));
  // What a power loss may leave: of the log only what was synced.
  fs::copy(live, after, fs::copy_options::recursive);
  for (const fs::path& log : files_with(after, ".log")) {
    Synced& synced = Synced::get();
    const std::scoped_lock lock(synced.mutex);
    fs::resize_file(log, std::min(fs::file_size(log), synced.bytes[live / log.filename()]));
  }
  auto lost = Database::open(options_at(after)).value();
  EXPECT_TRUE(!lost->get(lost->column("b").value(), key("state")).value() ||
              lost->get(lost->column("a").value(), key("header")).value());
}

}  // namespace
}  // namespace coffer::kv
