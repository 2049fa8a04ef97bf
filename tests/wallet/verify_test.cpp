// verify() finds damage: every rule is broken once, by somebody for whom no constraint holds.
#include "base/result.h"
#include "sql/test_damage.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Verify : public WalletTest {
 protected:
  void SetUp() override {
    WalletTest::SetUp();
    if (engine_ == nullptr) return;
    ImportOptions savings;
    savings.account = "savings";
    ok(store().import_script(alice_, script(5), savings));
    money_ = tx({foreign(1)}, {{1, 100}, {2, 50}});
    mine({coinbase(5'000), money_});
    spent_ = tx({coin(money_)}, {{1, 80}});
    mine({spent_});
    loose_ = tx({foreign(2), foreign(3)}, {{1, 7}});
    child_ = tx({coin(loose_)}, {{5, 6}});
    see(loose_), see(child_);
    ok(store().verify());
    is_damaged();
  }

  // Without foreign keys, checks and triggers.
  void damage(const std::string& text) {
    if (!is_sqlite()) {
      ok(script_sql("SET LOCAL session_replication_role = replica; " + text));
      return;
    }
    const std::string path = engine_->options().location.substr(std::string("sqlite:").size());
    sql::test::damage_sqlite(path, text);
  }
  void finds(std::string_view rule) {
    const auto verified = store().verify();
    ASSERT_FALSE(verified) << "not found: " << rule;
    EXPECT_EQ(verified.error().code, Code::kCorrupt);
    sql::test::expect_one_line(verified.error());
    EXPECT_NE(verified.error().message.find(rule), std::string::npos)
        << verified.error().message << " instead of " << rule;
  }
  void finds_after(const std::string& text, std::string_view rule) {
    damage(text);
    finds(rule);
  }
  static std::string blob(ByteView bytes, bool lite) {
    return lite ? "x'" + to_hex(bytes) + "'" : "'\\x" + to_hex(bytes) + "'";
  }
  std::string blob(ByteView bytes) { return blob(bytes, is_sqlite()); }
  std::string spent_coin() { return fmt::format("tx_id = {} AND output_index = 0", id_of(money_)); }
  // Long ago: money_ is kept by its second coin, its spender is a stub.
  void make_stub() {
    mine({loose_, child_});
    mine({tx({coin(spent_)}, {{99, 70}})});
    mine_empty(300);
    ASSERT_GT(store().prune(alice_, {})->stubs, 0u);
    ok(store().verify());
  }

  void watch_descriptor() {
    ok(store().import_descriptor(alice_, "wpkh(" + kTestnetKey + "/0/*)", {}));
    ok(store().verify());
  }

  MadeTx money_, spent_, loose_, child_;
};
COFFER_ON_BOTH_ENGINES(Verify);

TEST_P(Verify, ConfirmedWithoutBlock) {
  finds_after("DELETE FROM blocks WHERE block_height = 0", "a confirmed transaction has its block");
}
TEST_P(Verify, BlockAboveTip) {
  finds_after("UPDATE sync_state SET tip_height = 0", "no block is above the tip");
}
TEST_P(Verify, TwoPublishedSpenders) {
  finds_after(fmt::format("INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash,"
                          " prev_output_index, amount) VALUES ({}, {}, 2, {}, 0, 100)",
                          alice_.value, id_of(loose_), blob(money_.id.view())),
              "at most one published transaction names an outpoint");
}
TEST_P(Verify, WrongSpender) {
  finds_after(
      "UPDATE utxos SET spent_by_tx_id = NULL, spent_input_index = NULL WHERE " + spent_coin(),
      "a coin is spent by the best of those that name it");
}
TEST_P(Verify, SpenderWithoutInput) {
  finds_after(fmt::format("UPDATE utxos SET spent_by_tx_id = {}, spent_input_index = 0 WHERE"
                          " tx_id = {} AND output_index = 1",
                          id_of(loose_), id_of(money_)),
              "a coin is spent by the best of those that name it");
}
TEST_P(Verify, WrongSpentInputIndex) {
  finds_after("UPDATE utxos SET spent_input_index = 7 WHERE " + spent_coin(),
              "a coin's spender names it at the place that is recorded");
}
TEST_P(Verify, WrongInputAmount) {
  finds_after("UPDATE tx_inputs SET amount = amount + 1", "an input has the amount of its coin");
}
TEST_P(Verify, MissingInputAmount) {
  finds_after("UPDATE tx_inputs SET amount = NULL", "an input has the amount of its coin");
}
TEST_P(Verify, InputAmountWithoutCoin) {
  finds_after("DELETE FROM utxos WHERE " + spent_coin(),
              "an input that has an amount has its coin");
}
TEST_P(Verify, UnconfirmedSpendsFromInvalid) {
  finds_after(fmt::format("UPDATE transactions SET status = 'failed', reason = 'x' WHERE id = {}",
                          id_of(loose_)),
              "no unconfirmed transaction spends from an invalid one");
}
TEST_P(Verify, UserConfirmedSpendsFromInvalid) {
  finds_after(
      fmt::format("UPDATE transactions SET user_confirmed = (1 = 1) WHERE block_height IS NOT NULL;"
                  "UPDATE transactions SET status = 'failed', reason = 'x',"
                  " block_height = NULL, block_index = NULL WHERE id = {}",
                  id_of(money_)),
      "nor one whose block a person named");
}
TEST_P(Verify, PublishedSpendsFromPending) {
  finds_after(
      fmt::format("UPDATE transactions SET status = 'pending' WHERE id = {}", id_of(loose_)),
      "no published transaction spends from a pending one");
}
TEST_P(Verify, MissingRawBytes) {
  finds_after("DELETE FROM tx_raw", "has its bytes and its inputs, a stub has none");
}
TEST_P(Verify, StubWithInputs) {
  make_stub();
  finds_after(fmt::format("INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash,"
                          " prev_output_index) SELECT {}, id, 0, {}, 9 FROM transactions"
                          " WHERE is_stub",
                          alice_.value, blob(foreign(77).tx.view())),
              "has its bytes and its inputs, a stub has none");
}
TEST_P(Verify, StubWithoutCoin) {
  make_stub();
  finds_after("DELETE FROM utxos WHERE " + spent_coin(), "a stub is named by a coin, or has one");
}
TEST_P(Verify, StubNotListedAsPruned) {
  make_stub();
  finds_after("DELETE FROM pruned_transactions", "a stub, and nothing else, is listed as pruned");
}
TEST_P(Verify, PrunedCoinPresent) {
  make_stub();
  finds_after(
      "INSERT INTO utxos (wallet_id, tx_id, output_index, amount, account_id, address_id)"
      " SELECT s.wallet_id, s.id, 0, 80, u.account_id, u.address_id FROM transactions s"
      " JOIN utxos u ON u.spent_by_tx_id = s.id WHERE s.is_stub",
      "a coin that was pruned is not there again");
}
TEST_P(Verify, PrunedSummaryWrongCount) {
  make_stub();
  finds_after("UPDATE pruned_summary SET transactions = transactions + 1",
              "the summary of what is pruned counts its list");
}
TEST_P(Verify, PrunedSummaryWrongHeights) {
  make_stub();
  finds_after("UPDATE pruned_summary SET highest_height = 0", "the heights and the coins");
}
TEST_P(Verify, PrunedSummaryWrongCoins) {
  make_stub();
  finds_after("UPDATE pruned_summary SET coins = coins + 1", "the heights and the coins");
}
TEST_P(Verify, GapNotWatched) {
  watch_descriptor();
  finds_after("UPDATE descriptors SET next_index = 1", "the gap after what is in use");
}
TEST_P(Verify, IndexNotWatched) {
  watch_descriptor();
  finds_after("DELETE FROM addresses WHERE address_index = 7", "is not watched at index 7");
}
TEST_P(Verify, AddressAtWrongIndex) {
  watch_descriptor();
  finds_after("UPDATE addresses SET address_index = 8 WHERE address_index = 7",
              "is not watched at index 7");
}
TEST_P(Verify, AddressOfOtherDescriptor) {
  watch_descriptor();
  finds_after(
      "UPDATE addresses SET address_index = 3, descriptor_id = (SELECT id FROM descriptors)"
      " WHERE descriptor_id IS NULL AND id = (SELECT min(id) FROM addresses)",
      "at index 3 is not of descriptor");
}
TEST_P(Verify, AddressOfOtherDescriptorInSecondWallet) {
  const WalletId bob = make_wallet("bob", {});
  ok(store().import_descriptor(alice_, "wpkh(" + kTestnetKey + "/0/*)", {}));
  ok(store().import_descriptor(bob, "wpkh(" + kTestnetKey + "/0/*)", {}));
  ok(store().import_descriptor(alice_, "wpkh(" + kTestnetKey + "/1/*)", {}));
  ok(store().verify());
  finds_after(
      "UPDATE addresses SET address_index = 3, descriptor_id = (SELECT min(id) FROM descriptors)"
      " WHERE descriptor_id IS NULL AND id = (SELECT min(id) FROM addresses)",
      fmt::format("wallet {}: an address at index 3 is not of descriptor", alice_));
}
TEST_P(Verify, UnreadableDescriptor) {
  watch_descriptor();
  finds_after("UPDATE descriptors SET descriptor = 'wpkh(03ab'", "cannot be read");
}
TEST_P(Verify, GivenOutIndexMissing) {
  watch_descriptor();
  finds_after(fmt::format("UPDATE descriptors SET descriptor = 'wpkh({}/0/*h)'", kTestnetKey),
              "has nothing at index 0");
}
TEST_P(Verify, PositionDiffersFromTip) {
  finds_after("UPDATE sync_state SET tip_height = tip_height + 1", "their tip is 2");
}
TEST_P(Verify, CoinInOtherAccount) {
  finds_after("UPDATE utxos SET account_id = account_id + 1", "a coin has the account");
}
TEST_P(Verify, CoinWithoutAddress) {
  finds_after("UPDATE utxos SET address_id = 999999999", "a coin has the account of its address");
}
TEST_P(Verify, WrongChainPosition) {
  finds_after("UPDATE utxos SET chain_position = chain_position - 1",
              "a coin stands in the chain where its transaction does");
}
TEST_P(Verify, CoinMissingInSummary) {
  finds_after("UPDATE balance_summary SET amount = amount + 1 WHERE address_id <> 0",
              "every coin that counts is in the summary");
}
TEST_P(Verify, SurplusInSummary) {
  finds_after(
      "INSERT INTO balance_summary SELECT DISTINCT wallet_id, account_id, address_id,"
      " 'locked', 1, 5 FROM balance_summary WHERE address_id <> 0",
      "the summary of an address has nothing else");
}
TEST_P(Verify, AccountSumDiffersFromAddresses) {
  finds_after("UPDATE balance_summary SET coins = coins + 1 WHERE address_id = 0",
              "an account's summary is the sum");
}
TEST_P(Verify, BalanceWithoutAccount) {
  finds_after("DELETE FROM balance_summary WHERE address_id = 0",
              "every address with a balance has an account");
}
TEST_P(Verify, ValidWithReason) {
  finds_after("UPDATE transactions SET reason = 'x'", "an invalid transaction says why");
}
TEST_P(Verify, InvalidWithoutReason) {
  see(tx({foreign(2)}, {{99, 5}}));
  finds_after("UPDATE transactions SET reason = NULL", "an invalid transaction says why");
}
TEST_P(Verify, WrongScriptHash) {
  finds_after("UPDATE addresses SET script_hash = " + blob(foreign(1).tx.view()) +
                  " WHERE script_pub_key = " + blob(script(5)),
              "has another script than its hash says");
}
TEST_P(Verify, UnreadableBytes) {
  finds_after("UPDATE tx_raw SET raw_tx = " + blob(Bytes{1, 2, 3}), "cannot be read");
}
TEST_P(Verify, BytesOfOtherTransaction) {
  finds_after(fmt::format("UPDATE tx_raw SET raw_tx = {} WHERE tx_id = {}", blob(child_.raw),
                          id_of(loose_)),
              "has the bytes of another");
}
TEST_P(Verify, InputsDifferFromBytes) {
  finds_after(
      fmt::format("UPDATE tx_inputs SET prev_output_index = 9 WHERE tx_id = {}", id_of(loose_)),
      "has other inputs than its bytes say");
}
TEST_P(Verify, SurplusInput) {
  finds_after(fmt::format("INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash,"
                          " prev_output_index) VALUES ({}, {}, 2, {}, 9)",
                          alice_.value, id_of(loose_), blob(foreign(77).tx.view())),
              "has other inputs than its bytes say");
}
TEST_P(Verify, MissingInput) {
  finds_after(
      fmt::format("DELETE FROM tx_inputs WHERE tx_id = {} AND input_index = 1", id_of(loose_)),
      "lacks an input");
}
TEST_P(Verify, CoinsDifferFromBytes) {
  ok(sql("UPDATE utxos SET amount = amount + 1 WHERE spent_by_tx_id IS NULL"));
  finds("has another output 0 than its coin says");
}

TEST_P(Verify, ReportsEveryRule) {
  std::vector<std::string> said;
  ok(store().verify([&](std::string_view what) { said.emplace_back(what); }));
  EXPECT_EQ(said.size(), 27u) << "a new rule needs a test above";
}

TEST_P(Verify, ReportsCounts) {
  const auto verified = store().verify();
  ok(verified);
  EXPECT_EQ(verified->wallets, 1u);
  EXPECT_EQ(verified->transactions, 5u);
  EXPECT_EQ(verified->coins, 6u);
  EXPECT_EQ(verified->inputs, 5u);
  EXPECT_EQ(verified->addresses, 3u);
}

}  // namespace
}  // namespace coffer::wallet::test
