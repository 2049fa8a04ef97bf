// A restore while other processes open the database.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "base/file_lock.h"
#include "base/result.h"
#include "sql/test_restore.h"

namespace coffer::sql::test {
namespace {

using RestoreRaceTest = RestoreTest;

bool has_open(pid_t process, const fs::path& path) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(fmt::format("/proc/{}/fd", process), ignored))
    if (fs::read_symlink(entry.path(), ignored) == path) return true;
  return false;
}

// One that has opened the old file and waits for its lock while it is replaced.
TEST_F(RestoreRaceTest, WaitingOpenGetsTheNewDatabase) {
  make_backup({1});
  make(target_, {10});
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char c = 0;
    CHECK(::read(go[0], &c, 1) == 1);
    add(*open(target_), 2);
    ::_exit(HasFailure() ? 1 : 0);
  }
  auto lock = std::make_unique<FileLock>(
      FileLock::take(target_, {.start = 0x40000000, .length = 512}).value());
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  while (!has_open(child, target_)) std::this_thread::yield();
  fs::rename(target_, data_ / "old.db");
  fs::copy_file(backup_, data_ / "new.db");
  fs::rename(data_ / "new.db", target_);
  lock.reset();
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  for (const int file : go) ::close(file);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(sum(target_), 3);
  EXPECT_EQ(sum(data_ / "old.db"), 10);
}

// Processes that add rows, each through a new connection, and tell the ids of those that they were
// told are there.
class Adders {
 public:
  Adders() { CHECK(::pipe2(told_, O_NONBLOCK) == 0); }
  ~Adders() {
    kill();
    for (const int file : told_) ::close(file);
  }
  void start(const fs::path& target, int count) {
    for (int i = 0; i < count; ++i) {
      first_ += 1'000'000;
      children_.push_back(::fork());
      CHECK(children_.back() >= 0);
      if (children_.back() == 0) keep_adding(target);
    }
  }
  void kill() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      CHECK(::waitpid(child, nullptr, 0) == child);
    }
    children_.clear();
  }
  void listen(std::set<std::int64_t>& acknowledged) {
    std::int64_t id = 0;
    while (::read(told_[0], &id, sizeof id) == sizeof id) acknowledged.insert(id);
  }

 private:
  [[noreturn]] void keep_adding(const fs::path& target) const {
    DatabaseOptions options;
    options.location = "sqlite:" + target.string();
    for (std::int64_t id = first_;; ++id) {
      const std::int64_t start_ms = system_clock().steady_ms();
      auto database = Database::open(options);
      // Until the first restore there may be a database without the table.
      const bool done = database && (*database)->run_transaction([&](Transaction& t) {
        return t.execute("INSERT INTO toy(id) VALUES ($1)", {id});
      });
      if (database) database->reset();
      if (done && ::write(told_[1], &id, sizeof id) != sizeof id) ::_exit(0);
      // Leaves the others time, on a slow disk too.
      const std::int64_t took_ms = system_clock().steady_ms() - start_ms;
      std::this_thread::sleep_for(std::chrono::milliseconds(took_ms * (1 + id % 3)));
    }
  }

  int told_[2];
  std::int64_t first_ = 0;
  std::vector<pid_t> children_;
};

TEST_F(RestoreRaceTest, NoAcknowledgedRowIsLostWhileOthersOpenAndWrite) {
  make_backup({0});
  Adders adders;
  std::set<std::int64_t> acknowledged;
  int restored = 0;
  const std::int64_t end_ms = system_clock().steady_ms() + 10'000;
  while (restored < 12 && system_clock().steady_ms() < end_ms) {
    if (restored % 4 == 0) {
      adders.kill();  // which leaves a log, mostly
      adders.start(target_, 2);
    }
    // Each database gets a row at least, once there is a table for it.
    for (const auto before = acknowledged.size();
         restored > 0 && acknowledged.size() == before && system_clock().steady_ms() < end_ms;)
      adders.listen(acknowledged);
    auto done = restore_it(true);
    for (; !done && system_clock().steady_ms() < end_ms; done = restore_it(true)) {
      ASSERT_TRUE(done.error().code == Code::kUnavailable || done.error().code == Code::kConflict)
          << done.error().message;
      adders.listen(acknowledged);
      std::this_thread::yield();
    }
    restored += done ? 1 : 0;
  }
  adders.kill();
  adders.listen(acknowledged);
  EXPECT_GT(restored, 2);
  EXPECT_GE(static_cast<int>(acknowledged.size()), restored - 1);
  for (const std::string& name : files()) {
    if (name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with("-journal")) continue;
    const auto database = open(data_ / name);
    auto connection = database->acquire().value();
    const auto whole = connection.value<std::string>("PRAGMA integrity_check");
    ASSERT_TRUE(whole) << name << whole.error().message;
    ASSERT_EQ(*whole, "ok") << name;
    if (connection.value<std::int64_t>("SELECT count(*) FROM sqlite_master").value() == 0) continue;
    Rows rows = connection.query("SELECT id FROM toy").value();
    while (rows.next().value()) acknowledged.erase(rows.get<std::int64_t>(0).value());
  }
  EXPECT_TRUE(acknowledged.empty()) << acknowledged.size() << " rows are nowhere";
}

}  // namespace
}  // namespace coffer::sql::test
