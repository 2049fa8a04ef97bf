#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "sql/connection.h"
#include "wallet/commands/commands.h"
#include "wallet/test_tx.h"

namespace coffer::wallet {
namespace {

using wallet::test_tx;
using wallet::test_txid;

TEST(WalletPruning, PartsAreAddedUpAndTheStubsCountedOnce) {
  TempDir dir;
  sql::DatabaseOptions options;
  options.location = "sqlite:" + (dir.path() / "wallet.db").string();
  const auto database = sql::Database::open(options).value();
  const auto network = chain::find_network("bitcoin", "regtest").value();
  const auto store = wallet::Store::open(*database, network).value();
  const wallet::WalletId shop = store->create({.name = "shop"}).value().id;
  const Bytes mine = {0x51}, theirs = {0x52};
  ASSERT_TRUE(store->import_script(shop, mine, {}));
  const auto confirm = [&](const Bytes& raw, std::uint64_t height) {
    wallet::RecordOptions record;
    record.block = wallet::BlockRef{height, test_txid(raw), 0, 0};
    const auto done = store->record(shop, raw, record);
    EXPECT_TRUE(done) << done.error().message;
  };
  // One of its coins stays, and names the spenders of the others, so of those stubs stay.
  const Bytes payment =
      test_tx({wallet::foreign_outpoint(1)}, {{10, mine}, {20, mine}, {30, mine}, {40, mine}});
  confirm(payment, 1);
  for (std::uint32_t i = 0; i < 3; ++i)
    confirm(test_tx({{test_txid(payment), i}}, {{5 + i, theirs}}), 2 + i);
  // Long ago, and by the word of the chain.
  ASSERT_TRUE(database->run_transaction([](sql::Transaction& sql) {
    return sql.script(
        "UPDATE sync_state SET tip_height = 1000;"
        "UPDATE transactions SET user_confirmed = 0");
  }));
  wallet::PruneOptions prune;
  prune.limit = 1;
  const auto done = prune_all(*store, shop, prune);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->transactions, 3u);
  EXPECT_EQ(done->stubs, 3u);
  EXPECT_FALSE(done->more);
}

}  // namespace
}  // namespace coffer::wallet
