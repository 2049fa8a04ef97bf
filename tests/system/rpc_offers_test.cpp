// What Bitcoin Core offers and the peer node does not: REST, getzmqnotifications, a cookie. A
// server of ours answers as Core does, from files with real mainnet blocks, and counts what it is
// asked.
#include <boost/json.hpp>
#include <fstream>

#include "base/file.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "crypto/sha256.h"
#include "feed/rpc_source.h"
#include "feed/zmq_test_util.h"
#include "http/test_util.h"
#include "support/bitcoin_node.h"

namespace coffer::feed {
namespace {

namespace bj = boost::json;

const chain::Network kMainnet = chain::find_network("bitcoin", "mainnet").value();
constexpr std::size_t kWorkers = 4;

using test::printed;

enum class Rest : std::uint8_t { kOff, kGood, kOtherBlock, kCut, kNoHeights, kRefuses };

class RecordedNode {
 public:
  RecordedNode(std::vector<Bytes> blocks, Rest rest) : blocks_(std::move(blocks)), rest_(rest) {
    for (const Bytes& block : blocks_) {
      hashes_.push_back(crypto::sha256d(ByteView(block).first(80)));
      heights_[printed(hashes_.back())] = heights_.size();
    }
    tip_ = blocks_.size() - 1;
    http::Router router;
    router.add(http::Method::kPost, "/", [this](const auto& request) { return by_rpc(request); });
    for (const char* path : {"/rest/{what}", "/rest/{what}/{name}"})
      router.add(http::Method::kGet, path,
                 [this](const auto& request) { return by_rest(request); });
    server_ = http::serve(http::any_port(), std::move(router));
  }

  const std::string& address() const { return server_->address(); }
  std::map<std::string, std::size_t> asked() {
    std::lock_guard lock(mutex_);
    return asked_;
  }
  void set_secret(const std::string& authorization) {
    std::lock_guard lock(mutex_);
    authorization_ = authorization;
  }
  // It is all that there is in its mempool from now on.
  void set_mempool(const DevTxPtr& tx) {
    std::lock_guard lock(mutex_);
    mempool_ = {{test::printed(tx->id), to_hex(tx->wire)}};
  }
  void set_tip(std::size_t height) { tip_ = height; }
  void offer(bj::array zmq) { zmq_ = std::move(zmq); }
  const Hash256& hash_at(std::size_t height) const { return hashes_[height]; }

 private:
  void count(const std::string& what) {
    std::lock_guard lock(mutex_);
    ++asked_[what];
  }

  static http::Response answered(bj::value result) {
    return http::json_response(
        bj::serialize(bj::object{{"result", std::move(result)}, {"error", nullptr}, {"id", 1}}));
  }
  static http::Response refused(int code, const char* words) {
    const bj::object error{{"code", code}, {"message", words}};
    return http::json_response(
        bj::serialize(bj::object{{"result", nullptr}, {"error", error}, {"id", 1}}), 500);
  }

  http::Response by_rpc(const http::Request& request) {
    {
      std::lock_guard lock(mutex_);
      if (request.header("Authorization").value_or("") != authorization_)
        return http::text_response("", 401);
    }
    const bj::value question = bj::parse(request.body);
    const std::string method(question.at("method").as_string());
    const bj::array& params = question.at("params").as_array();
    count(method);
    if (method == "getblockchaininfo")
      return answered({{"blocks", tip_.load()}, {"bestblockhash", printed(hashes_[tip_])}});
    if (method == "getblockhash") {
      const auto height = params.at(0).to_number<std::size_t>();
      return height > tip_ ? refused(-8, "Block height out of range")
                           : answered(bj::string(printed(hashes_[height])));
    }
    if (method == "getblock") {
      const auto found = heights_.find(std::string(params.at(0).as_string()));
      return found == heights_.end() ? refused(-5, "Block not found")
                                     : answered(bj::string(to_hex(blocks_[found->second])));
    }
    if (method == "getrawmempool" || method == "getrawtransaction") {
      std::lock_guard lock(mutex_);
      bj::array ids;
      for (const auto& [id, hex] : mempool_) ids.push_back(bj::string(id));
      if (method == "getrawmempool") return answered(ids);
      const auto found = mempool_.find(std::string(params.at(0).as_string()));
      if (found == mempool_.end()) return refused(-5, "No such mempool transaction");
      if (!params.at(1).as_bool()) return answered(bj::string(found->second));
      return answered({{"txid", found->first}, {"hex", found->second}});
    }
    if (method == "getzmqnotifications")  // as with -rpcwhitelist, if nothing was offered
      return zmq_.empty() ? http::text_response("", 403) : answered(zmq_);
    return refused(-32601, "Method not found");
  }

