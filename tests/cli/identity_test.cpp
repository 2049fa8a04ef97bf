// Which network a data directory is of, and who may change the schema of its SQL database.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/connection.h"
#include "support/process.h"
#include "support/small_disk.h"

namespace coffer::test {
namespace {

namespace fs = std::filesystem;

class DataIdentity : public ::testing::Test {
 protected:
  Finished coffer_on_data(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments), environment_);
  }
  void sync() {
    const auto end = coffer_on_data({"sync", "--to", "20", "--log-level", "error"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }
  std::string data() const { return (dir_.path() / "data").string(); }
  fs::path file() const { return fs::path(data()) / "identity"; }
  fs::path unfinished_file() const { return fs::path(data()) / "identity.tmp"; }
  std::string file_text() const {
    const auto text = read_file(file(), 4096);
    return text ? std::string(as_text(*text)) : "";
  }

  TempDir dir_;
  std::vector<std::string> environment_;
};

TEST_F(DataIdentity, FileIsWrittenWithTheFirstBlock) {
  sync();
  EXPECT_TRUE(file_text().starts_with("bitcoin devnet\n")) << file_text();
}

TEST_F(DataIdentity, WalletCommandsDoNotOpenRocksDb) {
  sync();
  ASSERT_EQ(coffer_on_data({"wallet", "create", "shop"}).exit_code, 0);
  fs::rename(fs::path(data()) / "db/CURRENT", fs::path(data()) / "db/CURRENT.away");
  const auto listed = coffer_on_data({"wallet", "balance", "shop"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(coffer_on_data({"db", "status"}).exit_code, 0);
  // Without the file there is no other way than to look into the database.
  fs::remove(file());
  expect_refusal(coffer_on_data({"wallet", "balance", "shop"}), 3, "");
}

TEST_F(DataIdentity, NextStartMakesTheFileAnew) {
  sync();
  const std::string text = file_text();
  fs::remove(file());
  ASSERT_EQ(coffer_on_data({"wallet", "create", "shop"}).exit_code, 0);  // asks the database
  sync();
  EXPECT_EQ(file_text(), text);
  // The database has the word.
  std::ofstream(file()) << "bitcoin mainnet\n00\n";
  expect_refusal(coffer_on_data({"wallet", "list"}), 3, "identity is damaged; delete it");
  sync();
  EXPECT_EQ(file_text(), text);
}

// Whether the process has the file open.
bool holds_open(const Process& process, const fs::path& file) {
  std::error_code error;
  for (fs::directory_iterator at("/proc/" + std::to_string(process.pid()) + "/fd", error), end;
       !error && at != end; at.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(at->path(), gone) == file) return true;
  }
  return false;
}

TEST_F(DataIdentity, KillWhileTheFileIsWrittenLeavesDataThatOpens) {
  sync();
  const std::string text = file_text();
  fs::remove_all(data());
  // A full pipe in place of the file that will be renamed: writing it never ends. The test opens it
  // by another name, which tells what the process inherits from what it opens.
  const fs::path other_name = dir_.path() / "pipe";
  ASSERT_TRUE(make_directory(data(), 0700));
  ASSERT_EQ(::mkfifo(other_name.c_str(), 0600), 0);
  fs::create_hard_link(other_name, unfinished_file());
  const int pipe = ::open(other_name.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(pipe, 0);
  const std::string page(4096, 'x');
  while (::write(pipe, page.data(), page.size()) > 0) continue;
  {
    Process process({coffer(), "sync", "--to", "20", "--log-level", "error", "--data", data()});
    while (process.running() && !holds_open(process, unfinished_file()))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    process.kill(SIGKILL);
    const auto end = process.wait();
    ASSERT_TRUE(end);
    ASSERT_EQ(end->exit_code, -1) << end->err;  // it did not get further
  }
  ::close(pipe);
  EXPECT_FALSE(fs::exists(file()));
  // On a disk the kill leaves a part.
  fs::remove(unfinished_file());
  std::ofstream(unfinished_file()) << text.substr(0, text.size() / 2);

  const auto status = coffer_on_data({"status"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  const auto created = coffer_on_data({"wallet", "create", "shop"});
  EXPECT_EQ(created.exit_code, 0) << created.err;
  EXPECT_FALSE(fs::exists(file()));  // neither writes it
  sync();
  EXPECT_EQ(file_text(), text);
  EXPECT_FALSE(fs::exists(unfinished_file()));
}

TEST_F(DataIdentity, FullDiskStopsOnlyTheFile) {
  // The databases are on another disk, which has room.
  environment_ = {"COFFER_WALLET_DATABASE=sqlite:" + (dir_.path() / "wallet.db").string()};
  sync();
  const std::string text = file_text();
  SmallDisk disk(1);
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk);
  fs::rename(fs::path(data()) / "db", dir_.path() / "db");
  fs::remove_all(data());
  fs::create_directory_symlink(disk.path(), data());
  fs::create_directory_symlink(dir_.path() / "db", fs::path(data()) / "db");
  (void)disk.fill(64u << 20);  // as much as there is

  const auto synced = coffer_on_data({"sync", "--to", "30", "--log-level", "warn"});
  EXPECT_EQ(synced.exit_code, 0) << synced.err;
  EXPECT_NE(synced.err.find("identity file not written"), std::string::npos) << synced.err;
  EXPECT_NE(synced.err.find("No space"), std::string::npos) << synced.err;
  EXPECT_FALSE(fs::exists(file()));
  EXPECT_FALSE(fs::exists(unfinished_file()));
  const auto status = coffer_on_data({"status"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  // The wallet is made, and the command says that its line of the audit log is missing.
  const auto created = coffer_on_data({"wallet", "create", "shop"});
  EXPECT_EQ(created.exit_code, 3);
  EXPECT_NE(created.err.find("it is done, but not in the audit log"), std::string::npos)
      << created.err;
  EXPECT_NE(coffer_on_data({"wallet", "list"}).out.find("shop"), std::string::npos);

  ASSERT_TRUE(disk.free());
  sync();
  EXPECT_EQ(file_text(), text);
}

TEST_F(DataIdentity, OfAnotherNetworkIsRefused) {
  sync();
  expect_refusal(coffer_on_data({"wallet", "create", "shop", "--network", "mainnet"}), 1,
                 "belongs to bitcoin devnet, not to bitcoin mainnet");
}

TEST_F(DataIdentity, OnlyMigrateBringsADatabaseUpToDate) {
  ASSERT_TRUE(make_directory(data(), 0700));
  // Without a single table: as old as a database can be.
  sql::DatabaseOptions options;
  options.location = "sqlite:" + data() + "/wallet.db";
  ASSERT_TRUE(sql::Database::open(options));
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"wallet", "list"}, {"wallet", "balance", "shop"}, {"wallet", "verify"}})
    expect_refusal(coffer_on_data(command), 1,
                   "is of schema 0, this coffer needs 1: run 'coffer db migrate'");
  const auto status = coffer_on_data({"db", "status"});
  EXPECT_NE(status.out.find("pending  wallet 1"), std::string::npos) << status.out << status.err;
  ASSERT_EQ(coffer_on_data({"db", "migrate"}).exit_code, 0);
  EXPECT_EQ(coffer_on_data({"wallet", "list"}).exit_code, 0);
}

}  // namespace
}  // namespace coffer::test
