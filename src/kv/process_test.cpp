// Several processes: locks, readers beside a writer, and kills in the middle of writing.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/check.h"
#include "base/random.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "kv/test_support.h"

namespace coffer::kv {
namespace {

// What a process of its own does with the database at `path`. It reports numbers until it ends or
// is killed.
struct Task {
  fs::path path;
  std::uint64_t start = 0;
  int output = -1;

  void report(std::uint64_t number) const {
    CHECK(::write(output, &number, sizeof number) == sizeof number);
  }
};

void hold(const Task& task) {
  const auto db = Database::open(options_at(task.path));
  CHECK(db && commit_pair(**db, 0, as_bytes("v")));
  task.report(1);
  ::pause();
}

void try_to_open(const Task& task) {
  task.report(Database::open(options_at(task.path)).has_value() ? 1 : 0);
}

// Gives up root's rights if it has them.
void open_without_permission(const Task& task) {
  if (::getuid() == 0) CHECK(::setgid(65534) == 0 && ::setuid(65534) == 0);
  const auto db = Database::open(options_at(task.path));
  task.report(!db && db.error().code == Code::kUnavailable &&
              contains(db.error().message, "Permission denied") &&
              contains(db.error().message, "check the owner"));
  const auto below = Database::open(options_at(task.path / "new"));
  task.report(!below && below.error().code == Code::kUnavailable);
}

// Commits from `start` on without end.
void write_on(const Task& task) {
  const auto db = Database::open(flushing_often(task.path));
  CHECK(db);
  Rng noise(task.start);
  Bytes value;
  for (std::uint64_t i = task.start;; ++i) {
    value.resize(noise.below(5000));
    noise.fill(value);
    CHECK(commit_pair(**db, i, value));
    task.report(i);
  }
}

void write_unlogged(const Task& task) {
  const auto db = Database::open(options_at(task.path));
  CHECK(db);
  std::uint64_t i = 0;
  for (; i < 50; ++i) CHECK(commit_pair(**db, i, as_bytes("v"), Durability::kNone));
  CHECK(commit_pair(**db, i++, as_bytes("v"), Durability::kWal));
  for (; i < 100; ++i) CHECK(commit_pair(**db, i, as_bytes("v"), Durability::kNone));
  task.report(i);
  ::pause();
}

constexpr std::pair<std::string_view, void (*)(const Task&)> kTasks[] = {
    {"hold", hold},
    {"try_to_open", try_to_open},
    {"open_without_permission", open_without_permission},
    {"write_on", write_on},
    {"write_unlogged", write_unlogged},
};

// RocksDB's threads do not live on in a forked process, so a task is run by a new one: this program
// started again, which finds its task here before main().
const bool kNoTask = [] {
  const char* name = ::getenv("COFFER_KV_TASK");
  if (name == nullptr) return true;
  const Task task{::getenv("COFFER_KV_PATH"), std::stoull(::getenv("COFFER_KV_START")),
                  std::stoi(::getenv("COFFER_KV_OUTPUT"))};
  for (const auto& [known, run] : kTasks)
    if (known == name) {
      run(task);
      ::_exit(0);
    }
  ::_exit(2);
}();

class Child {
 public:
  Child(const char* task, const fs::path& path, std::uint64_t start = 0) {
    CHECK(kNoTask);
    int ends[2];
    CHECK(::pipe(ends) == 0);
    CHECK(::fcntl(ends[1], F_SETPIPE_SZ, 4096) > 0);  // it cannot run far ahead of its reader
    const std::string start_text = std::to_string(start), output_text = std::to_string(ends[1]);
    pid_ = ::fork();
    CHECK(pid_ >= 0);
    if (pid_ == 0) {
      ::close(ends[0]);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::setenv("COFFER_KV_TASK", task, 1);
      ::setenv("COFFER_KV_PATH", path.c_str(), 1);
      ::setenv("COFFER_KV_START", start_text.c_str(), 1);
      ::setenv("COFFER_KV_OUTPUT", output_text.c_str(), 1);
      ::execl("/proc/self/exe", "kv_test", nullptr);
      ::_exit(3);
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

TEST(Processes, SecondProcessIsToldWhoHoldsTheDatabase) {
  const TempDir dir;
  Child holder("hold", dir.path());
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

TEST(Processes, SameProcessCannotOpenTwiceAndKeepsItsLock) {
  const TempDir dir;
  const auto first = Database::open(options_at(dir.path()));
  ASSERT_TRUE(first);
  EXPECT_EQ(Database::open(options_at(dir.path())).error().code, Code::kUnavailable);
  // The refused attempt must not have released the lock of the first.
  Child other("try_to_open", dir.path());
  EXPECT_EQ(other.next(), 0u);
  EXPECT_TRUE(commit_pair(**first, 0, as_bytes("v")));
}

TEST(Processes, NoPermission) {
  const TempDir dir;
  ASSERT_TRUE(Database::open(options_at(dir.path() / "db")));
  fs::permissions(dir.path(), fs::perms(0755));
  fs::permissions(dir.path() / "db", fs::perms(0555));
  fs::permissions(dir.path() / "db" / "LOCK", fs::perms(0444));
  Child child("open_without_permission", dir.path() / "db");
  EXPECT_EQ(child.next(), 1u);
  EXPECT_EQ(child.next(), 1u);
  fs::permissions(dir.path() / "db", fs::perms(0755));
}

TEST(Processes, KillLeavesWholeAcknowledgedBatches) {
  const TempDir dir;
  Rng rng(random_seed());
  std::uint64_t next = 0;
  for (int round = 0; round < 15; ++round) {
    Child writer("write_on", dir.path(), next);
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

// Unlogged commits may be lost, but never from the middle: a later logged one brings them all to
// disk first.
TEST(Processes, KillNeverLosesUnloggedCommitsBeforeALoggedOne) {
  const TempDir dir;
  Child writer("write_unlogged", dir.path());
  ASSERT_EQ(writer.next(), 100u);
  writer.kill_and_wait();
  const auto db = Database::open(options_at(dir.path()));
  ASSERT_TRUE(db);
  EXPECT_EQ(count_pairs(**db), 51u);
}

// A reader that opens while a writer flushes and compacts must see whole batches without a gap.
TEST(Processes, ReadersBesideABusyWriterSeeNoGap) {
  const TempDir dir;
  Child writer("write_on", dir.path());
  DatabaseOptions options = options_at(dir.path());
  options.read_only = true;
  std::uint64_t last = 0;
  int opened = 0;
  for (int round = 0; round < 30; ++round) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(writer.next());
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
