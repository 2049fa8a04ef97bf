// What a person meets: help, bad input of every kind, one clear line and the right exit code.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/temp_dir.h"
#include "support/process.h"
#include "support/small_disk.h"

namespace coffer {
namespace {

using test::expect_refusal;
using test::Finished;
using test::Process;
using test::run;

class Commands : public testing::Test {
 protected:
  std::string data(const char* name = "data") const { return (dir_.path() / name).string(); }
  Finished sync(std::vector<std::string> more = {}, const char* name = "data") const {
    std::vector<std::string> arguments = {"sync", "--to", "50", "--data", data(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  TempDir dir_;
};

TEST_F(Commands, HelpHasExamplesAndListsOnlyWhatWorks) {
  const Finished help = run({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* text : {"coffer demo", "Examples:", "Exit codes", "serve", "sync", "status",
                           "devnet", "bench", "coffer wallet"})
    EXPECT_NE(help.out.find(text), std::string::npos) << text;
  for (const char* command : {"demo", "serve", "sync", "status", "rebuild", "version", "settings"})
    EXPECT_EQ(run({command, "--help"}).exit_code, 0) << command;
  EXPECT_EQ(run({"version"}).out.rfind("coffer ", 0), 0u);
}

TEST_F(Commands, WrongUsageIsExitCodeTwo) {
  expect_refusal(run({}), 2, "see 'coffer --help'");
  expect_refusal(run({"fly"}), 2, "no command 'fly'");
  expect_refusal(run({"sync", "--bogus"}), 2, "see 'coffer sync --help'");
  expect_refusal(sync({"--chain", "dogecoin"}), 2, "chain");
  expect_refusal(sync({"--network", "mars"}), 2, "mars");
  expect_refusal(sync({"--source", "file:x"}), 2, "source");
  expect_refusal(sync({"--devnet-txs-per-block", "-1"}), 2, "devnet.txs_per_block");
  expect_refusal(run({"sync", "--to", "many", "--data", data()}), 2, "--to");
  expect_refusal(run({"devnet", "write", data(), "--chain", "cardano"}), 2, "--format hex");
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(Commands, WrongSettingsAreNamed) {
  std::ofstream(dir_.path() / "bad.toml") << "[http]\nlissten = \"x\"\n";
  expect_refusal(sync({"--config", (dir_.path() / "bad.toml").string()}), 2, "http.lissten");
  expect_refusal(sync({"--config", (dir_.path() / "none.toml").string()}), 1, "none.toml");
  expect_refusal(run({"sync", "--to", "5", "--data", data()}, {"COFFER_LOG_LEVL=info"}), 2,
                 "COFFER_LOG_LEVL");
}

TEST_F(Commands, OtherNetworkOrSeedChangesNothing) {  // E5
  ASSERT_EQ(sync().exit_code, 0);
  const std::string before = run({"status", "--json", "--data", data()}).out;
  expect_refusal(sync({"--chain", "cardano"}), 1, "belongs to bitcoin devnet");
  expect_refusal(sync({"--devnet-seed", "9"}), 1, "another genesis or seed");
  EXPECT_EQ(sync().exit_code, 0);
  auto tip = [](const std::string& text) {
    return boost::json::parse(text).at("totals").at("digest");
  };
  EXPECT_EQ(tip(run({"status", "--json", "--data", data()}).out), tip(before));
}

// A pipe that nobody writes into is not waited for, and a device without an end is not read.
TEST_F(Commands, SourcesThatAreNoFilesAreReported) {
  const std::string pipe = data("pipe"), file = data("file"), below = data("below");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::ofstream(file) << "x";
  std::filesystem::create_directory(below);
  for (const char* name : {"blk00000.dat", "00000.chunk", "byron-genesis.json"})
    ASSERT_EQ(::mkfifo((below + "/" + name).c_str(), 0600), 0);
  using Words = std::vector<std::string>;
  const Words bitcoin = {"sync", "--chain", "bitcoin", "--network", "mainnet"},
              cardano = {"sync", "--chain", "cardano", "--network", "preview"};
  struct Case {
    Words command, more;
    const char* text;
  };
  const Case cases[] = {
      {bitcoin, {"--source", "file:/dev/zero"}, "/dev/zero is a device"},
      {cardano, {"--source", "file:/dev/zero"}, "/dev/zero is a device"},
      {bitcoin, {"--source", "file:" + pipe}, "pipe is a pipe, not a regular file"},
      {cardano, {"--source", "file:" + pipe}, "pipe is a pipe, not a regular file"},
      {bitcoin, {"--source", "blkdir:" + file}, "file is not a directory"},
      {bitcoin, {"--source", "blkdir:" + pipe}, "pipe is not a directory"},
      {bitcoin, {"--source", "blkdir:" + below}, "blk00000.dat is a pipe"},
      {cardano, {"--source", "immutable:" + file}, "file is not a directory"},
      {cardano, {"--source", "immutable:" + pipe}, "pipe is not a directory"},
      {cardano, {"--source", "immutable:/dev/zero"}, "/dev/zero is not a directory"},
      {cardano, {"--source", "immutable:" + below}, "00000.chunk is a pipe"},
      {cardano, {"--source", "file:" + file, "--genesis", below}, "byron-genesis.json is a pipe"},
      {{"decode", pipe}, {}, "pipe is a pipe, not a regular file"},
      {{"decode", "/dev/zero"}, {}, "/dev/zero is a device"},
  };
  for (const Case& wrong : cases) {
    Words arguments = {test::coffer()};
    arguments.insert(arguments.end(), wrong.command.begin(), wrong.command.end());
    arguments.insert(arguments.end(), wrong.more.begin(), wrong.more.end());
    TempDir data_dir;
    arguments.insert(arguments.end(), {"--log-level", "off"});
    if (wrong.command.front() == "sync")
      arguments.insert(arguments.end(), {"--data", data_dir.path().string()});
    SCOPED_TRACE(wrong.more.empty() ? wrong.command.back() : wrong.more.back());
    Process process(arguments);
    const auto end = process.wait(20'000);
    ASSERT_TRUE(end) << "it hangs";
    EXPECT_EQ(end->exit_code, 1);
    EXPECT_EQ(end->out, "");
    // What sync says of its progress may stand before it.
    const std::size_t said = end->err.find("coffer: ");
    ASSERT_NE(said, std::string::npos) << end->err;
    EXPECT_NE(end->err.find(wrong.text, said), std::string::npos) << end->err;
    EXPECT_EQ(end->err.find('\n', said), end->err.size() - 1) << end->err;
  }
}

TEST_F(Commands, StatusWithoutDataSaysHowToBegin) {
  expect_refusal(run({"status", "--data", data()}), 1, "coffer demo");
}

TEST_F(Commands, StatusDetectsTheChain) {
  ASSERT_EQ(sync({"--chain", "cardano"}).exit_code, 0);
  const Finished status = run({"status", "--data", data()});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_NE(status.out.find("cardano devnet"), std::string::npos);
  EXPECT_NE(status.out.find("51 blocks"), std::string::npos) << status.out;
}

TEST_F(Commands, NoPermissionIsReported) {
  if (::geteuid() == 0) {  // root may do anything: a file in the way stands for it
    std::ofstream(data("file")) << "x";
    expect_refusal(sync({}, "file"), 2, "is not a directory");
    expect_refusal(sync({}, "file/below"), 2, "is not a directory");
  } else {
    ::mkdir(data("closed").c_str(), 0500);
    expect_refusal(sync({}, "closed/below"), 3, "check its owner and mode");
  }
  const Finished write = run({"devnet", "write", data("none") + "/x.dat", "--blocks", "5"});
  EXPECT_EQ(write.exit_code, 1);
  EXPECT_NE(write.err.find("cannot create"), std::string::npos) << write.err;
}

TEST_F(Commands, PortInUseAndSecondProcessAreRefused) {
  Process first({test::coffer(), "demo", "--json", "--data", data(), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(first.wait_for_output("\"url\"")) << first.err();
  const std::string url(boost::json::parse(first.out()).at("url").as_string());
  const std::string port = url.substr(url.rfind(':') + 1);
  expect_refusal(run({"demo", "--data", data("other"), "--listen", "127.0.0.1:" + port,
                      "--log-level", "error"}),
                 3, "choose another port");
  expect_refusal(run({"demo", "--data", data(), "--listen", "127.0.0.1:0", "--log-level", "error"}),
                 3, "in use by process");
  // Status beside the running one asks it.
  const Finished status = run({"status", "--data", data()});
  EXPECT_NE(status.out.find("running for"), std::string::npos) << status.out << status.err;
  first.kill(SIGTERM);
  EXPECT_EQ(first.wait(20'000)->exit_code, 0) << first.err();
  EXPECT_NE(run({"status", "--data", data()}).out.find("not running"), std::string::npos);
}

TEST_F(Commands, BeyondLoopbackNeedsTlsOrAProxy) {
  expect_refusal(run({"demo", "--data", data(), "--listen", "0.0.0.0:0", "--log-level", "error"}),
                 2, "http.behind_proxy");
}

TEST_F(Commands, CorruptDatabaseIsReported) {
  ASSERT_EQ(sync().exit_code, 0);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(data()) / "db"))
    if (entry.path().filename().string().starts_with("MANIFEST")) {
      std::fstream file(entry.path(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(20);
      file.put('\x55');
    }
  const Finished end = sync({"--log-level", "off"});
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.err.rfind("coffer: ", 0), 0u) << end.err;
}

TEST_F(Commands, SyncToHeightZeroIsOneBlock) {
  const Finished end = run({"sync", "--to", "0", "--data", data()});
  EXPECT_EQ(end.exit_code, 0) << end.err;
  EXPECT_NE(end.out.find("in 1 blocks"), std::string::npos) << end.out;
  expect_refusal(run({"sync", "--to", "-1", "--data", data()}), 2, "--to");
}

TEST_F(Commands, DirectoryOfAnotherOwnerIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  ASSERT_EQ(sync().exit_code, 0);  // makes the directory with mode 0700
  ::chmod(dir_.path().c_str(), 0755);
  for (const char* command : {"status", "sync --to 5"}) {
    const std::string line = "setpriv --reuid 65534 --regid 65534 --clear-groups " +
                             test::coffer() + " " + command + " --data " + data() +
                             " 2>&1 >/dev/null; echo exit $?";
    Process shell({"/bin/sh", "-c", line});
    const std::string said = shell.wait()->out;
    EXPECT_NE(said.find("ermission denied"), std::string::npos) << said;
    EXPECT_NE(said.find("exit 3"), std::string::npos) << said;
  }
}

TEST_F(Commands, RebuildOfMissingDataCreatesNothing) {
  EXPECT_NE(run({"rebuild", "totals", "--data", data("typo")}).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(data("typo")));
}

TEST_F(Commands, StatusFindsAServerOnAWildcardAddress) {
  Process server({test::coffer(), "demo", "--json", "--data", data(), "--listen", "0.0.0.0:0",
                  "--http-behind-proxy"});
  ASSERT_TRUE(server.wait_for_output("\"url\"")) << server.err();
  const Finished status = run({"status", "--data", data()});
  EXPECT_NE(status.out.find("running for"), std::string::npos) << status.out << status.err;
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(20'000)->exit_code, 0);
}

TEST_F(Commands, WritingToPipeOrLinkKeepsIt) {
  Process shell(
      {"/bin/sh", "-c",
       test::coffer() + " devnet write /dev/fd/3 --blocks 3 --format hex 3>" + data("through")});
  EXPECT_EQ(shell.wait()->exit_code, 0) << shell.err();
  std::ofstream(data("target")) << "old";
  std::filesystem::create_symlink(data("target"), data("link"));
  EXPECT_EQ(run({"devnet", "write", data("link"), "--blocks", "3"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(data("link")));
  EXPECT_GT(std::filesystem::file_size(data("target")), 300u);
}

TEST_F(Commands, RebuildRefillsTheConsumer) {
  ASSERT_EQ(sync().exit_code, 0);
  const auto digest = [&] {
    return boost::json::parse(run({"status", "--json", "--data", data()}).out)
        .at("totals")
        .at("digest");
  };
  const auto before = digest();
  expect_refusal(run({"rebuild", "nothing", "--data", data()}), 1,
                 "totals, events, txstore or utxo");
  ASSERT_EQ(run({"rebuild", "totals", "--data", data()}).exit_code, 0);
  EXPECT_NE(digest(), before);
  ASSERT_EQ(sync().exit_code, 0);
  EXPECT_EQ(digest(), before);
}

TEST_F(Commands, DiskFullStopsAndContinuesWithRoom) {
  test::SmallDisk disk(64);
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk);
  // Room for the database to open but not for its blocks.
  ASSERT_TRUE(disk.fill(65'000'000));
  auto big = [&] {
    return run({"sync", "--to", "1000", "--data", disk.path() + "/data", "--devnet-txs-per-block",
                "40", "--log-level", "off"});
  };
  const Finished full = big();
  EXPECT_EQ(full.exit_code, 3) << full.err;
  EXPECT_NE(full.err.find("space"), std::string::npos) << full.err;
  ASSERT_TRUE(disk.free());
  const Finished again = big();
  EXPECT_EQ(again.exit_code, 0) << again.err;
  const Finished fresh = run({"sync", "--to", "1000", "--data", data(), "--devnet-txs-per-block",
                              "40", "--log-level", "off"});
  EXPECT_EQ(again.out.substr(again.out.find("digest")), fresh.out.substr(fresh.out.find("digest")));
}

}  // namespace
}  // namespace coffer
