// The status page in a real browser, driven through chromedriver.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "http/client.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace bj = boost::json;

// A WebDriver session; ended with its owner.
class Browser {
 public:
  Browser(int port, const std::string& profile)
      : base_("http://127.0.0.1:" + std::to_string(port)) {
    bj::array arguments;
    for (const char* flag :
         {"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
          "--disable-background-networking", "--disable-component-update", "--disable-sync"})
      arguments.emplace_back(flag);
    arguments.emplace_back("--user-data-dir=" + profile);
    const bj::object capabilities = {
        {"capabilities", {{"alwaysMatch", {{"goog:chromeOptions", {{"args", arguments}}}}}}}};
    session_ = base_ + "/session/" +
               std::string(call(http::Method::kPost, base_ + "/session", capabilities)
                               .at("sessionId")
                               .as_string());
  }
  ~Browser() { call(http::Method::kDelete, session_, {}); }

  void open(const std::string& url) {
    call(http::Method::kPost, session_ + "/url", {{"url", url}});
  }
  void resize(int width, int height) {
    call(http::Method::kPost, session_ + "/window/rect", {{"width", width}, {"height", height}});
  }
  // The value of a JavaScript expression.
  bj::value evaluate(const std::string& expression) {
    return call(http::Method::kPost, session_ + "/execute/sync",
                {{"script", "return " + expression}, {"args", bj::array{}}});
  }
  bool wait_until(const std::string& expression, int timeout_ms = 20'000) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
    while (!(evaluate("!!(" + expression + ")") == bj::value(true))) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the page is polled
    }
    return true;
  }
  // A PNG file, for people to look at.
  void screenshot(const std::string& file) {
    const bj::value encoded = call(http::Method::kGet, session_ + "/screenshot", {});
    std::ofstream(file + ".base64") << std::string(encoded.as_string());
    ASSERT_EQ(
        ::system(("base64 -d '" + file + ".base64' > '" + file + "' && rm '" + file + ".base64'")
                     .c_str()),
        0);
  }

 private:
  static bj::value call(http::Method method, const std::string& url, const bj::object& body) {
    http::ClientOptions options;
    options.timeout = std::chrono::milliseconds(60'000);
    if (method == http::Method::kPost) options.body = bj::serialize(body);
    options.headers.push_back({"Content-Type", "application/json"});
    auto answer = http::request(method, url, options);
    if (!answer) throw std::runtime_error(answer.error().message);
    bj::value doc = bj::parse(std::string(answer->content()));
    if (answer->status != 200) throw std::runtime_error(bj::serialize(doc));
    return doc.at("value");
  }
  const std::string base_;
  std::string session_;
};

class Page : public testing::Test {
 protected:
  static bool available() { return std::filesystem::exists("/usr/bin/chromedriver"); }
  std::unique_ptr<test::Process> serve(const std::string& listen,
                                       const std::string& behind_proxy = "false") {
    auto server = std::make_unique<test::Process>(std::vector<std::string>{
        test::coffer(), "demo", "--json", "--data", (dir_.path() / "data").string(), "--listen",
        listen, "--devnet-block-interval-ms", "100", "--devnet-reorg-every", "5",
        "--http-behind-proxy", behind_proxy});
    EXPECT_TRUE(server->wait_for_output("\"url\"")) << server->err();
    return server;
  }
  TempDir dir_;
};

