// An answer of a node costs memory in proportion to its bytes, whatever is in it.
#include <gtest/gtest.h>

#include "feed/rpc_rest.h"
#include "memory/allocations.h"
#include "support/chain_builder.h"
#include "support/fake_bitcoind.h"

namespace coffer::test {
namespace {

constexpr std::size_t kBodyBytes = 62u << 20;

// The piece again and again, with commas between, up to about that many bytes.
std::string repeated(const std::string& piece, std::size_t bytes) {
  std::string all;
  all.reserve(bytes + piece.size());
  while (all.size() < bytes) {
    if (!all.empty()) all += ',';
    all += piece;
  }
  return all;
}

std::string answer(const std::string& result, const std::string& error = "null") {
  return "{\"result\":" + result + ",\"error\":" + error + ",\"id\":1}\n";
}

class RpcMemory : public testing::Test {
 protected:
  // The most that the call had allocated at any time, in bodies.
  template <typename Call>
  double peak_of(const char* method, const std::string& body, Call call) {
    node_.script(method, rpc_fault::body(body));
    const std::size_t before = allocations.live_bytes;
    allocations.peak_bytes = allocations.live_bytes;
    call(client_);
    EXPECT_EQ(node_.asked(method), ++asked_[method]);
    return static_cast<double>(allocations.peak_bytes - before) / static_cast<double>(body.size());
  }

  ChainBuilder chain_{chain::Family::kBitcoin};
  FakeBitcoind node_{chain_.blocks(), {.rest = true}};
  feed::RpcClient client_{feed::RpcEndpoint::parse(node_.url()).value()};
  std::map<std::string, std::size_t> asked_;
};

TEST_F(RpcMemory, AnswersCostAFewTimesTheirBytes) {
  const std::string id = "\"" + std::string(64, 'a') + "\"";
  const auto zeros = [] { return repeated("0", kBodyBytes); };
  const auto empty = [] { return repeated("{}", kBodyBytes); };
  const auto digits = [] { return std::string(kBodyBytes, 'a'); };
  struct Case {
    const char *name, *method;
    std::function<std::string()> body;  // made when it is used: all of them at once are many
    std::function<bool(feed::RpcClient&)> succeeds;
    bool expected;
  };
  const auto mempool = [](feed::RpcClient& c) { return c.mempool().has_value(); };
  const auto block = [&](feed::RpcClient& c) { return c.block(chain_.hashes()[0]).has_value(); };
  const auto tip = [](feed::RpcClient& c) { return c.tip().has_value(); };
  const auto zmq = [](feed::RpcClient& c) { return c.zmq_offers().has_value(); };
  const auto unmined = [](feed::RpcClient& c) { return c.unmined({}).has_value(); };
  const Case cases[] = {
      {"ids", "getrawmempool", [&] { return answer("[" + repeated(id, kBodyBytes) + "]"); },
       mempool, true},
      {"numbers", "getrawmempool", [&] { return answer("[" + zeros() + "]"); }, mempool, false},
      {"a long string", "getblock", [&] { return answer("\"" + digits() + "\""); }, block, false},
      {"an array", "getblock", [&] { return answer("[" + zeros() + "]"); }, block, false},
      {"more than asked for", "getblockchaininfo",
       [&] {
         return answer("{\"blocks\":1,\"bestblockhash\":" + id + ",\"more\":[" + zeros() + "]}");
       },
       tip, true},
      {"empty objects", "getzmqnotifications", [&] { return answer("[" + empty() + "]"); }, zmq,
       true},
      {"a large transaction", "getrawtransaction",
       [&] { return answer("{\"vin\":[" + empty() + "],\"hex\":\"00\"}"); }, unmined, true},
      {"a long error", "getrawmempool",
       [&] { return answer("null", "{\"message\":\"" + digits() + "\"}"); }, mempool, false},
      {"an odd error", "getrawmempool", [&] { return answer("null", "[" + zeros() + "]"); },
       mempool, false},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const std::string body = one.body();
    bool succeeded = false;
    const double peak =
        peak_of(one.method, body, [&](feed::RpcClient& c) { succeeded = one.succeeds(c); });
    EXPECT_EQ(succeeded, one.expected);
    EXPECT_LT(peak, 3.0) << "times its " << body.size() << " bytes";
  }
}

TEST_F(RpcMemory, RestAnswersCostAFewTimesTheirBytes) {
  feed::RestClient rest(feed::RpcEndpoint::parse(node_.url()).value(), 30'000);
  const std::string body = "{\"more\":[" + repeated("0", 7u << 20) + "]}";
  node_.script("rest chaininfo", rpc_fault::body(body));
  const std::size_t before = allocations.live_bytes;
  allocations.peak_bytes = allocations.live_bytes;
  EXPECT_TRUE(rest.offers());
  EXPECT_LT(static_cast<double>(allocations.peak_bytes - before),
            3.0 * static_cast<double>(body.size()));
}

}  // namespace
}  // namespace coffer::test
