// coffer tx rebuild: the store is emptied and filled again, and what people did is carried across.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>

#include "base/temp_dir.h"
#include "support/process.h"
#include "txstore/commands/open_store.h"
#include "txstore/settings.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::Finished;
using test::run;

struct Kind {
  const char* name;
  const char* chain;
  const char* backend;
  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

class TxRebuild : public testing::TestWithParam<Kind> {
 protected:
  static constexpr std::uint64_t kHeight = 350;

  std::string data() const { return (dir_.path() / "data").string(); }
  Finished coffer(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--data", data(), "--txstore-backend", GetParam().backend});
    return run(arguments);
  }
  void sync() const {
    // Without reorgs: a rebuild hears nothing of branches that were left.
    const Finished end =
        coffer({"sync", "--chain", GetParam().chain, "--to", std::to_string(kHeight),
                "--devnet-reorg-every", "0", "--txstore-enabled"});
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }
  std::string text(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "tx");
    const Finished end = coffer(std::move(arguments));
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  bj::value as_json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return bj::parse(text(std::move(arguments)));
  }
  // Id, state and height of what blocks have, as `dump` prints them. Stamps and spends depend on
  // the mempool, of which a rebuild sees nothing.
  std::vector<std::string> mined_lines() const {
    std::vector<std::string> mined;
    std::istringstream lines(text({"dump"}));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t state = line.find("|mined|");
      if (state == std::string::npos) continue;
      mined.push_back(line.substr(0, line.find('|', state + 7)));
    }
    return mined;
  }
  // The store itself: there is no command that locks.
  txstore::OpenStore open() const {
    config::Config config;
    config.data_dir = data();
    config.chain = GetParam().chain;
    config.edit<txstore::Settings>().backend = GetParam().backend;
    return txstore::OpenStore::open(config, txstore::OpenFor::kWriting).value();
  }

  TempDir dir_;
};

INSTANTIATE_TEST_SUITE_P(Stores, TxRebuild,
                         testing::Values(Kind{"BitcoinRocksDb", "bitcoin", "rocksdb"},
                                         Kind{"BitcoinSqlite", "bitcoin", "sqlite"},
                                         Kind{"CardanoRocksDb", "cardano", "rocksdb"}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_P(TxRebuild, MarksAreCarriedAcross) {
  ASSERT_NO_FATAL_FAILURE(sync());
  using txstore::Outcome;
  Hash256 preserved{};
  chain::Outpoint frozen, reassigned;
  const Hash256 new_hash = Hash256::from(Bytes(32, 7).data());
  txstore::NewTx loose;  // as if the mempool had it
  loose.id = Hash256::from(Bytes(32, 8).data());
  loose.raw = {8};
  loose.outputs.resize(1);
  {
    const txstore::OpenStore opened = open();
    txstore::Store& store = *opened.store;
    std::vector<chain::Outpoint> unspent;
    ASSERT_TRUE(store.for_each([&](const txstore::StoredTx& tx) -> Result<bool> {
      if (tx.state != txstore::State::kMined || tx.genesis) return true;
      if (tx.delete_at_height) preserved = tx.id;
      if (tx.outputs > 0 && tx.unspent() == tx.outputs) unspent.push_back({tx.id, tx.outputs - 1});
      return true;
    }));
    ASSERT_GE(unspent.size(), 3u);
    frozen = unspent[0];
    reassigned = unspent[1];
    loose.inputs = {unspent[2]};
    const auto outputs = store.outputs(reassigned.tx, reassigned.index, 1).value();
    EXPECT_EQ(store.create(std::vector{loose})->front().outcome, Outcome::kDone);
    EXPECT_EQ(store.lock(std::vector{loose.id})->front().outcome, Outcome::kDone);
    EXPECT_EQ(store.preserve(std::vector{preserved}, 100'000)->front().outcome, Outcome::kDone);
    EXPECT_EQ(store.freeze(std::vector{frozen, reassigned})->front().outcome, Outcome::kDone);
    const std::vector<txstore::Reassignment> reassignment{
        {reassigned, outputs.front().hash, new_hash}};
    EXPECT_EQ(store.reassign(reassignment)->front().outcome, Outcome::kDone);
  }
  const std::vector<std::string> before = mined_lines();
  ASSERT_FALSE(before.empty());

  EXPECT_NE(text({"rebuild"}).find("the next start fills it again"), std::string::npos);
  EXPECT_EQ(as_json({"stats"}).at("records").to_number<int>(), 0);
  ASSERT_NO_FATAL_FAILURE(sync());

  EXPECT_EQ(mined_lines(), before);
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
  EXPECT_EQ(as_json({"stats"}).at("parent_missing").to_number<int>(), 0);
  const txstore::OpenStore opened = open();
  txstore::Store& store = *opened.store;
  EXPECT_EQ(store.explain(preserved).value().verdict.reason, retention::Reason::kPreserved);
  EXPECT_TRUE(store.outputs(frozen.tx, frozen.index, 1).value().front().frozen);
  const auto other = store.outputs(reassigned.tx, reassigned.index, 1).value().front();
  EXPECT_EQ(other.hash, new_hash);
  EXPECT_EQ(other.spendable_at, kHeight + txstore::kReassignDelay);
  EXPECT_FALSE(other.frozen);
  // The mempool is not part of the chain: it is locked again when it comes again.
  EXPECT_FALSE(store.get(std::vector{loose.id}).value().front());
  EXPECT_EQ(store.create(std::vector{loose})->front().outcome, Outcome::kDone);
  EXPECT_TRUE(store.get(std::vector{loose.id}).value().front()->locked);
}

}  // namespace
}  // namespace coffer