  http::Response by_rest(const http::Request& request) {
    const std::string what(request.path_param("what").value());
    std::string name(request.path_param("name").value_or(""));
    count("rest " + what);
    if (request.header("Authorization")) count("rest with credentials");
    if (rest_ == Rest::kOff) return http::text_response("", 404);
    if (what == "chaininfo.json") return http::json_response(R"({"chain":"main"})");
    if (!name.ends_with(".bin")) return http::text_response("", 404);
    name.resize(name.size() - 4);
    if (rest_ == Rest::kRefuses) return http::text_response("Work queue depth exceeded", 503);
    if (what == "blockhashbyheight" && rest_ != Rest::kNoHeights)
      return raw(hashes_[std::stoul(name)].view());
    if (what != "block") return http::text_response("", 404);
    const std::size_t height = heights_.at(name);
    if (rest_ == Rest::kOtherBlock) return raw(blocks_[height ^ 1]);
    return raw(ByteView(blocks_[height]).first(rest_ == Rest::kCut ? 80 : blocks_[height].size()));
  }
  static http::Response raw(ByteView bytes) {
    http::Response response;
    response.content_type = "application/octet-stream";
    response.body = as_text(bytes);
    return response;
  }

  const std::vector<Bytes> blocks_;
  const Rest rest_;
  std::vector<Hash256> hashes_;
  std::map<std::string, std::size_t> heights_;
  std::atomic<std::size_t> tip_;
  bj::array zmq_;     // set before anybody asks
  std::mutex mutex_;  // guards asked_, mempool_ and authorization_
  std::map<std::string, std::size_t> asked_;
  std::map<std::string, std::string> mempool_;
  std::string authorization_ = "Basic X19jb29raWVfXzpvbmU=";  // __cookie__:one
  std::unique_ptr<http::Server> server_;
};

class RpcOffers : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_DATA_OR_SKIP(directory, "bitcoin/mainnet");
    for (const char* name : {"blk00000.dat", "blk00001.dat"}) {
      const Bytes file = read_file(directory / name, 1u << 20).value();
      for (std::size_t at = 0; at + 8 < file.size();) {  // magic, size, block
        const std::size_t size = load_le<std::uint32_t>(file.data() + at + 4);
        if (size == 0) break;
        ASSERT_LE(at + 8 + size, file.size());
        blocks_.emplace_back(file.begin() + at + 8, file.begin() + at + 8 + size);
        at += 8 + size;
      }
    }
    ASSERT_EQ(blocks_.size(), 600u);
    std::ofstream(cookie()) << "__cookie__:one";
  }
  std::filesystem::path cookie() const { return dir_.path() / ".cookie"; }

