// The transaction store under SIGKILL: in bulk sync, in cleanup, in rollbacks and in the resolution
// of conflicts. A run that was killed again and again ends like one that was not.
#include <gtest/gtest.h>

#include <sstream>

#include "base/random.h"
#include "crypto/sha256.h"
#include "support/kill_campaign.h"
#include "support/small_disk.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;

std::string sha256_hex(const std::string& text) {
  return crypto::sha256(as_bytes(text)).hex();
}
using test::Finished;
using Arguments = std::vector<std::string>;

Arguments join(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct StoreMode {
  const char* name;
  const char* chain;
  const char* backend;
  friend std::ostream& operator<<(std::ostream& out, const StoreMode& mode) {
    return out << mode.name;
  }
};

class TxStoreCrash : public testing::TestWithParam<StoreMode> {
 protected:
  int kills() const { return test::long_run() ? 50 : 5; }
  Arguments common(const fs::path& data) const {
    return {"--data", data.string(),       "--txstore-enabled",
            "true",   "--txstore-backend", GetParam().backend};
  }
  // The mined transactions after pruning to completion at the tip. What the mempool and stale
  // branches left (unmined and conflicting ones, what they spend, stamps, blocks off the chain) is
  // not seen again by a run that was down meanwhile.
  std::string fingerprint(const fs::path& data) const {
    const Finished pruned = test::run(join({"tx", "prune"}, common(data)));
    EXPECT_EQ(pruned.exit_code, 0) << pruned.err;
    const Finished dump = test::run(join({"tx", "dump"}, common(data)));
    EXPECT_EQ(dump.exit_code, 0) << dump.err;
    std::string text;
    std::istringstream lines(dump.out);
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::string> fields;
      std::istringstream parts(line);
      for (std::string field; std::getline(parts, field, '|');) fields.push_back(field);
      if (fields.size() == 6 && fields[1] == "mined") text += fields[0] + "\n";
    }
    EXPECT_FALSE(text.empty());
    return sha256_hex(text);
  }
  void expect_sound(const fs::path& data) const {
    if (!fs::exists(data / "db" / "CURRENT")) return;  // killed before there was a database
    const Finished verified = test::run(join({"tx", "verify"}, common(data)));
    // Killed before there was a store in it: that is said, each in its words.
    for (const char* early : {"no transaction store", "no block in", "no database in", "nothing in",
                              "still being created", "not been created", "has no"})
      if (verified.exit_code != 0 && verified.err.find(early) != std::string::npos) return;
    ASSERT_EQ(verified.exit_code, 0) << verified.err;
  }
  void run_campaign(const Arguments& command) {
    test::run_kill_campaign(
        {[&](const fs::path& data) {
           const Arguments settings = {"--chain", GetParam().chain, "--log-level", "warn"};
           return join(join(join({test::coffer()}, command), settings), common(data));
         },
         [&](const fs::path& data) { return fingerprint(data); },
         [&](const fs::path& data) { expect_sound(data); }, kills()});
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, TxStoreCrash,
                         testing::Values(StoreMode{"BitcoinRocksDb", "bitcoin", "rocksdb"},
                                         StoreMode{"BitcoinSqlite", "bitcoin", "sqlite"},
                                         StoreMode{"CardanoRocksDb", "cardano", "rocksdb"}),
                         [](const auto& each) { return std::string(each.param.name); });

// Within the window: one block a commit, with mempool, double spends and reorgs, and with deletion
// once the chain is longer than the window.
TEST_P(TxStoreCrash, KilledAtTipEndsLikeUninterruptedRun) {
  const std::string blocks = GetParam().chain == std::string("bitcoin") ? "420" : "300";
  run_campaign({"sync", "--to", blocks, "--devnet-seed", "5", "--devnet-reorg-every", "8",
                "--devnet-max-reorg-depth", "12"});
}

// A file whose end is known: many blocks share a commit.
TEST_P(TxStoreCrash, KilledBulkSyncEndsLikeUninterruptedOne) {
  if (GetParam().chain != std::string("bitcoin")) GTEST_SKIP() << "one chain is enough";
  TempDir source;
  const std::string file = (source.path() / "chain").string();
  const Finished written =
      test::run({"devnet", "write", file, "--blocks", "700", "--devnet-txs-per-block", "40"});
  ASSERT_EQ(written.exit_code, 0) << written.err;
  run_campaign({"sync", "--source", "file:" + file, "--network", "regtest"});
}

TEST_P(TxStoreCrash, FullDiskStopsAndLosesNothing) {
  TempDir dir;
  test::SmallDisk disk(256);
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk);
  const auto sync = [&](const fs::path& data) {
    return test::run(join({"sync", "--chain", GetParam().chain, "--to", "400",
                           "--devnet-txs-per-block", "40", "--log-level", "warn"},
                          common(data)));
  };
  const Finished fresh = sync(dir.path() / "fresh");
  ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const fs::path data = disk.path() + "/data";
  int stopped = 0;
  for (int round = 0; round < (test::long_run() ? 20 : 2); ++round) {
    fs::remove_all(data);
    const std::uint64_t room = rng.between(2u << 20, 10u << 20);
    ASSERT_TRUE(disk.fill((256ull << 20) - room));
    const Finished full = sync(data);
    if (full.exit_code != 0) {
      ++stopped;
      EXPECT_EQ(full.exit_code, 3) << full.err;
    }
    ASSERT_TRUE(disk.free());
    ASSERT_NO_FATAL_FAILURE(expect_sound(data));
    const Finished again = sync(data);
    ASSERT_EQ(again.exit_code, 0) << again.err;
    ASSERT_EQ(fingerprint(data), fingerprint(dir.path() / "fresh"));
  }
  EXPECT_GT(stopped, 0);
}

}  // namespace
}  // namespace coffer
