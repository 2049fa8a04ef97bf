// The real program, killed while it builds the UTXO state and while it follows; with a disk that
// fills up; with damaged files. Digests decide.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <thread>

#include "base/random.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "support/kill_campaign.h"
#include "support/process.h"
#include "support/small_disk.h"

namespace coffer {
namespace {

namespace bj = boost::json;
namespace fs = std::filesystem;
using test::Finished;
using test::Process;
using Arguments = std::vector<std::string>;

Arguments operator+(Arguments a, const Arguments& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Count, value, acc, and with the mmr store the root.
std::string fingerprint(const fs::path& data, bool mmr) {
  const Finished digest = test::run({"utxo", "digest", "--json", "--data", data.string()});
  EXPECT_EQ(digest.exit_code, 0) << digest.err;
  if (!mmr) return digest.out;
  const Finished root = test::run({"utxo", "root", "--json", "--data", data.string()});
  EXPECT_EQ(root.exit_code, 0) << root.err;
  return digest.out + root.out;
}

void expect_sound(const fs::path& data) {
  if (!fs::exists(data / "db" / "CURRENT")) return;  // killed before there was a database
  const Finished verified = test::run({"utxo", "verify", "--data", data.string()});
  // Killed before there was a UTXO state in it: that is said, each in its words.
  for (const char* early :
       {"no UTXO state", "no block in", "no database in", "nothing in", "still being created"})
    if (verified.exit_code != 0 && verified.err.find(early) != std::string::npos) return;
  ASSERT_EQ(verified.exit_code, 0) << verified.err;
}

void kill_campaign(const std::function<Arguments(const fs::path&)>& command, bool mmr, int kills) {
  test::run_kill_campaign(
      {command, [&](const fs::path& data) { return fingerprint(data, mmr); }, expect_sound, kills});
}

struct Mode {
  const char* name;
  const char* chain;
  const char* store;
  friend std::ostream& operator<<(std::ostream& out, const Mode& mode) { return out << mode.name; }
};

class UtxoCrash : public testing::TestWithParam<Mode> {
 protected:
  bool mmr() const { return GetParam().store == std::string("mmr"); }
  int kills() const { return test::long_run() ? 50 : 5; }
  Arguments common(const fs::path& data) const {
    return {"--chain",      GetParam().chain, "--data",      data.string(),
            "--utxo-store", GetParam().store, "--log-level", "warn"};
  }
};

INSTANTIATE_TEST_SUITE_P(Stores, UtxoCrash,
                         testing::Values(Mode{"BitcoinClassic", "bitcoin", "classic"},
                                         Mode{"CardanoMmr", "cardano", "mmr"}),
                         [](const auto& each) { return std::string(each.param.name); });

// Blocks whose tip is known from the start: far below it many share a commit, some of them large
// enough for sorted files.
TEST_P(UtxoCrash, KilledBulkSyncEndsLikeUninterruptedOne) {
  TempDir source;
  Arguments from;
  if (GetParam().chain == std::string("bitcoin")) {
    const std::string file = (source.path() / "chain").string();
    const Finished written =
        test::run({"devnet", "write", file, "--blocks", "700", "--devnet-txs-per-block", "100"});
    ASSERT_EQ(written.exit_code, 0) << written.err;
    from = {"--source", "file:" + file, "--network", "regtest"};
  } else {
    COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
    ASSERT_EQ(
        ::system(("tar -xJf '" + archive.string() + "' -C " + source.path().string()).c_str()), 0);
    from = {"--source",  "immutable:" + source.path().string(),       "--network", "preview",
            "--genesis", (archive.parent_path() / "genesis").string()};
  }
  kill_campaign(
      [&](const fs::path& data) {
        return Arguments{test::coffer(),       "sync", "--utxo-rollback-window", "60",
                         "--utxo-prune-depth", "60",   "--utxo-cache-mb",        "16"} +
               from + common(data);
      },
      mmr(), kills());
}

// A chain with reorgs whose tip is where we are.
TEST_P(UtxoCrash, KilledAtTipEndsLikeUninterruptedRun) {
  kill_campaign(
      [&](const fs::path& data) {
        return Arguments{test::coffer(),
                         "sync",
                         "--to",
                         "500",
                         "--devnet-seed",
                         "5",
                         "--devnet-reorg-every",
                         "8",
                         "--devnet-max-reorg-depth",
                         "12",
                         "--chainstate-rollback-window",
                         "200",
                         "--utxo-rollback-window",
                         "40",
                         "--utxo-prune-depth",
                         "20"} +
               common(data);
      },
      mmr(), kills());
}

// Room is taken away at a random moment and given back.
TEST_P(UtxoCrash, FullDiskStopsAndLosesNothing) {
  TempDir dir;
  test::SmallDisk disk(256);
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk);
  const auto sync = [&](const std::string& data) {
    return test::run(Arguments{"sync", "--to", "600", "--devnet-txs-per-block", "40",
                               "--utxo-rollback-window", "100", "--utxo-prune-depth", "100"} +
                     common(data));
  };
  const Finished fresh = sync((dir.path() / "fresh").string());
  ASSERT_EQ(fresh.exit_code, 0) << fresh.err;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const std::string data = disk.path() + "/data";
  int stopped = 0;
  for (int round = 0; round < (test::long_run() ? 20 : 3); ++round) {
    fs::remove_all(data);
    const std::uint64_t room = rng.between(1u << 20, 12u << 20);
    ASSERT_TRUE(disk.fill((256ull << 20) - room - 4096ull * 16));
    const Finished full = sync(data);
    if (full.exit_code != 0) {
      ++stopped;
      EXPECT_EQ(full.exit_code, 3) << full.err;
      EXPECT_NE(full.err.find("space"), std::string::npos) << full.err;
    }
    ASSERT_TRUE(disk.free());
    const Finished again = sync(data);
    ASSERT_EQ(again.exit_code, 0) << again.err;
    ASSERT_EQ(fingerprint(data, mmr()), fingerprint(dir.path() / "fresh", mmr()));
    ASSERT_NO_FATAL_FAILURE(expect_sound(data));
  }
  EXPECT_GT(stopped, 0);
}

}  // namespace
}  // namespace coffer
