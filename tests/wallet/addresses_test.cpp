// Watched scripts: the gap that moves on, descriptors of every kind, and addresses that are given
// out while blocks come in (W12).
#include <thread>

#include "base/result.h"
#include "wallet/descriptor/descriptor_text.h"
#include "wallet/support/addresses_test_base.h"

namespace coffer::wallet::test {
namespace {

COFFER_ON_BOTH_ENGINES(Addresses);

TEST_P(Addresses, PaymentToLastWatchedIndexExtendsGap) {
  import(receive_);
  EXPECT_EQ(info().derived_to, 20u);
  mine({pay({at(receive_, 19)})});
  EXPECT_EQ(info().derived_to, 40u);
  EXPECT_EQ(info().next_index, 20u);
  mine({pay({at(receive_, 39)}), pay({at(receive_, 61)})});  // the last is beyond the gap
  EXPECT_EQ(info().derived_to, 60u);
  EXPECT_EQ(balance(carol_).confirmed, 20u);
}

TEST_P(Addresses, GapExtendsWithinBlockInAnyOrder) {
  import(receive_);
  mine({pay({at(receive_, 45)}), pay({at(receive_, 25)}), pay({at(receive_, 5)})});
  EXPECT_EQ(balance(carol_).confirmed, 30u);
  EXPECT_EQ(info().derived_to, 66u);
}

TEST_P(Addresses, GapExtendsWithinTransactionInAnyOrder) {
  import(receive_);
  mine({pay({at(receive_, 25), at(receive_, 5)})});
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  see(pay({at(receive_, 65), at(receive_, 45)}));
  EXPECT_EQ(balance(carol_).unconfirmed, 20u);
  const MadeTx by_hand = pay({at(receive_, 105), at(receive_, 85)});
  ok(store().record(carol_, by_hand.raw, {}));
  EXPECT_EQ(balance(carol_).unconfirmed, 40u);
}

TEST_P(Addresses, SpendInBlockThatExtendsGapIsFound) {
  import(receive_);
  const MadeTx far = pay({at(receive_, 25)});
  mine({far, tx({coin(far)}, {{99, 5}}), pay({at(receive_, 5)})});
  EXPECT_EQ(state(coin(far), carol_), "spent");
  EXPECT_EQ(balance(carol_).confirmed, 10u);
}

TEST_P(Addresses, ChangeGapExtendsIndependently) {
  import(both_);
  ASSERT_EQ(store().descriptors(carol_)->size(), 2u);
  EXPECT_FALSE(info(0).internal);
  EXPECT_TRUE(info(1).internal);
  mine({pay({at(both_, 19, 1)})});
  EXPECT_EQ(info(0).derived_to, 20u);
  EXPECT_EQ(info(1).derived_to, 40u);
  EXPECT_EQ(next_address(true).index, 20u);
  EXPECT_EQ(next_address(false).index, 0u);
  EXPECT_EQ(next_address(false).branch, 0u);
  EXPECT_EQ(next_address(true).script, at(both_, 21, 1));
}

TEST_P(Addresses, WalletGapLimitApplies) {
  const auto dave = store().create({"dave", 0, 3});
  ok(dave);
  import(receive_, dave->id);
  EXPECT_EQ(store().descriptors(dave->id)->at(0).derived_to, 3u);
  mine({pay({at(receive_, 2)}), pay({at(receive_, 6)})});
  EXPECT_EQ(store().descriptors(dave->id)->at(0).derived_to, 6u);
}

TEST_P(Addresses, ComboWatchesEveryScriptType) {
  import(combo_);
  EXPECT_EQ(number("SELECT count(*) FROM addresses WHERE wallet_id = $1", {carol_}), 80);
  std::vector<Bytes> kinds;
  kinds.reserve(4);
  for (std::size_t nth = 0; nth < 4; ++nth) kinds.push_back(at(combo_, 3, 0, nth));
  mine({pay(kinds)});
  EXPECT_EQ(balance(carol_).confirmed, 40u);
  EXPECT_EQ(info().derived_to, 24u);
  const AddressInfo given = next_address();
  EXPECT_EQ(given.index, 4u);
  EXPECT_EQ(given.type, "p2wpkh");
  EXPECT_EQ(given.script, at(receive_, 4));
}

TEST_P(Addresses, SingleImportExtendsGapOfItsDescriptor) {
  watch(carol_, at(receive_, 19));
  const MadeTx early = pay({at(receive_, 19)});
  mine({early});
  import(receive_);
  EXPECT_EQ(info().derived_to, 40u);  // it is in use
  mine({pay({at(receive_, 39)})});
  EXPECT_EQ(info().derived_to, 60u);
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  EXPECT_EQ(next_address().index, 40u);
}

TEST_P(Addresses, UsedAddressInExtendedGapExtendsItAgain) {
  for (const std::uint32_t index : {25u, 44u}) {
    watch(carol_, at(receive_, index));
    mine({pay({at(receive_, index)})});
  }
  import(receive_);
  EXPECT_EQ(info().derived_to, 20u);  // neither is within the gap
  // It grows to 31 and has 25, with that to 46 and has 44; all within a block, in any order.
  mine({pay({at(receive_, 64)}), pay({at(receive_, 10)})});
  EXPECT_EQ(info().derived_to, 85u);
  EXPECT_EQ(info().next_index, 65u);
  EXPECT_EQ(balance(carol_).confirmed, 40u);
  EXPECT_EQ(next_address().index, 65u);
}

TEST_P(Addresses, UsedAddressReachedByNewAddressExtendsGap) {
  watch(carol_, at(receive_, 20));
  mine({pay({at(receive_, 20)})});
  import(receive_);
  EXPECT_EQ(next_address().index, 0u);
  EXPECT_EQ(info().derived_to, 41u);
  EXPECT_EQ(next_address().index, 21u);
  EXPECT_EQ(info().derived_to, 42u);
}

TEST_P(Addresses, NewAddressSkipsScriptsOfOtherDescriptors) {
  for (const std::uint32_t index : {0u, 1u})
    import(fmt::format("wpkh({}/0/{})", kTestnetKey, index));
  import(receive_);
  const AddressInfo given = next_address();
  EXPECT_EQ(given.script, at(receive_, 2));
  EXPECT_EQ(given.index, 2u);
}

TEST_P(Addresses, RepeatedImportChangesNothing) {  // E3
  import(both_);
  (void)next_address();
  const std::string before = everything();
  const auto again = store().import_descriptor(carol_, both_, {});
  ok(again);
  EXPECT_EQ(again->descriptors + again->addresses, 0u);
  EXPECT_EQ(everything(), before);
  ImportOptions other;
  other.account = "other";
  EXPECT_EQ(code(store().import_descriptor(carol_, receive_, other)), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(Addresses, DescriptorInTwoWalletsExtendsBothGaps) {
  const WalletId dave = make_wallet("dave", {});
  import(receive_), import(receive_, dave);
  mine({pay({at(receive_, 19)})});
  for (const WalletId wallet : {carol_, dave}) {
    EXPECT_EQ(store().descriptors(wallet)->at(0).derived_to, 40u);
    EXPECT_EQ(balance(wallet).confirmed, 10u);
  }
}

TEST_P(Addresses, ConcurrentNewAddressIsUnique) {  // W12
  import(receive_);
  std::vector<std::vector<Bytes>> given(8);
  std::vector<std::thread> threads;
  threads.reserve(given.size());
  for (auto& own : given)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) own.push_back(next_address().script);
    });
  for (std::thread& thread : threads) thread.join();
  std::set<Bytes> all;
  for (const auto& list : given) all.insert(list.begin(), list.end());
  EXPECT_EQ(all.size(), 40u);
  EXPECT_EQ(info().next_index, 40u);
  EXPECT_EQ(info().derived_to, 60u);
}

// Another process with the same database.
class TwoProcesses : public Addresses {
 protected:
  void SetUp() override {
    Addresses::SetUp();
    if (engine_ == nullptr) return;
    import(receive_);
    database_ = sql::Database::open(engine_->options()).value();
    other_ = Store::open(*database_, network()).value();
  }
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> other_;
};
COFFER_ON_BOTH_ENGINES(TwoProcesses);

TEST_P(TwoProcesses, ConsumerSeesAddressOfOtherProcess) {  // W12
  mine();
  AddressInfo given;
  for (int i = 0; i < 15; ++i) given = other_->new_address(carol_, "default", false).value();
  ok(other_->import_script(carol_, script(77), {}));
  mine({pay({at(receive_, 34)}), pay({script(77)})});  // 34: the end of the gap behind it
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  ok(other_->import_script(carol_, script(78), {}));
  see(pay({script(78)}));
  EXPECT_EQ(balance(carol_).unconfirmed, 10u);
}

TEST_P(TwoProcesses, FailedCommitKeepsWatchSet) {  // W12
  mine();
  ok(script_sql(is_sqlite()
                    ? "CREATE TRIGGER boom BEFORE INSERT ON tx_raw"
                      " BEGIN SELECT RAISE(ABORT, 'boom'); END"
                    : "CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS"
                      " $$ BEGIN RAISE EXCEPTION 'boom'; END $$; CREATE TRIGGER boom BEFORE INSERT"
                      " ON tx_raw FOR EACH ROW EXECUTE FUNCTION boom()"));
  const auto block = append_block({pay({at(receive_, 19)})});
  (void)code(try_deliver(block));
  ok(script_sql(is_sqlite() ? "DROP TRIGGER boom"
                            : "DROP TRIGGER boom ON tx_raw; DROP FUNCTION boom()"));
  // What gets the ids that the failed transaction had.
  ok(other_->import_script(carol_, script(77), {}));
  deliver(block);
  mine({pay({script(77)})});
  EXPECT_EQ(balance(carol_).confirmed, 20u);
}

TEST_P(TwoProcesses, ConsumerSeesTransactionOfOtherProcess) {  // W3
  mine();
  const MadeTx payment = tx({foreign(1)}, {{1, 100}});
  ok(other_->record(alice_, payment.raw, {}));
  see(tx({foreign(1)}, {{99, 90}}));  // pays us nothing
  EXPECT_EQ(status(payment), "replaced: replaced");
}

}  // namespace
}  // namespace coffer::wallet::test
