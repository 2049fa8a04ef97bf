// What takes long is done in steps, each a commit of its own: one that stops between two is valid,
// and the same again does the rest.
#include "base/result.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/import/core_export.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Steps : public WalletTest {
 protected:
  const std::string receive_ = "wpkh(" + kTestnetKey + "/0/*)";
  const std::string change_ = "wpkh(" + kTestnetKey + "/1/*)";

  void SetUp() override {
    WalletTest::SetUp();
    if (engine_ == nullptr) return;
    StoreOptions options;
    options.step = 7;
    small_ = Store::open(engine_->database(), network(), options).value();
    carol_ = make_wallet("carol", {});
  }
  // Rows for which this is true cannot be inserted any more.
  void forbid(const std::string& table, const std::string& condition) {
    ok(script_sql(is_sqlite()
                      ? fmt::format("CREATE TRIGGER boom BEFORE INSERT ON {} WHEN {}"
                                    " BEGIN SELECT RAISE(ABORT, 'boom'); END",
                                    table, condition)
                      : fmt::format("CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql"
                                    " AS $$ BEGIN IF {} THEN RAISE EXCEPTION 'boom'; END IF;"
                                    " RETURN NEW; END $$; CREATE TRIGGER boom BEFORE INSERT"
                                    " ON {} FOR EACH ROW EXECUTE FUNCTION boom()",
                                    condition, table)));
    table_ = table;
  }
  void allow() {
    ok(script_sql(is_sqlite()
                      ? std::string("DROP TRIGGER boom")
                      : fmt::format("DROP TRIGGER boom ON {}; DROP FUNCTION boom()", table_)));
  }
  DescriptorInfo info(WalletId wallet, std::size_t nth = 0) {
    return store().descriptors(wallet)->at(nth);
  }
  Bytes at(const std::string& text, std::uint32_t index) {
    return parse_descriptor(network(), text)->derive(index).value()[0];
  }
  MadeTx pay(const Bytes& to) {
    ++nonce_;
    return make_tx({foreign(1'000'000 + nonce_)}, {{to, 10}}, nonce_);
  }
  CoreDescriptor core(const std::string& text, bool internal, std::uint32_t last,
                      std::uint32_t next) {
    return {.descriptor = parse_descriptor(network(), text).value(),
            .internal = internal,
            .range = CoreDescriptor::Range{0, last},
            .next_index = next};
  }

  std::unique_ptr<Store> small_;
  WalletId carol_;
  std::string table_;
};
COFFER_ON_BOTH_ENGINES(Steps);

TEST_P(Steps, InterruptedImportIsShorterImport) {
  ImportOptions options;
  options.watch_to = 50;
  options.next_index = 25;
  forbid("addresses", "NEW.address_index >= 30");
  (void)code(small_->import_descriptor(carol_, receive_, options));
  allow();
  EXPECT_EQ(info(carol_).derived_to, 28u);
  EXPECT_EQ(info(carol_).next_index, 8u);  // the gap behind it is watched
  EXPECT_EQ(number("SELECT count(*) FROM addresses WHERE wallet_id = $1", {carol_}), 28);
  mine({pay(at(receive_, 27))});
  EXPECT_EQ(balance(carol_).confirmed, 10u);
  EXPECT_EQ(info(carol_).derived_to, 48u);
  const auto rest = small_->import_descriptor(carol_, receive_, options);
  ok(rest);
  EXPECT_EQ(rest->descriptors, 0u);
  EXPECT_EQ(rest->addresses, 2u);
  EXPECT_EQ(info(carol_).derived_to, 50u);
  EXPECT_EQ(info(carol_).next_index, 28u);
  const std::string before = everything();
  ok(small_->import_descriptor(carol_, receive_, options));
  EXPECT_EQ(everything(), before);
}

// Between two steps a block is applied, as a follower would: nothing is held there.
TEST_P(Steps, ImportGivesWayToBlocksAndCanBeStopped) {
  int steps = 0;
  StoreOptions options;
  options.step = 7;
  options.go_on = [&] {
    mine({pay(at(receive_, 3))});
    return ++steps < 3;
  };
  const auto polite = Store::open(engine_->database(), network(), options).value();
  ImportOptions wanted;
  wanted.watch_to = 50;
  const auto stopped = polite->import_descriptor(carol_, receive_, wanted);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled) << stopped.error().message;
  // 7, up to the gap behind the paid address, 4 + 20, and twice 7 more.
  EXPECT_EQ(info(carol_).derived_to, 38u);
  EXPECT_EQ(balance(carol_).confirmed, 30u);
  ok(store().verify());
  steps = -100;  // the same again does the rest
  ok(polite->import_descriptor(carol_, receive_, wanted));
  EXPECT_EQ(info(carol_).derived_to, 50u);
}

