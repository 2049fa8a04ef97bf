// A source that slips in every scripted way, and a daemon that is killed in between, end where a
// quiet run does. A few seconds for each chain; 20 minutes in all with --long. A failed seed is
// replayed with COFFER_SEED.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>

#include "base/random.h"
#include "base/temp_dir.h"
#include "support/daemon.h"
#include "support/fake_bitcoind.h"
#include "support/fake_n2c_peer.h"

namespace coffer {
namespace {

using test::Daemon;
using test::run;

constexpr std::int64_t kShortMs = 15'000, kLongMs = 600'000;  // for each chain

// A fake node over a simulated chain, and what it can do wrong.
class SlippingNode {
 public:
  virtual ~SlippingNode() = default;
  virtual void apply(const feed::Emission& emission) = 0;
  // Some answer will be wrong, late or missing, once or twice.
  virtual void slip(Rng& rng) = 0;
  // Until it behaves: a tip that is not there, or blocks that are no longer there.
  virtual void lie(Rng& rng) = 0;
  virtual void refuse(bool refuse) = 0;
  virtual void cut() = 0;
  // Honest from here on. Only the long run waits until a call that hangs has timed out.
  virtual void behave() = 0;
  virtual std::size_t slips() const = 0;
  // Whether every slip was met within the time.
  virtual bool wait_slipped(int timeout_ms) = 0;
  virtual std::vector<std::string> source() const = 0;
};

class SlippingBitcoind final : public SlippingNode {
 public:
  explicit SlippingBitcoind(const Bytes& first, bool rest)
      : node_({first}, {.rest = rest}), first_(first) {}
  void apply(const feed::Emission& emission) override { node_.apply(emission); }
  void slip(Rng& rng) override {
    namespace fault = test::rpc_fault;
    const test::RpcFault faults[] = {fault::corrupt(),
                                     fault::bad_hex(),
                                     fault::truncated_json(),
                                     fault::status(500),
                                     fault::status(401),
                                     fault::status(403),
                                     fault::error(-1, "no"),
                                     fault::error(-28, "busy"),
                                     fault::body("<html>"),
                                     fault::result("null"),
                                     fault::of_block(first_),
                                     fault::twice(),
                                     fault::error(-1, "Block not available (pruned data)"),
                                     fault::cut(),
                                     fault::close(),
                                     fault::hang(),
                                     fault::late(300)};
    const char* const calls[] = {
        "getblock",          "getblockhash", "getblockchaininfo",     "getrawmempool",
        "getrawtransaction", "rest block",   "rest blockhashbyheight"};
    node_.script(calls[rng.below(std::size(calls))], faults[rng.below(std::size(faults))],
                 {.times = 1 + rng.below(2), .after = rng.below(3)});
  }
  void lie(Rng& rng) override {
    Hash256 nowhere{};
    nowhere.fill(9);
    switch (rng.below(4)) {
      case 0: node_.prune_below(1 + rng.below(node_.height() + 1)); break;
      case 1: node_.report_tip(feed::RpcTip{.height = ~0u, .hash = node_.tip_hash()}); break;
      case 2: node_.report_tip(feed::RpcTip{.height = node_.height() + 1, .hash = nowhere}); break;
      default: node_.report_tip(feed::RpcTip{.height = 0, .hash = node_.tip_hash()});
    }
  }
  void refuse(bool refuse) override { node_.refuse_connections(refuse); }
  void cut() override { node_.close_connections(); }
  void behave() override {
    node_.clear_script();
    node_.prune_below(0);
    node_.report_tip(std::nullopt);
    if (!test::long_run()) cut();
  }
  std::size_t slips() const override { return node_.faults(); }
  bool wait_slipped(int timeout_ms) override { return node_.wait_used(timeout_ms); }
  std::vector<std::string> source() const override {
    return {"--network", "regtest", "--source", "rpc:" + node_.url()};
  }

 private:
  test::FakeBitcoind node_;
  const Bytes first_;
};

class SlippingCardanoNode final : public SlippingNode {
 public:
  SlippingCardanoNode(const std::filesystem::path& directory, const feed::DevnetChain& devnet,
                      const Bytes& first)
      : directory_(directory),
        first_(first),
        peer_(directory / "node.socket", chain::find_network("cardano", "devnet").value(),
              {first}) {
    boost::json::object funds;
    for (const chain::GenesisUtxo& utxo : devnet.genesis_utxos())
      funds[to_hex(utxo.address)] = utxo.amount.value;
    std::ofstream(directory / "shelley-genesis.json")
        << boost::json::serialize(boost::json::object{{"networkMagic", 42},
                                                      {"systemStart", "2024-01-02T03:04:05Z"},
                                                      {"slotLength", 1},
                                                      {"epochLength", 500},
                                                      {"initialFunds", funds}});
  }
  void apply(const feed::Emission& emission) override {
    if (emission.rolled_back == 0)
      peer_.extend({emission.block});
    else
      peer_.reorganize(emission.height - 1, {emission.block});
  }
  void slip(Rng& rng) override {
    namespace fault = test::n2c_fault;
    Hash256 nowhere{};
    nowhere.fill(9);
    const test::N2cFault of_blocks[] = {fault::corrupt_block(), fault::wrong_prev(),
                                        fault::wrong_era(), fault::other_block(first_),
                                        fault::roll_back_to({Slot(5), nowhere})};
    const test::N2cFault of_any[] = {
        fault::message({0xff}), fault::protocol(7),      fault::wrong_direction(),
        fault::split(1),        fault::twice(),          fault::empty_segments(50),
        fault::cut(),           fault::close(),          fault::hang(),
        fault::late(300),       fault::tip_number(~0ull)};
    const char* const calls[] = {"forward", "forward", "backward", "intersect", "handshake"};
    const test::When when{.times = 1 + rng.below(2), .after = rng.below(3)};
    if (rng.one_in(10))
      peer_.script("handshake", fault::refuse("not now"), when);
    else if (rng.one_in(3))
      peer_.script("forward", of_blocks[rng.below(std::size(of_blocks))], when);
    else
      peer_.script(calls[rng.below(std::size(calls))], of_any[rng.below(std::size(of_any))], when);
  }
  void lie(Rng& rng) override {
    const std::uint64_t numbers[] = {0, 1, 1'000'000, ~0ull};
    peer_.report_tip_number(numbers[rng.below(std::size(numbers))]);
  }
  void refuse(bool refuse) override { peer_.refuse_connections(refuse); }
  void cut() override { peer_.close_connections(); }
  void behave() override {
    peer_.clear_script();
    peer_.report_tip_number(std::nullopt);
    if (!test::long_run()) cut();
  }
  std::size_t slips() const override { return peer_.faults(); }
  bool wait_slipped(int timeout_ms) override { return peer_.wait_used(timeout_ms); }
  std::vector<std::string> source() const override {
    return {"--chain",   "cardano",           "--network", "mine",
            "--genesis", directory_.string(), "--source",  "n2c:" + peer_.socket().string()};
  }

