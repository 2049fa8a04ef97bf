// /openapi.json of the real program, before a linter that knows nothing of Coffer (tests/openapi).
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>

#include "base/temp_dir.h"
#include "base/test_data.h"
#include "support/daemon.h"

namespace coffer::test {
namespace {

namespace bj = boost::json;

class OpenApiLint : public testing::Test {
 protected:
  void SetUp() override {
    if (std::filesystem::exists("build/peers/openapi/node_modules/@redocly/openapi-core")) return;
    if (shared_data_required()) FAIL() << "the linter is not installed; ./dev test does it";
    GTEST_SKIP() << "the linter is not installed; ./dev test does it";
  }

  Finished lint(const bj::value& document) {
    const auto file = directory_.path() / "openapi.json";
    std::ofstream(file) << bj::serialize(document);
    Process linter({"node", "build/peers/openapi/lint.js", file.string()});
    return linter.wait().value_or(Finished{});
  }

  TempDir directory_;
};

TEST_F(OpenApiLint, DocumentOfAllModulesHasNoFinding) {
  const Daemon daemon(
      (directory_.path() / "data").string(),
      {"--source", "devnet", "--txstore-enabled", "--token-enabled", "--utxo-store", "mmr"});
  const auto answer = http::get(daemon.url() + "/openapi.json");
  ASSERT_TRUE(answer) << answer.error().message;
  bj::value document = bj::parse(std::string(answer->content()));
  const Finished clean = lint(document);
  EXPECT_EQ(clean.exit_code, 0) << clean.out << clean.err;
  EXPECT_EQ(clean.out, "0 errors, 0 warnings\n");

  // The linter sees what is wrong.
  document.at("info").as_object().erase("title");
  const Finished broken = lint(document);
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_NE(broken.out.find("title"), std::string::npos) << broken.out << broken.err;
}

}  // namespace
}  // namespace coffer::test
