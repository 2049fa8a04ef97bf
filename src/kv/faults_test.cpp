// Bad days: damaged files, a full disk, something in the way.
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <functional>

#include "base/random.h"
#include "base/temp_dir.h"
#include "kv/test_support.h"

namespace coffer::kv {
namespace {

TEST(Faults, FlippedByteIsFoundOnRead) {
  const TempDir dir;
  {
    const auto db = Database::open(options_at(dir.path()));
    Bytes value(3000);
    Rng rng(1);
    for (std::uint64_t i = 0; i < 100; ++i) {
      rng.fill(value);
      ASSERT_TRUE(commit_pair(**db, i, value));
    }
    ASSERT_TRUE((*db)->flush());
  }
  for (const fs::path& file : files_with(dir.path(), ".sst")) flip_byte(file, 100'000);

  const auto db = Database::open(options_at(dir.path()));
  ASSERT_TRUE(db) << db.error().message;
  const Column a = (*db)->column("a").value();
  std::size_t damaged = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Bytes key;
    append_be64(key, i);
    const auto value = (*db)->get(a, key);
    if (value) {
      EXPECT_TRUE(value->has_value());
      continue;
    }
    ++damaged;
    EXPECT_EQ(value.error().code, Code::kCorrupt) << value.error().message;
    EXPECT_TRUE(contains(value.error().message, "restore")) << value.error().message;
    const ByteView keys[] = {key};
    PinnedValues pinned;
    EXPECT_EQ((*db)->multi_get(a, keys, pinned).error().code, Code::kCorrupt);
  }
  EXPECT_GE(damaged, 1u);
  EXPECT_LE(damaged, 4u);
  Iterator it = (*db)->iterate(a);
  for (it.seek_to_first(); it.valid();) it.next();
  ASSERT_FALSE(it.status());
  EXPECT_EQ(it.status().error().code, Code::kCorrupt);
}

TEST(Faults, DamagedDirectoryIsNotOpened) {
  const auto damage = [](const std::function<void(const fs::path&)>& how) {
    const TempDir dir;
    {
      const auto db = Database::open(options_at(dir.path()));
      ASSERT_TRUE(db && commit_pair(**db, 0, as_bytes("v")) && (*db)->flush());
    }
    how(dir.path());
    for (const bool read_only : {false, true}) {
      DatabaseOptions options = options_at(dir.path());
      options.read_only = read_only;
      const auto db = Database::open(options);
      ASSERT_FALSE(db);
      EXPECT_EQ(db.error().code, Code::kCorrupt) << db.error().message;
      EXPECT_TRUE(contains(db.error().message, "move the directory away")) << db.error().message;
      expect_one_line(db.error());
    }
  };
  damage([](const fs::path& path) {
    for (const auto& entry : fs::directory_iterator(path))
      if (entry.path().filename().string().starts_with("MANIFEST-")) flip_byte(entry.path(), 30);
  });
  damage([](const fs::path& path) { fs::remove(files_with(path, ".sst").at(0)); });
  damage([](const fs::path& path) { fs::remove(path / "CURRENT"); });
  damage([](const fs::path& path) { std::ofstream(path / "CURRENT") << "rubbish\n"; });
  // The version of the table format stands before the magic number at the very end.
  damage([](const fs::path& path) {
    for (const fs::path& file : files_with(path, ".sst")) flip_byte(file, fs::file_size(file) - 12);
  });
}

TEST(Faults, MissingOrBlockedDirectory) {
  const TempDir dir;
  DatabaseOptions options = options_at(dir.path() / "missing");
  options.create_if_missing = false;
  EXPECT_EQ(Database::open(options).error().code, Code::kNotFound);
  options.create_if_missing = true;
  options.read_only = true;
  EXPECT_EQ(Database::open(options).error().code, Code::kNotFound);
  EXPECT_FALSE(fs::exists(dir.path() / "missing"));
  std::ofstream(dir.path() / "file") << "x";
  EXPECT_EQ(Database::open(options_at(dir.path() / "file")).error().code, Code::kUsage);
  EXPECT_TRUE(Database::open(options_at(dir.path() / "deep" / "down")));
  options = options_at(dir.path() / "twice");
  options.columns.push_back({.name = "a"});
  EXPECT_EQ(Database::open(options).error().code, Code::kUsage);
}

// A small file system of its own, or nothing where mounting is not allowed.
class SmallDisk {
 public:
  SmallDisk() { mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=16m") == 0; }
  ~SmallDisk() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  // Enough for recovery, which writes what is in the log to tables before it removes the log.
  bool grow() const {
    return ::mount("tmpfs", dir_.path().c_str(), "tmpfs", MS_REMOUNT, "size=64m") == 0;
  }
  fs::path path() const { return dir_.path(); }

 private:
  TempDir dir_;
  bool mounted_;
};

TEST(Faults, FullDiskStopsWritingAndLosesNothing) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  const fs::path path = disk.path() / "db";
  Bytes value(20'000);
  Rng rng(1);
  std::uint64_t acknowledged = 0;
  {
    const auto db = Database::open(options_at(path));
    ASSERT_TRUE(db) << db.error().message;
    Result<> done;
    for (; acknowledged < 2000; ++acknowledged) {
      rng.fill(value);
      done = commit_pair(**db, acknowledged, value);
      if (!done) break;
    }
    ASSERT_FALSE(done) << "the disk never filled";
    ASSERT_GT(acknowledged, 10u);
    EXPECT_EQ(done.error().code, Code::kUnavailable);
    EXPECT_TRUE(contains(done.error().message, "free some space")) << done.error().message;
    expect_one_line(done.error());

    // Also with room again this object refuses, and reads go on.
    ASSERT_TRUE(disk.grow());
    const auto again = commit_pair(**db, acknowledged, value);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().code, Code::kUnavailable);
    EXPECT_FALSE(again.error().retryable);
    EXPECT_TRUE(contains(again.error().message, "restart")) << again.error().message;
    EXPECT_FALSE((*db)->flush());
    EXPECT_GE(count_pairs(**db), acknowledged);
  }
  const auto db = Database::open(options_at(path));
  ASSERT_TRUE(db) << db.error().message;
  const std::uint64_t found = count_pairs(**db);
  EXPECT_GE(found, acknowledged);
  EXPECT_LE(found, acknowledged + 1);
  EXPECT_TRUE(commit_pair(**db, found, value));
}

// Here it is a flush in the background that finds no room.
TEST(Faults, FullDiskDuringAFlushStopsWriting) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  const DatabaseOptions options = flushing_often(disk.path() / "db");
  Bytes value(20'000);
  Rng rng(1);
  std::uint64_t flushed = 0;
  {
    const auto db = Database::open(options);
    ASSERT_TRUE(db) << db.error().message;
    Result<> done;
    for (std::uint64_t i = 0; i < 2000 && done; ++i) {
      rng.fill(value);
      done = commit_pair(**db, i, value, Durability::kNone);
      if (done && i % 50 == 49) {
        done = (*db)->flush();
        if (done) flushed = i + 1;
      }
    }
    ASSERT_FALSE(done) << "the disk never filled";
    EXPECT_EQ(done.error().code, Code::kUnavailable) << done.error().message;
    EXPECT_TRUE(contains(done.error().message, "free some space")) << done.error().message;
    EXPECT_TRUE(contains((*db)->flush().error().message, "restart"));
  }
  ASSERT_TRUE(disk.grow());
  const auto db = Database::open(options);
  ASSERT_TRUE(db) << db.error().message;
  EXPECT_GT(flushed, 0u);
  EXPECT_GE(count_pairs(**db), flushed);
}

TEST(Faults, OpeningOnAFullDiskSaysSo) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  ASSERT_TRUE(Database::open(options_at(disk.path() / "db")));
  std::ofstream(disk.path() / "ballast") << std::string(17u << 20, 'x');
  const auto db = Database::open(options_at(disk.path() / "db"));
  ASSERT_FALSE(db);
  EXPECT_EQ(db.error().code, Code::kUnavailable) << db.error().message;
  EXPECT_TRUE(contains(db.error().message, "free some space")) << db.error().message;
  fs::remove(disk.path() / "ballast");
  EXPECT_TRUE(Database::open(options_at(disk.path() / "db")));
}

}  // namespace
}  // namespace coffer::kv