 private:
  const std::filesystem::path directory_;
  const Bytes first_;
  test::FakeN2cPeer peer_;
};

class Soak : public testing::TestWithParam<chain::Family> {
 protected:
  std::string data(const char* name) const { return (dir_.path() / name).string(); }
  std::unique_ptr<SlippingNode> make_node(const feed::DevnetChain& devnet, const Bytes& first,
                                          bool rest) const {
    if (GetParam() == chain::Family::kBitcoin)
      return std::make_unique<SlippingBitcoind>(first, rest);
    return std::make_unique<SlippingCardanoNode>(dir_.path(), devnet, first);
  }
  // Digests of the totals and of the UTXO state.
  std::string digests(const char* name) const {
    const auto status = boost::json::parse(run({"status", "--json", "--data", data(name)}).out);
    return boost::json::serialize(status.at("totals").at("digest")) +
           run({"utxo", "digest", "--data", data(name)}).out;
  }
  TempDir dir_;
};

TEST_P(Soak, EndsLikeUndisturbedRun) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  feed::DevnetChain devnet({.family = GetParam(),
                            .seed = seed,
                            .txs_per_block = 5,
                            .reorg_every = 8,
                            .max_reorg_depth = 6});
  const feed::Emission first = devnet.next();
  const auto node = make_node(devnet, first.block, rng.one_in(2));
  std::optional<Daemon> daemon;
  daemon.emplace(data("soaked"), node->source());
  Hash256 tip = first.hash;
  const auto caught_up = [&] {
    const std::string wanted = chain::display(GetParam(), tip);
    return daemon->eventually(
        [&] { return daemon->tip_hash() == wanted && daemon->has_caught_up(); }, 120'000);
  };
  const std::int64_t end_ms = system_clock().steady_ms() + (test::long_run() ? kLongMs : kShortMs);
  int kills = 0, waits = 0, lies = 0;
  // A busy machine gets more time, until something has gone wrong.
  while (system_clock().steady_ms() < end_ms ||
         (node->slips() < 4 && system_clock().steady_ms() < end_ms + 120'000)) {
    for (std::uint64_t more = 1 + rng.below(4); more > 0; --more) {
      const feed::Emission emission = devnet.next();
      node->apply(emission);
      tip = emission.hash;
    }
    switch (rng.below(12)) {
      case 0:
        daemon->process().kill(SIGKILL);
        (void)daemon->process().wait();
        daemon.emplace(data("soaked"), node->source());
        ++kills;
        break;
      case 1: node->cut(); break;
      case 2:
        node->refuse(true);
        node->cut();
        ASSERT_TRUE(daemon->eventually([&] { return daemon->health("ready") == 503; }, 120'000));
        node->refuse(false);
        break;
      case 3:
      case 4:
        node->behave();
        ASSERT_TRUE(caught_up()) << daemon->log();
        ++waits;
        break;
      case 5:
        node->lie(rng);
        ++lies;
        break;
      default:
        for (std::uint64_t more = 1 + rng.below(3); more > 0; --more) node->slip(rng);
        // Mostly the daemon meets them before anything else happens.
        if (!rng.one_in(4)) (void)node->wait_slipped(3'000);
    }
    ASSERT_TRUE(daemon->process().running()) << daemon->log();
    ASSERT_EQ(daemon->health("live"), 200);
  }
  node->behave();
  // A reorg may have left the chain shorter than it was; one more block settles that.
  do {
    const feed::Emission emission = devnet.next();
    node->apply(emission);
    tip = emission.hash;
  } while (devnet.best().back() != tip || devnet.best().size() < 12);
  ASSERT_TRUE(caught_up()) << daemon->log();
  EXPECT_EQ(daemon->stop(), 0);
  EXPECT_GT(node->slips(), 3u);
  std::vector<std::string> quiet = {"sync", "--data", data("quiet")};
  for (const std::string& each : node->source()) quiet.push_back(each);
  ASSERT_EQ(run(quiet).exit_code, 0);
  EXPECT_EQ(digests("soaked"), digests("quiet"));
  std::printf("%zu slips, %d lies, %d kills, %d waits, %zu blocks\n", node->slips(), lies, kills,
              waits, devnet.best().size());
}

INSTANTIATE_TEST_SUITE_P(Chains, Soak,
                         testing::Values(chain::Family::kBitcoin, chain::Family::kCardano),
                         [](const auto& param) {
                           return param.param == chain::Family::kBitcoin ? "Bitcoin" : "Cardano";
                         });

}  // namespace
}  // namespace coffer