TEST_P(Steps, ImportInterruptedBeforeGapGivesOutNothing) {
  forbid("addresses", "NEW.address_index >= 10");
  (void)code(small_->import_descriptor(carol_, receive_, {}));
  allow();
  EXPECT_EQ(info(carol_).derived_to, 7u);
  EXPECT_EQ(info(carol_).next_index, 0u);
  ok(store().verify());
  ok(small_->import_descriptor(carol_, receive_, {}));
  EXPECT_EQ(info(carol_).derived_to, 20u);
}

TEST_P(Steps, StepSizeDoesNotMatter) {
  CoreExport exported;
  exported.descriptors = {core(receive_, false, 40, 5), core(change_, true, 3, 30)};
  const WalletId dave = make_wallet("dave", {});
  for (const auto& [wallet, by] : {std::pair(carol_, small_.get()), std::pair(dave, &store())}) {
    // In use, and beyond what would be watched; and one in use behind that.
    watch(wallet, at(change_, 49));
    watch(wallet, at(change_, 69));
    const auto imported = by->import_core(wallet, exported);
    ok(imported);
    EXPECT_EQ(imported->descriptors, 2u);
    EXPECT_EQ(info(wallet, 0).derived_to, 41u);
    EXPECT_EQ(info(wallet, 0).next_index, 5u);
    EXPECT_EQ(info(wallet, 1).derived_to, 90u);
    EXPECT_EQ(info(wallet, 1).next_index, 70u);
  }
  // A gap that is larger than a step.
  const auto wide = store().create({"wide", 0, 50});
  ok(small_->import_descriptor(wide->id, receive_, {}));
  EXPECT_EQ(info(wide->id).derived_to, 50u);
}

TEST_P(Steps, BadInputIsFoundBeforeFirstStep) {
  const std::string before = everything();
  CoreExport exported;
  exported.descriptors = {core(receive_, false, 40, 5), core(receive_, true, 40, 5)};
  EXPECT_EQ(code(small_->import_core(carol_, exported)), Code::kConflict);
  exported.descriptors[1] = core(change_, true, 2'000'000, 0);
  EXPECT_EQ(code(small_->import_core(carol_, exported)), Code::kTooLarge);
  EXPECT_EQ(everything(), before);
}

TEST_P(Steps, InterruptedPruneIsSmallerPrune) {
  std::vector<MadeTx> txs;
  for (int i = 0; i < 10; ++i) {
    txs.push_back(incoming(100 + static_cast<std::uint64_t>(i)));
    txs.push_back(tx({coin(txs.back())}, {{99, 5}}));
  }
  txs.push_back(incoming(7));
  mine(txs);
  mine_empty(300);
  forbid("pruned_transactions", "(SELECT count(*) FROM pruned_transactions) >= 16");
  (void)code(small_->prune(alice_, {}));
  allow();
  EXPECT_EQ(number("SELECT transactions FROM pruned_summary"), 14);
  ok(store().verify());
  EXPECT_EQ(balance().total, 7u);
  const Pruned promised = small_->prune(alice_, {.dry_run = true}).value();
  EXPECT_EQ(promised.transactions, 6u);
  const Pruned rest = small_->prune(alice_, {}).value();
  EXPECT_EQ(rest.transactions, 6u);
  EXPECT_EQ(rest.coins, promised.coins);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(number("SELECT transactions FROM pruned_summary"), 20);
  EXPECT_EQ(number("SELECT count(*) FROM transactions"), 1);
}

TEST_P(Steps, PruneLimitNeedNotBeMultipleOfStep) {
  std::vector<MadeTx> txs;
  std::vector<chain::Outpoint> coins;
  for (int i = 0; i < 20; ++i) {
    txs.push_back(incoming());
    coins.push_back(coin(txs.back()));
  }
  mine(txs);
  mine({tx(coins, {{99, 5}})});
  mine_empty(300);
  PruneOptions some;
  some.limit = 15;
  const Pruned promised = small_->prune(alice_, {.dry_run = true, .limit = 15}).value();
  const Pruned first = small_->prune(alice_, some).value();
  EXPECT_EQ(first.transactions, 15u);
  EXPECT_TRUE(first.more && promised.more);
  EXPECT_EQ(first.stubs, promised.stubs);
  ok(store().verify());
  EXPECT_EQ(small_->prune(alice_, {}).value().stubs, 0u);
  EXPECT_EQ(number("SELECT count(*) FROM transactions"), 0);
}

}  // namespace
}  // namespace coffer::wallet::test
