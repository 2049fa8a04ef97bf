// Which network a data directory is of, and who may change the schema of its SQL database.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/connection.h"
#include "support/process.h"

namespace coffer::test {
namespace {

namespace fs = std::filesystem;

class DataIdentity : public ::testing::Test {
 protected:
  Finished coffer_on_data(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--data", data()});
    return run(std::move(arguments));
  }
  void sync() {
    const auto end = coffer_on_data({"sync", "--to", "20", "--log-level", "error"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }
  std::string data() const { return (dir_.path() / "data").string(); }
  fs::path file() const { return fs::path(data()) / "identity"; }
  std::string file_text() const {
    const auto text = read_file(file(), 4096);
    return text ? std::string(as_text(*text)) : "";
  }

  TempDir dir_;
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
