// The status page in a real browser.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>

#include "base/temp_dir.h"
#include "base/test_data.h"
#include "process.h"

namespace coffer {
namespace {

TEST(Page, ShowsTheChainInABrowser) {
  if (!std::filesystem::exists("/usr/bin/chromium")) {
    if (shared_data_required()) FAIL() << "chromium is not installed and COFFER_REQUIRE_DATA=1";
    GTEST_SKIP() << "chromium is not installed";
  }
  TempDir dir;
  test::Process server({test::coffer(), "demo", "--json", "--data", (dir.path() / "data").string(), "--listen",
                        "127.0.0.1:0", "--devnet-block-interval-ms", "200"});
  ASSERT_TRUE(server.wait_for_output("\"url\"")) << server.err();
  const std::string url(boost::json::parse(server.out()).at("url").as_string());
  test::Process browser({"/usr/bin/chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
                         "--no-first-run", "--disable-background-networking", "--disable-component-update",
                         "--disable-sync", "--user-data-dir=" + (dir.path() / "profile").string(), "--timeout=8000",
                         "--dump-dom", url + "/"});
  const auto end = browser.wait(90'000);
  ASSERT_TRUE(end);
  const std::string& dom = end->out;
  for (const char* text : {"devnet", "totals", "events"})
    EXPECT_NE(dom.find(text), std::string::npos) << text;
  for (const char* text : {"NaN", "undefined", "[object"}) EXPECT_EQ(dom.find(">" + std::string(text)), std::string::npos) << text;
  const std::size_t list = dom.find("id=\"events\"");
  ASSERT_NE(list, std::string::npos);
  EXPECT_LT(dom.find("<li", list), dom.find("</ul>", list)) << "no live block in the page";
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(20'000)->exit_code, 0);
}

}  // namespace
}  // namespace coffer
