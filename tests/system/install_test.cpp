// What `cmake --install` puts down is enough to embed Coffer: every public header compiles alone,
// also beside headers of others with the names of our private ones, and the examples build and run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "support/process.h"
#include "support/shell.h"

namespace coffer::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostHeaders = 35;

// The output of a command of the shell that must succeed.
std::string succeed_in_shell(const std::string& command, int timeout_ms = 300'000) {
  Process process({"sh", "-c", command});
  const auto end = process.wait(timeout_ms);
  EXPECT_TRUE(end && end->exit_code == 0) << command << "\n" << process.out() << process.err();
  return process.out();
}

class Installed : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir = new TempDir;
    succeed_in_shell(fmt::format("cmake --install {} --prefix {}",
                                 fs::path(coffer()).parent_path().string(), prefix().string()));
  }
  static void TearDownTestSuite() {
    delete dir;
    dir = nullptr;
  }

  static fs::path prefix() { return dir->path() / "prefix"; }
  // As they are included: "coffer/wallet/store.h".
  static std::vector<std::string> headers() {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(prefix() / "include"))
      if (entry.is_regular_file())
        found.push_back(fs::relative(entry.path(), prefix() / "include").string());
    std::ranges::sort(found);
    return found;
  }

  static TempDir* dir;
};
TempDir* Installed::dir = nullptr;

TEST_F(Installed, HeadersAreFewAndListed) {
  const auto text = read_file("docs/library.md", 1u << 20);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_LE(headers().size(), kMostHeaders);
  for (const std::string& header : headers())
    EXPECT_NE(as_text(*text).find("`<" + header + ">`"), std::string_view::npos)
        << "docs/library.md does not list " << header;
}

TEST_F(Installed, HeadersCompileAlone) {
  // The names of private headers may be taken by the program that embeds Coffer.
  const fs::path foreign = dir->path() / "foreign";
  for (const char* name : {"base/result.h", "base/check.h", "sql/connection.h"}) {
    fs::create_directories((foreign / name).parent_path());
    std::ofstream(foreign / name) << "#error \"not ours\"\n";
  }
  const fs::path list = dir->path() / "headers.txt";
  {
    std::ofstream out(list);
    for (const std::string& header : headers()) out << header << "\n";
  }
  // -MD lists what each includes: neither fmt nor a macro of ours is behind them.
  const std::string compile =
      "name=$(echo {} | tr / _) && echo \"#include <{}>\" > $name.cpp && "
      "g++ -std=c++23 -fsyntax-only -Wall -Wextra -Werror -I../foreign -I../prefix/include "
      "-MD -MF $name.d $name.cpp && ! grep -q /fmt/ $name.d && "
      "echo '#if defined(TRY) || defined(CHECK)\n#error macro\n#endif' >> $name.cpp && "
      "g++ -std=c++23 -E -I../foreign -I../prefix/include $name.cpp > /dev/null";
  succeed_in_shell(
      fmt::format("mkdir -p {0}/alone && cd {0}/alone && xargs -P 2 -I '{{}}' sh -ec {1} < {2}",
                  dir->path().string(), shell_word(compile), list.string()));
}

TEST_F(Installed, ExamplesBuildAndRun) {
  const std::string build = (dir->path() / "examples").string();
  succeed_in_shell(
      fmt::format("cmake -S examples -B {0} -DCMAKE_PREFIX_PATH={1} && cmake --build {0} -j 2",
                  build, prefix().string()));
  const std::string followed = succeed_in_shell(fmt::format("{0}/follow_utxo {0}/utxo", build));
  EXPECT_TRUE(followed.starts_with("block 200, ")) << followed;
  EXPECT_NE(followed.find(" holds "), std::string::npos) << followed;
  const std::string wallet = succeed_in_shell(fmt::format("{0}/wallet {0}/wallet.db", build));
  EXPECT_NE(wallet.find("confirmed "), std::string::npos) << wallet;
  EXPECT_NE(wallet.find("leased "), std::string::npos) << wallet;
  // The library is silent unless it is given a sink.
  EXPECT_EQ(succeed_in_shell(fmt::format("{0}/follow_utxo {0}/quiet 2>&1 >/dev/null", build)), "");
}

TEST_F(Installed, UnknownComponentIsRefused) {
  const fs::path project = dir->path() / "unknown";
  fs::create_directories(project);
  std::ofstream(project / "CMakeLists.txt")
      << "cmake_minimum_required(VERSION 3.25)\nproject(p LANGUAGES C CXX)\n"
         "find_package(coffer REQUIRED COMPONENTS wallet tulips)\n";
  Process process({"cmake", "-S", project.string(), "-B", (project / "build").string(),
                   "-DCMAKE_PREFIX_PATH=" + prefix().string()});
  const auto end = process.wait(60'000);
  ASSERT_TRUE(end);
  EXPECT_NE(end->exit_code, 0);
  EXPECT_NE(process.err().find("tulips"), std::string::npos) << process.err();
}

}  // namespace
}  // namespace coffer::test