  void connect(Rest rest, std::size_t tip = 599, bj::array zmq = {}, int poll_ms = 10) {
    node_.emplace(blocks_, rest);
    node_->set_tip(tip);
    node_->offer(std::move(zmq));
    RpcOptions options;
    options.poll_ms = poll_ms;
    options.fetch.connections = kWorkers;
    source_.emplace(
        RpcEndpoint::parse("http://" + node_->address() + "?cookie=" + cookie().string()).value(),
        kMainnet, system_clock(), options);
  }
  // Takes blocks up to that height and compares each.
  void take_until(std::size_t last) {
    while (taken_ <= last) {
      auto step = source_->next(30'000);
      ASSERT_TRUE(step) << step.error().message;
      auto* forward = std::get_if<NextBlock>(&*step);
      ASSERT_TRUE(forward) << "nothing within 30 seconds";
      ASSERT_EQ(forward->raw, blocks_[taken_++]);
    }
  }

  TempDir dir_;
  std::vector<Bytes> blocks_;
  std::optional<RecordedNode> node_;
  std::optional<RpcSource> source_;
  std::size_t taken_ = 0;
};

TEST_F(RpcOffers, BlocksComeByRestWithoutCredentials) {
  ASSERT_NO_FATAL_FAILURE(connect(Rest::kGood));
  ASSERT_NO_FATAL_FAILURE(take_until(599));
  auto asked = node_->asked();
  EXPECT_EQ(asked["rest chaininfo.json"], 1u);
  EXPECT_EQ(asked["rest block"], 600u);
  EXPECT_EQ(asked["rest blockhashbyheight"], 600u);
  EXPECT_EQ(asked["rest with credentials"], 0u);
  EXPECT_EQ(asked["getblock"], 0u);
  EXPECT_EQ(asked["getblockhash"], 2u) << "only of the network's first block and of the tip";
}

TEST_F(RpcOffers, WithoutRestBlocksComeByRpc) {
  for (const Rest rest :
       {Rest::kOff, Rest::kOtherBlock, Rest::kCut, Rest::kNoHeights, Rest::kRefuses}) {
    SCOPED_TRACE(static_cast<int>(rest));
    taken_ = 0;
    ASSERT_NO_FATAL_FAILURE(connect(rest));
    ASSERT_NO_FATAL_FAILURE(take_until(599));
    auto asked = node_->asked();
    // Each connection finds out once that it is of no use.
    const std::size_t fallen_back =
        rest == Rest::kNoHeights ? asked["getblockhash"] : asked["getblock"];
    EXPECT_GE(fallen_back, 600u);
    EXPECT_LE(asked[rest == Rest::kNoHeights ? "rest blockhashbyheight" : "rest block"], kWorkers);
    EXPECT_EQ(asked["rest with credentials"], 0u);
  }
}

TEST_F(RpcOffers, ZmqEndpointsAreDiscovered) {
  for (const std::string topic : {"sequence", "hashblock"}) {
    SCOPED_TRACE(topic);
    taken_ = 0;
    ZmqPublisher publisher;
    const std::string port = publisher.address().substr(publisher.address().rfind(':'));
    bj::array offers = {bj::object{{"type", "pubrawtx"}, {"address", "tcp://127.0.0.1:1"}},
                        bj::object{{"type", "pubsequence"}, {"address", "ipc:///nowhere"}},
                        bj::object{{"type", 7}}, "nonsense"};
    offers.push_back(bj::object{{"type", "pubhashblock"}, {"address", "tcp://0.0.0.0" + port}});
    if (topic == "sequence")
      offers.push_back(bj::object{{"type", "pubsequence"}, {"address", "tcp://*" + port}});
    ASSERT_NO_FATAL_FAILURE(connect(Rest::kGood, 500, offers, kNever));
    ASSERT_NO_FATAL_FAILURE(take_until(500));
    ASSERT_TRUE(publisher.subscribed({topic}));
    std::uint32_t counter = 7;
    for (const std::size_t tip : {520, 521, 599}) {
      node_->set_tip(tip);
      const Hash256& hash = node_->hash_at(tip);
      publisher.publish(
          topic, topic == "sequence" ? sequence_body(hash, 'C') : hashblock_body(hash), counter++);
      ASSERT_NO_FATAL_FAILURE(take_until(tip));
    }
    EXPECT_EQ(node_->asked()["getzmqnotifications"], 1u);
  }
}

// The same by polling and by notices alone.
TEST_F(RpcOffers, ReplacedTransactionIsDroppedAndItsReplacementSeen) {
  const DevCoin coin{.value = 1'000'000};
  const DevTxPtr first = test::payment(coin, 1'000), second = test::payment(coin, 9'000);
  for (const bool told : {false, true}) {
    SCOPED_TRACE(told);
    taken_ = 0;
    ZmqPublisher publisher;
    bj::array offers;
    if (told)
      offers.push_back(bj::object{{"type", "pubsequence"}, {"address", publisher.address()}});
    ASSERT_NO_FATAL_FAILURE(connect(Rest::kGood, 9, offers, told ? kNever : 10));
    ASSERT_NO_FATAL_FAILURE(take_until(9));
    std::uint32_t counter = 0;
    const auto say = [&](char label, const Hash256& hash) {
      publisher.publish("sequence", sequence_body(hash, label), counter++);
    };
    node_->set_mempool(first);
    if (told) {
      ASSERT_TRUE(publisher.subscribed({"sequence"}));
      say('A', first->id);  // the first message: everything is compared
    }
    EXPECT_EQ(std::get<MempoolAdded>(source_->next(30'000).value()).raw, first->wire);
    for (int i = 0; told && i < 2; ++i) {
      // The node still has it: only a notice that was heard can tell that it goes. Twice, so that
      // nothing of the beginning is left.
      SourceEvent step = Idle{};
      for (int tries = 0; tries < 100 && !std::holds_alternative<MempoolRemoved>(step); ++tries) {
        say('R', first->id);
        step = source_->next(200).value();
      }
      ASSERT_TRUE(std::holds_alternative<MempoolRemoved>(step));
      say('A', first->id);
      EXPECT_EQ(std::get<MempoolAdded>(source_->next(30'000).value()).raw, first->wire);
    }
    const std::size_t compared = node_->asked()["getrawmempool"];
    node_->set_mempool(second);
    if (told) {
      say('R', first->id);
      say('A', second->id);
    }
    EXPECT_EQ(std::get<MempoolRemoved>(source_->next(30'000).value()).id, first->id);
    EXPECT_EQ(std::get<MempoolAdded>(source_->next(30'000).value()).raw, second->wire);
    EXPECT_EQ(node_->asked()["getrawmempool"] == compared, told);
  }
}

TEST_F(RpcOffers, TransactionsGoneDuringOutageAreDropped) {
  const DevCoin coin{.value = 1'000'000};
  const DevTxPtr first = test::payment(coin, 1'000), second = test::payment(coin, 9'000);
  ASSERT_NO_FATAL_FAILURE(connect(Rest::kGood, 9));
  ASSERT_NO_FATAL_FAILURE(take_until(9));
  node_->set_mempool(first);
  EXPECT_EQ(std::get<MempoolAdded>(source_->next(30'000).value()).raw, first->wire);
  node_->set_mempool(second);
  const chain::Point tip{Slot(9), node_->hash_at(9)};
  ASSERT_TRUE(source_->intersect(std::vector{tip}));  // it is met again
  EXPECT_EQ(std::get<MempoolRemoved>(source_->next(30'000).value()).id, first->id);
  EXPECT_EQ(std::get<MempoolAdded>(source_->next(30'000).value()).raw, second->wire);
}

TEST_F(RpcOffers, CookieOfARestartedNodeIsRead) {
  ASSERT_NO_FATAL_FAILURE(connect(Rest::kOff, 300));
  ASSERT_NO_FATAL_FAILURE(take_until(300));
  node_->set_secret("Basic X19jb29raWVfXzp0d28=");  // __cookie__:two
  std::ofstream(cookie(), std::ios::trunc) << "__cookie__:two\n";
  node_->set_tip(599);
  ASSERT_NO_FATAL_FAILURE(take_until(599));
}

}  // namespace
}  // namespace coffer::feed
