// Reads that fail for a while: what a consumer does when the bus calls it again (E2, E3, E6).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include <coffer/chain/address.h>
#include "crypto/blake2b.h"
#include "utxo/support/chain.h"

namespace coffer::utxo {
namespace {

namespace fs = std::filesystem;

// While it lives, every table of this process that is open reads as a device error.
class BrokenTables {
 public:
  BrokenTables() {
    std::vector<int> tables;
    for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const fs::path target = fs::read_symlink(entry.path(), gone);
      if (!gone && target.extension() == ".sst")
        tables.push_back(std::stoi(entry.path().filename()));
    }
    const int directory = ::open("/", O_RDONLY | O_DIRECTORY);
    for (const int table : tables) {
      saved_.emplace_back(table, ::dup(table));
      ::dup2(directory, table);
    }
    ::close(directory);
  }
  ~BrokenTables() {
    for (const auto& [table, copy] : saved_) {
      ::dup2(copy, table);
      ::close(copy);
    }
  }
  std::size_t count() const { return saved_.size(); }

 private:
  std::vector<std::pair<int, int>> saved_;
};

Bytes address(std::uint8_t fill) {
  return Bytes(57, fill);
}

TEST(UtxoRetry, BlockIsAppliedWholeAfterReadError) {
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    Options options;
    options.store = type;
    Chain chain("cardano", options);
    ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {address(1)}}}));
    ASSERT_TRUE(chain.db().flush());
    const std::vector<Chain::Tx> txs = {
        {.id = id(2), .inputs = {{id(1), 0}}, .outputs = {address(2), address(3)}}};
    {
      const BrokenTables broken;
      ASSERT_GT(broken.count(), 0u);
      const auto failed = chain.add(txs);
      ASSERT_FALSE(failed);
      EXPECT_EQ(failed.error().code, Code::kUnavailable) << failed.error().message;
      EXPECT_TRUE(failed.error().retryable);
    }
    const auto again = chain.add(txs);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_FALSE(chain.unspent({id(1), 0}));
    EXPECT_TRUE(chain.unspent({id(2), 0}));
    EXPECT_TRUE(chain.unspent({id(2), 1}));
    EXPECT_EQ(chain.state().stats().value().missing_inputs, 0u);
    chain.expect_sound();
  }
}

TEST(UtxoRetry, HeldBlocksAreNotSkipped) {
  Chain chain("cardano");
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {address(1)}}}));
  ASSERT_TRUE(chain.db().flush());
  ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {}, .outputs = {address(2)}}}, 6, 5));
  {
    const BrokenTables broken;
    const auto failed = chain.add({{.id = id(3), .inputs = {{id(1), 0}}, .outputs = {}}}, 6, 4);
    ASSERT_FALSE(failed);
    // Either nothing is lost and it may be tried again, or it says where it really stands.
    EXPECT_TRUE(chain.store().position().block_count() == 2 || !failed.error().retryable);
  }
  ASSERT_TRUE(chain.store().flush());
  EXPECT_EQ(chain.store().position().block_count(), chain.state().stats().value().at.block_count());
  EXPECT_TRUE(chain.unspent({id(1), 0})) << "nobody spent it";
  chain.expect_sound();
}

TEST(UtxoRetry, PruningThatCannotReadDoesNotApplyABlockTwice) {
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    Options options;
    options.store = type;
    options.rollback_window = options.prune_depth = 2;
    Chain chain("cardano", options);
    for (std::uint8_t i = 1; i <= 4; ++i)
      ASSERT_TRUE(chain.add({{.id = id(i), .inputs = {}, .outputs = {address(i)}}}));
    ASSERT_TRUE(chain.db().flush());
    const std::uint64_t height = chain.store().position().block_count();
    Result<> done;
    {
      const BrokenTables broken;
      done = chain.add({{.id = id(9), .inputs = {}, .outputs = {address(9)}}});
    }
    if (!done && done.error().retryable) {
      EXPECT_EQ(chain.store().position().block_count(), height)
          << "the block is in, and the bus is told to deliver it again: " << done.error().message;
    }
    ASSERT_TRUE(chain.add({{.id = id(10), .inputs = {{id(9), 0}}, .outputs = {address(9)}}}));
    EXPECT_EQ(chain.digest().count, 5u);
    chain.expect_sound();
  }
}

TEST(UtxoRetry, RollbackIsDoneWholeAfterReadError) {
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    Options options;
    options.store = type;
    Chain chain("cardano", options);
    ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {address(1)}}}));
    ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {address(2)}}}));
    const Digest before = [&] { return chain.digest(); }();
    ASSERT_TRUE(chain.add({{.id = id(3), .inputs = {{id(2), 0}}, .outputs = {address(3)}}}));
    ASSERT_TRUE(chain.db().flush());
    ASSERT_TRUE(chain.add({{.id = id(4), .inputs = {}, .outputs = {address(4)}}}));
    {
      const BrokenTables broken;
      const auto failed = chain.back(2);
      ASSERT_FALSE(failed);
      EXPECT_TRUE(failed.error().retryable);
      EXPECT_EQ(chain.store().position().block_count(), 4u);
    }
    const auto again = chain.back(2);
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(chain.digest(), before);
    chain.expect_sound();
  }
}

TEST(UtxoRetry, UnreadableRecordIsAnError) {  // E6
  Chain chain("cardano");
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {address(1)}}}));
  ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {}, .outputs = {address(2)}}}));
  Bytes key(34, 2);
  key[32] = key[33] = 0;
  kv::Batch batch;
  batch.put(chain.db().column("utxo_unspent").value(), key, as_bytes("rubbish"));
  ASSERT_TRUE(chain.db().commit(batch));
  const auto failed = chain.back(1);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kCorrupt);
}

// The index is in files, the tip in memory: only the walk over the entries meets the device error.
TEST(UtxoRetry, UnreadableIndexIsAnError) {  // E6
  Chain chain("cardano");
  const auto payment = chain::credentials_of(address(1)).payment;
  ASSERT_TRUE(payment);
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {address(1)}}}));
  ASSERT_TRUE(chain.db().flush());
  ASSERT_TRUE(chain.add({}));
  const UtxoState& state = chain.state();
  {
    const BrokenTables broken;
    ASSERT_GT(broken.count(), 0u);
    ASSERT_TRUE(state.stats()) << "the tip can be read";
    for (const bool descending : {false, true}) {
      PageRequest request;
      request.descending = descending;
      const auto page = state.by_address(address(1), request);
      ASSERT_FALSE(page);
      EXPECT_EQ(page.error().code, Code::kUnavailable) << page.error().message;
      EXPECT_FALSE(state.by_credential(payment->hash, request));
    }
    EXPECT_FALSE(state.balance(address(1)));
    EXPECT_FALSE(state.count_addresses());
    EXPECT_FALSE(state.for_each([](const Utxo&) { return true; }));
  }
  EXPECT_EQ(state.by_address(address(1), {}).value().utxos.size(), 1u);
  EXPECT_EQ(state.balance(address(1)).value().utxos, 1u);
}

}  // namespace
}  // namespace coffer::utxo