TEST_F(Page, ShowsTheChainAndSurvivesARestart) {
  if (!available()) {
    if (shared_data_required()) FAIL() << "chromedriver is not installed and COFFER_REQUIRE_DATA=1";
    GTEST_SKIP() << "chromedriver is not installed";
  }
  auto server = serve("127.0.0.1:0");
  const std::string url(bj::parse(server->out()).at("url").as_string());
  const int port = test::free_port();
  test::Process driver({"/usr/bin/chromedriver", "--port=" + std::to_string(port)});
  ASSERT_TRUE(driver.wait_for_output("successfully")) << driver.out() << driver.err();
  Browser browser(port, (dir_.path() / "profile").string());
  for (const auto& [width, name] : {std::pair{1280, "desktop"}, std::pair{390, "phone"}}) {
    browser.resize(width, 900);
    browser.open(url + "/");
    EXPECT_TRUE(browser.wait_until("document.querySelectorAll('#events li').length > 3"))
        << "no live blocks";
    EXPECT_TRUE(
        browser.wait_until("document.querySelector('#ready').textContent.trim() == 'ready'"));
    EXPECT_TRUE(
        browser.wait_until("/back to/i.test(document.querySelector('#events').textContent)"))
        << "no rollback shown";
    EXPECT_TRUE(
        browser.wait_until("/^[1-9]/.test(document.querySelector('#utxo-unspent').innerText)"))
        << "no unspent outputs shown";
    const std::string text(browser.evaluate("document.body.innerText").as_string());
    for (const char* expected : {"totals", "events", "devnet", "Unspent outputs", "BTC"})
      EXPECT_NE(text.find(expected), std::string::npos) << expected;
    for (const char* wrong : {"NaN", "undefined", "[object", "null"})
      EXPECT_EQ(text.find(wrong), std::string::npos) << wrong;
    EXPECT_EQ(browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"),
              bj::value(true))
        << "scrolls sideways at " << width;
    if (const char* shots = ::getenv("COFFER_TEST_SCREENSHOTS"))
      browser.screenshot(std::string(shots) + "/" + name + ".png");
  }
  server->kill(SIGKILL);
  server->wait();
  EXPECT_TRUE(browser.wait_until("!document.querySelector('#lost').hidden"))
      << "a lost connection is not said";
  server = serve(url.substr(url.find("127.0.0.1")));
  EXPECT_TRUE(browser.wait_until("document.querySelector('#lost').hidden", 40'000))
      << "does not come back";
  const auto before = browser.evaluate("document.querySelector('#tip-number').textContent");
  EXPECT_TRUE(browser.wait_until("document.querySelector('#tip-number').textContent != '" +
                                 std::string(before.as_string()) + "'"));
  server->kill(SIGTERM);
  EXPECT_EQ(server->wait(20'000)->exit_code, 0) << server->err();
}

// Where reading needs a token the page asks for it, and keeps it for this tab.
TEST_F(Page, SignsInWithATokenForTheTab) {
  if (!available()) {
    if (shared_data_required()) FAIL() << "chromedriver is not installed and COFFER_REQUIRE_DATA=1";
    GTEST_SKIP() << "chromedriver is not installed";
  }
  const auto server = serve("127.0.0.1:0", "true");
  const std::string url(bj::parse(server->out()).at("url").as_string());
  const auto token = read_file(dir_.path() / "data/read-token", 100);
  ASSERT_TRUE(token) << token.error().message;
  const int port = test::free_port();
  test::Process driver({"/usr/bin/chromedriver", "--port=" + std::to_string(port)});
  ASSERT_TRUE(driver.wait_for_output("successfully")) << driver.out() << driver.err();
  Browser browser(port, (dir_.path() / "profile").string());
  const auto is_shown = [&](const std::string& id) {
    return browser.wait_until("!document.querySelector('#" + id + "').hidden");
  };
  const auto sign_in = [&](const std::string& secret) {
    (void)browser.evaluate("document.querySelector('#token').value = '" + secret + "'");
    (void)browser.evaluate("document.querySelector('#sign-in button').click()");
  };
  for (const auto& [width, name] : {std::pair{1280, "sign-in"}, std::pair{390, "sign-in-phone"}}) {
    browser.resize(width, 900);
    browser.open(url + "/");
    EXPECT_TRUE(is_shown("sign-in"));
    EXPECT_EQ(browser.evaluate("document.querySelector('#main').hidden"), bj::value(true));
    EXPECT_EQ(browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth"),
              bj::value(true));
    sign_in(std::string(64, 'e'));
    EXPECT_TRUE(is_shown("refused"));
    if (const char* shots = ::getenv("COFFER_TEST_SCREENSHOTS"))
      browser.screenshot(std::string(shots) + "/" + name + ".png");
  }
  sign_in(std::string(as_text(*token).substr(0, 64)));
  EXPECT_TRUE(is_shown("main"));
  EXPECT_TRUE(browser.wait_until("document.querySelectorAll('#events li').length > 3"));
  if (const char* shots = ::getenv("COFFER_TEST_SCREENSHOTS"))
    browser.screenshot(std::string(shots) + "/signed-in-phone.png");
  browser.open(url + "/");  // the tab remembers
  EXPECT_TRUE(browser.wait_until("document.querySelectorAll('#events li').length > 3"));
  EXPECT_EQ(browser.evaluate("localStorage.length + document.cookie.length"), bj::value(0));
  (void)browser.evaluate("document.querySelector('#sign-out').click()");
  EXPECT_TRUE(is_shown("sign-in"));
  EXPECT_EQ(browser.evaluate("sessionStorage.length"), bj::value(0));
}

}  // namespace
}  // namespace coffer
