// An engine is one directory: dropped into a copy of the tree, it compiles, migrates and appears in
// help, status and /openapi.json, with no edit elsewhere.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/result.h"
#include "base/temp_dir.h"
#include "http/client.h"
#include "support/process.h"

namespace coffer::test {
namespace {

namespace fs = std::filesystem;

// Runs a program to its end; its output.
std::string succeed(const std::vector<std::string>& command, int timeout_ms = 60'000) {
  Process process(command);
  const auto end = process.wait(timeout_ms);
  EXPECT_TRUE(end && end->exit_code == 0) << fmt::format("{}", fmt::join(command, " ")) << "\n"
                                          << process.out() << process.err();
  return process.out();
}

class DummyEngine : public ::testing::Test {
 protected:
  // The copy, with the engine in src/dummy. Libraries of the engines and kernels that are there
  // already come from this build: their code is the same.
  void build() {
    for (const char* part :
         {"CMakeLists.txt", "LICENSE", "README.md", "cmake", "include", "src", "web"})
      fs::copy(part, tree_ / part, fs::copy_options::recursive);
    fs::copy("tests/system/dummy_engine", tree_ / "src/dummy", fs::copy_options::recursive);
    const std::string built = fs::path(coffer()).parent_path().string();
    succeed({"cmake", "-S", tree_.string(), "-B", (tree_ / "build").string(), "-G", "Ninja",
             "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O0", "-DCOFFER_TESTS=OFF",
             "-DCOFFER_PCH=OFF", "-DCOFFER_UNITY=ON", "-DCOFFER_PREBUILT=" + built});
    succeed({"cmake", "--build", (tree_ / "build").string(), "--target", "coffer"}, 600'000);
    program_ = (tree_ / "build/coffer").string();
  }

  TempDir dir_;
  const fs::path tree_ = dir_.path() / "tree";
  std::string program_;
};

TEST_F(DummyEngine, NeedsNoEditElsewhere) {
  fs::create_directories(tree_);
  ASSERT_NO_FATAL_FAILURE(build());
  if (HasFailure()) return;
  const std::string data = (dir_.path() / "data").string();
  const std::string tests = fs::read_symlink("/proc/self/exe").string();
  succeed({"sh", "-c",
           fmt::format("cd {} && {} --gtest_filter='Layout.*Design'", tree_.string(), tests)});

  EXPECT_NE(succeed({program_, "help"}).find("  dummy     Count visits\n"), std::string::npos);
  EXPECT_NE(succeed({program_, "settings"}).find("dummy.database"), std::string::npos);
  const std::string migrated = succeed({program_, "db", "migrate", "--data", data});
  EXPECT_NE(migrated.find("applied dummy 1 counters\n"), std::string::npos) << migrated;
  EXPECT_NE(succeed({program_, "db", "status", "--data", data}).find("dummy 1 counters"),
            std::string::npos);
  EXPECT_EQ(succeed({program_, "dummy", "visits", "--data", data}), "42\n");

  Process daemon({program_, "demo", "--json", "--data", data, "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(daemon.wait_for_output("\"url\"")) << daemon.err();
  const std::string status = succeed({program_, "status", "--data", data});
  EXPECT_NE(status.find("visits    42\n"), std::string::npos) << status;
  const std::string said = daemon.out();
  const std::size_t begin = said.find("http://"), end = said.find('"', begin);
  const std::string url = said.substr(begin, end - begin);
  const auto openapi = http::get(url + "/openapi.json");
  ASSERT_TRUE(openapi) << openapi.error().message;
  EXPECT_NE(openapi->content().find("\"/api/v1/visits\""), std::string::npos);
  EXPECT_NE(openapi->content().find("\"DummyStatus\""), std::string::npos);
  const auto visits = http::get(url + "/api/v1/visits");
  ASSERT_TRUE(visits) << visits.error().message;
  EXPECT_EQ(visits->content(), R"({"visits":42})");
}

}  // namespace
}  // namespace coffer::test
