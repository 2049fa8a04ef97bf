// Bad days: a second process, damaged files, a full disk, no permission, a kill in mid-write.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "base/random.h"
#include "base/temp_dir.h"
#include "kv/database.h"

namespace coffer::kv {
namespace {

namespace fs = std::filesystem;

DatabaseOptions options_at(const fs::path& path) {
  DatabaseOptions options;
  options.path = path;
  options.columns = {{.name = "a", .compression = Compression::kNone},
                     {.name = "b", .compression = Compression::kNone}};
  options.block_cache_bytes = 1u << 20;
  return options;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void expect_one_line(const Error& error) {
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

std::vector<fs::path> files_with(const fs::path& path, std::string_view extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  return files;
}

void flip_byte(const fs::path& file, std::uint64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(stream.get() ^ 0x40);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(byte);
  ASSERT_TRUE(stream.good());
}

// Puts `value` under the key `number` into both columns.
Result<> commit_pair(Database& db, std::uint64_t number, ByteView value,
                     Durability durability = Durability::kWal) {
  Bytes key;
  append_be64(key, number);
  Batch batch;
  batch.put(TRY(db.column("a")), key, value);
  batch.put(TRY(db.column("b")), key, value);
  return db.commit(batch, durability);
}

// How many of the keys 0, 1, 2 … are there without a gap; every pair must be whole.
std::uint64_t count_pairs(const Database& db) {
  Iterator a = db.iterate(db.column("a").value());
  Iterator b = db.iterate(db.column("b").value());
  std::uint64_t count = 0;
  b.seek_to_first();
  for (a.seek_to_first(); a.valid(); a.next(), b.next(), ++count) {
    EXPECT_TRUE(b.valid());
    if (!b.valid()) return count;
    EXPECT_EQ(load_be64(a.key().data()), count);
    EXPECT_TRUE(equal(a.key(), b.key()));
    EXPECT_TRUE(equal(a.value(), b.value()));
  }
  EXPECT_FALSE(b.valid());
  EXPECT_TRUE(a.status());
  EXPECT_TRUE(b.status());
  return count;
}

// A process of its own that runs `work`, which may report numbers, until it ends or is killed.
class Child {
 public:
  using Report = std::function<void(std::uint64_t)>;
  explicit Child(const std::function<void(const Report&)>& work) {
    int ends[2];
    CHECK(::pipe(ends) == 0);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::close(ends[0]);
      work([&](std::uint64_t number) {
        CHECK(::write(ends[1], &number, sizeof number) == sizeof number);
      });
      ::_exit(0);
    }
    ::close(ends[1]);
    reading_ = ends[0];
  }
  ~Child() {
    if (pid_ > 0) kill_and_wait();
    ::close(reading_);
  }
  // Waits for the next number; nothing once the process has ended.
  std::optional<std::uint64_t> next() {
    std::uint64_t number;
    if (::read(reading_, &number, sizeof number) != sizeof number) return std::nullopt;
    return number;
  }
  void kill_and_wait() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  int pid() const { return pid_; }

 private:
  int pid_;
  int reading_;
};

TEST(Faults, ASecondProcessIsToldWhoHoldsTheDatabase) {
  const TempDir dir;
  Child holder([&](const Child::Report& report) {
    const auto db = Database::open(options_at(dir.path()));
    CHECK(db && commit_pair(**db, 0, as_bytes("v")));
    report(1);
    ::pause();
  });
  ASSERT_EQ(holder.next(), 1u);
  const auto second = Database::open(options_at(dir.path()));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kUnavailable);
  EXPECT_TRUE(contains(second.error().message, fmt::format("in use by process {}", holder.pid())))
      << second.error().message;
  expect_one_line(second.error());

  DatabaseOptions reading = options_at(dir.path());
  reading.read_only = true;
  {
    const auto reader = Database::open(reading);
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(count_pairs(**reader), 1u);
  }
  holder.kill_and_wait();
  const auto third = Database::open(options_at(dir.path()));
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(count_pairs(**third), 1u);
}

TEST(Faults, TheSameProcessCannotOpenTwiceAndKeepsItsLock) {
  const TempDir dir;
  const auto first = Database::open(options_at(dir.path()));
  ASSERT_TRUE(first);
  EXPECT_EQ(Database::open(options_at(dir.path())).error().code, Code::kUnavailable);
  // The refused attempt must not have released the lock of the first.
  Child other([&](const Child::Report& report) {
    report(Database::open(options_at(dir.path())).has_value() ? 1 : 0);
  });
  EXPECT_EQ(other.next(), 0u);
  EXPECT_TRUE(commit_pair(**first, 0, as_bytes("v")));
}

TEST(Faults, AFlippedByteIsFoundOnRead) {
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
    EXPECT_EQ((*db)->multi_get(a, keys).error().code, Code::kCorrupt);
  }
  EXPECT_GE(damaged, 1u);
  EXPECT_LE(damaged, 4u);
  Iterator it = (*db)->iterate(a);
  for (it.seek_to_first(); it.valid();) it.next();
  ASSERT_FALSE(it.status());
  EXPECT_EQ(it.status().error().code, Code::kCorrupt);
}

TEST(Faults, ADamagedDirectoryIsNotOpened) {
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

TEST(Faults, NothingThereOrSomethingInTheWay) {
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

TEST(Faults, NoPermission) {
  const TempDir dir;
  ASSERT_TRUE(Database::open(options_at(dir.path() / "db")));
  fs::permissions(dir.path(), fs::perms(0755));
  fs::permissions(dir.path() / "db", fs::perms(0555));
  fs::permissions(dir.path() / "db" / "LOCK", fs::perms(0444));
  // In a process of its own, which gives up root's rights if it has them.
  Child child([&](const Child::Report& report) {
    if (::getuid() == 0) CHECK(::setgid(65534) == 0 && ::setuid(65534) == 0);
    const auto db = Database::open(options_at(dir.path() / "db"));
    if (!db) fmt::print(stderr, "{}\n", db.error().message);
    report(!db && db.error().code == Code::kUnavailable &&
           contains(db.error().message, "Permission denied") &&
           contains(db.error().message, "check the owner"));
    const auto below = Database::open(options_at(dir.path() / "db" / "new"));
    report(!below && below.error().code == Code::kUnavailable);
  });
  EXPECT_EQ(child.next(), 1u);
  EXPECT_EQ(child.next(), 1u);
  fs::permissions(dir.path() / "db", fs::perms(0755));
}

// A small file system of its own, or nothing where mounting is not allowed.
class SmallDisk {
 public:
  SmallDisk() {
    mounted_ = ::mount("tmpfs", dir_.path().c_str(), "tmpfs", 0, "size=16m") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(dir_.path().c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  fs::path path() const { return dir_.path(); }

 private:
  TempDir dir_;
  bool mounted_;
};

TEST(Faults, AFullDiskStopsWritingAndLosesNothing) {
  const SmallDisk disk;
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small tmpfs is not permitted here";
  // Ballast that can be removed later to make room.
  std::ofstream(disk.path() / "ballast") << std::string(6u << 20, 'x');
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
    fs::remove(disk.path() / "ballast");
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

TEST(Faults, AKillLeavesWholeBatchesAndAllAcknowledgedOnes) {
  const TempDir dir;
  Rng rng(random_seed());
  std::uint64_t next = 0;
  for (int round = 0; round < 15; ++round) {
    Child writer([&](const Child::Report& report) {
      DatabaseOptions options = options_at(dir.path());
      options.write_buffer_bytes = 256u << 10;  // many flushes
      const auto db = Database::open(options);
      CHECK(db);
      Rng noise(next);
      Bytes value;
      for (std::uint64_t i = next;; ++i) {
        value.resize(noise.below(5000));
        noise.fill(value);
        CHECK(commit_pair(**db, i, value));
        report(i);
      }
    });
    std::uint64_t acknowledged = 0;
    for (std::uint64_t wanted = rng.between(1, 300); wanted > 0; --wanted)
      acknowledged = writer.next().value();
    writer.kill_and_wait();
    while (const auto more = writer.next()) acknowledged = *more;

    const auto db = Database::open(options_at(dir.path()));
    ASSERT_TRUE(db) << db.error().message;
    const std::uint64_t found = count_pairs(**db);
    ASSERT_GE(found, acknowledged + 1);
    ASSERT_LE(found, acknowledged + 2);
    next = found;
  }
}

// Unlogged commits may be lost, but never from the middle: a later logged one brings them all to disk first.
TEST(Faults, AKillNeverLosesUnloggedCommitsBeforeALoggedOne) {
  const TempDir dir;
  Child writer([&](const Child::Report& report) {
    const auto db = Database::open(options_at(dir.path()));
    CHECK(db);
    std::uint64_t i = 0;
    for (; i < 50; ++i) CHECK(commit_pair(**db, i, as_bytes("v"), Durability::kNone));
    CHECK(commit_pair(**db, i++, as_bytes("v"), Durability::kWal));
    for (; i < 100; ++i) CHECK(commit_pair(**db, i, as_bytes("v"), Durability::kNone));
    report(i);
    ::pause();
  });
  ASSERT_EQ(writer.next(), 100u);
  writer.kill_and_wait();
  const auto db = Database::open(options_at(dir.path()));
  ASSERT_TRUE(db);
  EXPECT_EQ(count_pairs(**db), 51u);
}

// A reader that opens while a writer flushes and compacts must see whole batches without a gap.
TEST(Faults, ReadersBesideABusyWriterSeeNoGap) {
  const TempDir dir;
  Child writer([&](const Child::Report& report) {
    DatabaseOptions options = options_at(dir.path());
    options.write_buffer_bytes = 256u << 10;
    const auto db = Database::open(options);
    CHECK(db);
    const Bytes value(2000, 1);
    for (std::uint64_t i = 0;; ++i) {
      CHECK(commit_pair(**db, i, value));
      if (i % 100 == 0) report(i);
    }
  });
  DatabaseOptions options = options_at(dir.path());
  options.read_only = true;
  std::uint64_t last = 0;
  int opened = 0;
  for (int round = 0; round < 30; ++round) {
    ASSERT_TRUE(writer.next());
    const auto reader = Database::open(options);
    if (!reader) {
      ASSERT_EQ(reader.error().code, Code::kUnavailable) << reader.error().message;
      continue;
    }
    ++opened;
    const std::uint64_t found = count_pairs(**reader);
    ASSERT_GE(found, last);
    last = found;
  }
  EXPECT_GT(opened, 10);
  EXPECT_GT(last, 100u);
}

}  // namespace
}  // namespace coffer::kv
