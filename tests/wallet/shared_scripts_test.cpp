// Scripts that several descriptors of a wallet have: each belongs to the first, and all of them
// move on when it is used.
#include <set>

#include "base/result.h"
#include "wallet/support/addresses_test_base.h"

namespace coffer::wallet::test {
namespace {

class SharedScripts : public Addresses {
 protected:
  const std::string spelled_ = "wpkh([d34db33f/84h/1h/0h]" + kTestnetKey + "/0/*)";
  const std::string pkh_ = "pkh(" + kTestnetKey + "/0/*)";

  Bytes pkh(std::uint32_t index) { return at(pkh_, index); }
  static ImportOptions in(const std::string& account, bool internal = false) {
    ImportOptions options;
    options.account = account;
    options.internal = internal;
    return options;
  }
};
COFFER_ON_BOTH_ENGINES(SharedScripts);

TEST_P(SharedScripts, EquivalentDescriptorsShareNextIndex) {
  import(receive_), import(spelled_);
  ASSERT_EQ(store().descriptors(carol_)->size(), 2u);
  for (std::uint32_t index = 0; index < 3; ++index)
    EXPECT_EQ(next_address().script, at(receive_, index));
  mine({pay({at(receive_, 10)})});
  EXPECT_EQ(next_address().script, at(receive_, 11));
  for (const std::size_t nth : {0u, 1u}) {
    EXPECT_EQ(info(nth).next_index, 12u);
    EXPECT_EQ(info(nth).derived_to, 32u);
  }
}

TEST_P(SharedScripts, UsedAddressIsNotGivenOut) {
  ImportOptions elsewhere;
  elsewhere.next_index = 50;
  ok(store().import_descriptor(carol_, receive_, elsewhere));
  import(spelled_);
  EXPECT_EQ(next_address().script, at(receive_, 50));
}

TEST_P(SharedScripts, PaymentExtendsGapOfAll) {
  import(receive_), import(combo_);
  mine({pay({at(receive_, 19)})});
  for (const std::size_t nth : {0u, 1u}) EXPECT_EQ(info(nth).derived_to, 40u);
  mine({pay({pkh(25)})});
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  EXPECT_EQ(info(0).derived_to, 40u);  // it has no such script
  EXPECT_EQ(info(1).derived_to, 46u);
}

TEST_P(SharedScripts, PaymentExtendsGapOfAllInBlockAndRecord) {
  import(receive_), import(combo_);
  mine({pay({pkh(25)}), pay({at(receive_, 19)})});
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  ok(store().record(carol_, pay({pkh(60), at(receive_, 45)}).raw, {}));
  EXPECT_EQ(balance(carol_).unconfirmed, 20u);
}

TEST_P(SharedScripts, LaterDescriptorFollowsFirst) {
  import(combo_), import(receive_), import(pkh_);
  mine({pay({at(receive_, 19)})});
  EXPECT_EQ(info(0).derived_to, 40u);
  EXPECT_EQ(info(1).derived_to, 40u);
  EXPECT_EQ(info(2).derived_to, 20u);
  mine({pay({pkh(7)})});
  EXPECT_EQ(info(2).derived_to, 28u);
  EXPECT_EQ(info(2).next_index, 8u);
}

TEST_P(SharedScripts, UsedScriptsCountForNewDescriptor) {
  import(receive_);
  std::set<Bytes> given;
  for (int i = 0; i < 3; ++i) given.insert(next_address().script);
  mine({pay({at(receive_, 19)})});
  import(combo_);
  EXPECT_EQ(info(1).next_index, 20u);
  EXPECT_EQ(info(1).derived_to, 40u);
  const AddressInfo next = next_address();
  EXPECT_EQ(next.type, "p2wpkh");
  EXPECT_TRUE(given.insert(next.script).second);
  EXPECT_EQ(info(0).next_index, 21u);
}

TEST_P(SharedScripts, UsedScriptsBeyondGapCountForNewDescriptor) {
  ImportOptions far;
  far.watch_to = 100;
  ok(store().import_descriptor(carol_, receive_, far));
  mine({pay({at(receive_, 25)})});
  import(spelled_);
  EXPECT_EQ(info(1).next_index, 26u);
  EXPECT_EQ(info(1).derived_to, 46u);
  EXPECT_EQ(next_address().index, 26u);
}

TEST_P(SharedScripts, RangedDescriptorTakesScriptOfSingle) {
  const std::string single = "wpkh(" + kTestnetKey + "/0/19)";
  import(single), import(receive_);
  EXPECT_EQ(info(1).derived_to, 40u);  // somebody has a use for 19
  mine({pay({at(receive_, 19)}), pay({at(receive_, 39)})});
  EXPECT_EQ(info(1).derived_to, 60u);
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  const std::string before = everything();
  import(single), import(receive_);
  EXPECT_EQ(everything(), before);
}

TEST_P(SharedScripts, SingleDescriptorMarksRangedUsed) {
  import(receive_);
  import("wpkh(" + kTestnetKey + "/0/4)");
  EXPECT_EQ(next_address().script, at(receive_, 5));
  EXPECT_EQ(info(0).derived_to, 26u);
}

TEST_P(SharedScripts, OtherAccountOrPurposeIsConflict) {  // E3
  import(receive_);
  const std::string before = everything();
  EXPECT_EQ(code(store().import_descriptor(carol_, spelled_, in("other"))), Code::kConflict);
  EXPECT_EQ(code(store().import_descriptor(carol_, spelled_, in("default", true))),
            Code::kConflict);
  const std::string single = "wpkh(" + kTestnetKey + "/0/3)";
  EXPECT_EQ(code(store().import_descriptor(carol_, single, in("other"))), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(SharedScripts, AccountGivesOutOwnAddresses) {
  import(receive_);
  ok(store().import_descriptor(carol_, combo_, in("other")));
  const auto given = store().new_address(carol_, "other", false);
  ok(given);
  EXPECT_EQ(given->type, "p2sh");
  EXPECT_EQ(given->account, "other");
  EXPECT_EQ(next_address().script, at(receive_, 0));  // nobody was shown it
}

TEST_P(SharedScripts, AddressOfOtherAccountExtendsGap) {
  ok(store().import_script(carol_, at(receive_, 19), in("old")));
  import(receive_);
  EXPECT_EQ(info().derived_to, 40u);
  mine({pay({at(receive_, 19)}), pay({at(receive_, 39)})});
  Scope old;
  old.account = "old";
  EXPECT_EQ(balance(carol_, old).confirmed, 10u);
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  EXPECT_EQ(info().derived_to, 60u);
}

// ---- single scripts ----

TEST_P(SharedScripts, ImportedScriptIsNotGivenOut) {
  import(receive_);
  for (const std::uint32_t index : {0u, 19u}) {
    const auto known = store().import_script(carol_, at(receive_, index), {});
    ok(known);
    EXPECT_EQ(known->addresses, 0u);
  }
  EXPECT_EQ(info().derived_to, 40u);
  const std::string before = everything();
  watch(carol_, at(receive_, 19));
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(next_address().index, 20u);
}

TEST_P(SharedScripts, KnownScriptInOtherAccountIsConflict) {  // E3
  watch(carol_, script(5));
  import(receive_);
  const std::string before = everything();
  for (const Bytes& known : {script(5), at(receive_, 2)}) {
    EXPECT_EQ(code(store().import_script(carol_, known, in("other"))), Code::kConflict);
    EXPECT_EQ(code(store().import_script(carol_, known, in("default", true))), Code::kConflict);
  }
  EXPECT_EQ(everything(), before);
}

TEST_P(SharedScripts, ScriptCanBeChange) {
  for (int i = 0; i < 2; ++i) ok(store().import_script(carol_, script(6), in("default", true)));
  const auto list = store().addresses(carol_, {});
  ok(list);
  ASSERT_EQ(list->items.size(), 1u);
  EXPECT_EQ(list->items[0].branch, 1u);
}

TEST_P(SharedScripts, UnspendableScriptIsRefused) {
  const std::string before = everything();
  EXPECT_EQ(code(store().import_script(carol_, Bytes{0x6a, 0x01, 0x07}, {})), Code::kInvalidInput);
  EXPECT_EQ(code(store().import_descriptor(carol_, "raw(6a0107)", {})), Code::kInvalidInput);
  EXPECT_EQ(everything(), before);
}

// ---- bounds ----

TEST_P(SharedScripts, ImportIsBounded) {
  const std::string before = everything();
  ImportOptions far;
  far.watch_to = 500'001;
  EXPECT_EQ(code(store().import_descriptor(carol_, both_, far)), Code::kTooLarge);
  far.watch_to = 1'000'001;
  EXPECT_EQ(code(store().import_descriptor(carol_, receive_, far)), Code::kTooLarge);
  far.watch_to = 400'000;
  const std::string three = fmt::format("wsh(multi(1,{0}/0/*,{0}/1/*,{0}/2/*))", kTestnetKey);
  EXPECT_EQ(code(store().import_descriptor(carol_, three, far)), Code::kTooLarge);
  EXPECT_EQ(everything(), before);
}

TEST_P(SharedScripts, AccountsAndDescriptorsAreBounded) {
  if (!is_sqlite()) GTEST_SKIP() << "PostgreSQL needs a minute to take so many rows away again";
  is_damaged();  // what is written below are no descriptors
  const std::string numbers =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})";
  watch(carol_, script(5));
  ok(sql(fmt::format(fmt::runtime("INSERT INTO accounts (wallet_id, name) " + numbers +
                                  " SELECT $1, 'a' || i FROM n"),
                     99'999),
         {carol_}));
  EXPECT_EQ(code(store().import_script(carol_, script(6), in("one more"))), Code::kTooLarge);
  EXPECT_EQ(store().accounts(carol_)->size(), 100'000u);
  ok(sql(fmt::format(fmt::runtime("INSERT INTO descriptors (wallet_id, account_id, branch,"
                                  " descriptor, is_ranged, next_index, derived_to) " +
                                  numbers +
                                  " SELECT $1, (SELECT min(id) FROM accounts WHERE wallet_id = $1),"
                                  " 0, 'raw(' || i || ')', $2, 0, 1 FROM n"),
                     99'999),
         {carol_, false}));
  EXPECT_EQ(code(store().import_descriptor(carol_, both_, {})), Code::kTooLarge);
  import(receive_);
  EXPECT_EQ(number("SELECT count(*) FROM descriptors WHERE wallet_id = $1", {carol_}), 100'000);
}

}  // namespace
}  // namespace coffer::wallet::test
