// A node-to-client peer that serves real blocks, with roll-backs, is followed to its tip through
// the whole flow; it dies on the way and comes back. The immutable database gives the same chain.
#include <gtest/gtest.h>
#include <signal.h>

#include <coffer/follow/follower.h>
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/immutable_source.h"
#include "feed/n2c_source.h"
#include "support/process.h"
#include "support/stores_fixture.h"

namespace coffer::tests {
namespace {

constexpr std::uint64_t kBlocks = 432;  // of the first two chunks
constexpr std::uint64_t kDiesAfter = 200;

// Counts what passes through.
class Counted final : public feed::Source {
 public:
  explicit Counted(feed::Source& source) : source_(source) {}
  std::string describe() const override { return source_.describe(); }
  Result<chain::Point> intersect(std::span<const chain::Point> points) override {
    auto met = source_.intersect(points);
    meetings += met.has_value();
    return met;
  }
  Result<feed::SourceEvent> next(int timeout_ms) override {
    auto step = source_.next(timeout_ms);
    if (step && std::holds_alternative<feed::NextBlock>(*step)) ++forwards;
    if (step && std::holds_alternative<feed::RolledBack>(*step)) {
      ++backwards;
      to_origin += std::get<feed::RolledBack>(*step).to.is_origin();
    }
    return step;
  }
  std::optional<std::uint64_t> tip_number() const override { return source_.tip_number(); }
  void interrupt() override { source_.interrupt(); }

  std::uint64_t meetings = 0, forwards = 0, backwards = 0, to_origin = 0;

 private:
  feed::Source& source_;
};

struct Followed {
  Hash256 chain, totals;
  std::uint64_t blocks = 0;
  friend bool operator==(const Followed&, const Followed&) = default;
};

// Until the source ends or `on_block`, called with the follower and the tip, stops it.
Followed follow(
    feed::Source& source, const chain::Network& network,
    const std::function<void(follow::Follower&, const chainstate::HeaderInfo&)>& on_block) {
  TempDir dir;
  test::Stores stores(dir.path(), network, network.rollback_window);
  bus::Bus bus;
  bus.add(*stores.totals);
  bus.add(*stores.events);
  bus.start();
  follow::Follower* running = nullptr;
  follow::Follower follower(source, network, *stores.chain, bus,
                            {.retry = {.first_pause_ms = 10},
                             .on_connected = [&](const auto& tip) { on_block(*running, tip); }});
  running = &follower;
  const Result<> done = follower.run();
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(bus.drain());
  bus.stop();
  EXPECT_TRUE(stores.chain->verify());
  return {stores.chain->digest().value(), stores.totals->current().digest,
          stores.totals->position().block_count()};
}

TEST(N2c, FollowsPeerThroughRollbacksAndDeath) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  const std::string server = "build/peers/cardano-chainsync/server.js";
  if (!std::filesystem::exists("build/peers/cardano-chainsync/node_modules")) {
    if (shared_data_required()) FAIL() << "the peer is not installed and COFFER_REQUIRE_DATA=1";
    GTEST_SKIP() << "the peer is not installed; ./dev test does it where shared/peers is there";
  }
  TempDir all, two, run;
  test::Process tar({"tar", "-C", all.path().string(), "-xf", archive.string()});
  ASSERT_EQ(tar.wait().value().exit_code, 0);
  for (const char* name : {"00000.chunk", "00000.primary", "00000.secondary", "00001.chunk",
                           "00001.primary", "00001.secondary"})
    std::filesystem::copy_file(all.path() / name, two.path() / name);
  const chain::Network network = chain::find_network("cardano", "preview").value();
  feed::ImmutableSource immutable({.directory = two.path(), .network = network});
  const Followed expected = follow(immutable, network, [](follow::Follower&, const auto&) {});
  ASSERT_EQ(expected.blocks, kBlocks);

  for (const int pipeline : {1, 32}) {
    SCOPED_TRACE("pipeline " + std::to_string(pipeline));
    const std::string socket = (run.path() / "node.socket").string();
    std::unique_ptr<test::Process> peer;
    const auto start = [&] {
      peer = std::make_unique<test::Process>(
          std::vector<std::string>{"node", server, socket, two.path().string(), "0", "1", "20"});
      return peer->wait_for_output("ready on");
    };
    ASSERT_TRUE(start()) << peer->err();
    feed::N2cSource n2c({.socket = socket,
                         .network_magic = network.cardano.magic,
                         .answer_timeout_ms = 20'000,
                         .pipeline = pipeline},
                        system_clock());
    Counted source(n2c);
    bool died = false;
    const auto on_block = [&](follow::Follower& follower, const chainstate::HeaderInfo& tip) {
      if (tip.number.value + 1 == kBlocks) follower.stop();
      if (tip.number.value != kDiesAfter || died) return;
      died = true;
      peer->kill(SIGKILL);
      peer->wait();
      EXPECT_TRUE(start()) << peer->err();
    };
    const Followed followed = follow(source, network, on_block);
    EXPECT_EQ(followed, expected);
    EXPECT_TRUE(died);
    EXPECT_EQ(source.tip_number(), kBlocks - 1);
    EXPECT_EQ(source.meetings, 2u);
    EXPECT_EQ(source.to_origin, 1u);  // the first answer of all
    EXPECT_GE(source.forwards, 300u);
    EXPECT_GE(source.backwards, 10u);
  }
}

}  // namespace
}  // namespace coffer::tests
