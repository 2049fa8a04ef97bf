// Addresses that are imported after the transactions that paid to them were pruned: a rescan finds
// their coins, and nothing that was spent comes back.
#include "wallet/support/prune_test_base.h"

namespace coffer::wallet::test {
namespace {

class PrunedBefore : public PruneTest {
 protected:
  // Every block again, from the first: how many transactions changed.
  std::uint64_t rescan() {
    std::uint64_t changed = 0;
    for (const auto& block : chain_) {
      const auto looked =
          consumer().rescan_block(alice_, *block, [](const auto&) { return Result<bool>(true); });
      ok(looked);
      changed += looked.value_or(0);
    }
    return changed;
  }
  void expect_nothing_new() {
    const std::string before = everything();
    EXPECT_EQ(rescan(), 0u);
    EXPECT_EQ(everything(), before);
  }
};
COFFER_ON_BOTH_ENGINES(PrunedBefore);

TEST_P(PrunedBefore, CoinOfLaterImportIsFound) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  mine({money});
  mine({tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  prune();
  EXPECT_EQ(status(money), "absent");
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 1u);
  EXPECT_EQ(state(coin(money, 1)), "confirmed");
  EXPECT_EQ(state(coin(money, 0)), "absent");  // spent long ago
  EXPECT_EQ(balance().spendable, 50u);
  EXPECT_EQ(totals(), 50);
  EXPECT_EQ(summary("transactions"), 2);
  expect_nothing_new();
}

TEST_P(PrunedBefore, CoinOfStubIsFoundByRecord) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  const MadeTx payment = tx({coin(money)}, {{99, 40}, {3, 30}});
  mine({money}), mine({payment});
  mine_empty(300);
  prune();
  watch(alice_, script(3));
  RecordOptions in_block;
  in_block.block = BlockRef{1, chain_[1]->hash, chain_[1]->time_unix_s, 1};
  const auto recorded = record(payment, in_block);
  ok(recorded);
  EXPECT_TRUE(recorded->changed);
  EXPECT_EQ(state(coin(payment, 1)), "confirmed");
  EXPECT_EQ(spender(coin(money)), payment.id);
  EXPECT_EQ(balance().confirmed, 80u);
  EXPECT_EQ(totals(), 80);
  expect_nothing_new();
  // A wrong height says nothing of it.
  watch(alice_, script(99));
  in_block.block = BlockRef{7, chain_[7]->hash, chain_[7]->time_unix_s, 1};
  EXPECT_FALSE(record(payment, in_block)->changed);
}

TEST_P(PrunedBefore, RescanAfterPruneFindsEarlierImport) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  mine({money});
  mine({tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  watch(alice_, script(3));
  prune();
  EXPECT_EQ(rescan(), 1u);
  EXPECT_EQ(balance().confirmed, 50u);
  expect_nothing_new();
}

TEST_P(PrunedBefore, CoinSpentByKeptTransaction) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  mine({money});
  // It stays because of its own coin.
  const MadeTx payment = tx({coin(money), coin(money, 1)}, {{99, 90}, {2, 10}});
  mine({payment});
  mine_empty(300);
  prune();
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 1u);
  EXPECT_EQ(state(coin(money, 1)), "spent");
  EXPECT_EQ(spender(coin(money, 1)), payment.id);
  EXPECT_EQ(balance().total, 10u);
  EXPECT_EQ(totals(), 10);
  expect_nothing_new();
}

TEST_P(PrunedBefore, CoinSpentByPrunedTransaction) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  const MadeTx payment = tx({coin(money), coin(money, 1)}, {{99, 90}});
  mine({money});
  mine({payment});
  mine_empty(300);
  prune();
  EXPECT_EQ(number("SELECT count(*) FROM transactions"), 0);
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 2u);
  EXPECT_EQ(state(coin(money, 1)), "spent");
  EXPECT_EQ(spender(coin(money, 1)), payment.id);
  EXPECT_EQ(balance().total, 0u);
  EXPECT_EQ(totals(), 0);
  EXPECT_EQ(summary("transactions"), 2);
  expect_nothing_new();
  // Both go once more, with what they had left behind, and stay gone.
  prune();
  EXPECT_EQ(number("SELECT count(*) FROM transactions"), 0);
  EXPECT_EQ(summary("transactions"), 2);
  EXPECT_EQ(summary("coins"), 2);
  EXPECT_EQ(totals(), 0);
  expect_nothing_new();
}

TEST_P(PrunedBefore, KeptCoinSpentByPrunedTransaction) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 7}, {3, 50}});
  const MadeTx payment = tx({coin(money), coin(money, 2)}, {{99, 90}});
  mine({money, payment});
  mine_empty(300);
  prune();
  EXPECT_EQ(status(money), "published@0");
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 2u);
  EXPECT_EQ(spender(coin(money, 2)), payment.id);
  EXPECT_EQ(balance().total, 7u);
  EXPECT_EQ(totals(), 7);
  expect_nothing_new();
}

TEST_P(PrunedBefore, ChainTakesCoinFromHolder) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  const MadeTx payment = tx({coin(money), coin(money, 1)}, {{99, 90}});
  mine({money});
  mine({payment});
  mine_empty(300);
  prune();
  watch(alice_, script(3));
  // Between the two blocks it looks unspent.
  ok(consumer().rescan_block(alice_, *chain_[0], [](const auto&) { return Result<bool>(true); }));
  const MadeTx rival = tx({coin(money, 1)}, {{1, 40}}), child = tx({coin(rival)}, {{1, 30}});
  ok(record_pending(rival));
  ok(record_pending(child));
  EXPECT_EQ(rescan(), 1u);
  EXPECT_EQ(status(rival), "failed: double_spent");
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(spender(coin(money, 1)), payment.id);
  EXPECT_EQ(balance().total, 0u);
  expect_nothing_new();
}

TEST_P(PrunedBefore, FoundCoinIsSpentAndPruned) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  mine({money});
  mine({tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  prune();
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 1u);
  const MadeTx payment = tx({coin(money, 1)}, {{99, 45}});
  ok(record_pending(payment));
  EXPECT_EQ(balance().locked, 50u);
  see(payment);
  mine({payment});
  EXPECT_EQ(balance().total, 0u);
  mine_empty(288);
  prune();
  EXPECT_EQ(number("SELECT count(*) FROM transactions"), 0);
  EXPECT_EQ(summary("transactions"), 3);
  EXPECT_EQ(summary("received"), 150);
  EXPECT_EQ(totals(), 0);
  expect_nothing_new();
}

TEST_P(PrunedBefore, StubWithOwnCoinIsKept) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  const MadeTx payment = tx({coin(money)}, {{99, 40}, {3, 30}});
  mine({money, payment});
  mine_empty(300);
  prune();
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 1u);
  // The last coin that named it as its spender goes.
  mine({tx({coin(money, 1)}, {{99, 45}})});
  mine_empty(288);
  prune();
  EXPECT_EQ(status(money), "absent");
  EXPECT_EQ(state(coin(payment, 1)), "confirmed");
  EXPECT_EQ(balance().spendable, 30u);
  expect_nothing_new();
}

// An older version believed a person who named a lower block, and pruned.
TEST_P(PrunedBefore, BlockOfFoundCoinCannotBeUndone) {  // U2
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {3, 50}});
  mine_empty(5);
  mine({money, tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  prune();
  ok(sql("UPDATE pruned_transactions SET height = 0"));
  ok(sql("UPDATE pruned_summary SET lowest_height = 0, highest_height = 0, fixed_height = 0"));
  watch(alice_, script(3));
  EXPECT_EQ(rescan(), 1u);
  EXPECT_EQ(status(money), "published@5");
  const std::string before = everything();
  EXPECT_EQ(code(try_roll_back(chain_.size() - 5)), Code::kBeyondWindow);
  EXPECT_EQ(everything(), before);
}

// The coin is known to be spent, although nothing is left of it but its place in the list.
// Which of several is named does not depend on the engine.
TEST_P(PrunedBefore, EarlierOfTwoStubsIsNamed) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}, {1, 25}});
  const MadeTx first = tx({coin(money, 1)}, {{99, 40}}), second = tx({coin(money)}, {{99, 90}});
  mine({money});
  mine({first}), mine({second});
  mine_empty(300);
  EXPECT_EQ(prune().stubs, 2u);
  const auto refused = record_pending(tx({coin(money), coin(money, 1)}, {{1, 80}}));
  EXPECT_EQ(code(refused), Code::kConflict);
  EXPECT_NE(refused.error().message.find(to_hex(reversed(first.id).view())), std::string::npos)
      << refused.error().message;
}

TEST_P(PrunedBefore, PrunedCoinCannotBeSpent) {
  const MadeTx money = confirmed(100);
  mine({tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  prune();
  EXPECT_EQ(status(money), "absent");
  const MadeTx again = tx({coin(money)}, {{1, 95}});
  const std::string before = everything();
  EXPECT_EQ(code(record(again)), Code::kConflict);
  EXPECT_EQ(code(record_pending(again)), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(PrunedBefore, RollbackBelowSpenderOfPrunedIsRefused) {  // U2
  const MadeTx money = confirmed(100);
  mine_empty(9);
  const MadeTx spend = tx({coin(money), foreign(5)}, {{1, 90}});
  mine({spend});  // stays whole: its coin is unspent
  mine_empty(300);
  prune();
  EXPECT_EQ(status(money), "absent");
  EXPECT_EQ(status(spend), "published@10");
  EXPECT_EQ(summary("highest_height"), 0);
  const std::string before = everything();
  EXPECT_EQ(code(try_roll_back(chain_.size() - 10)), Code::kBeyondWindow);
  EXPECT_EQ(everything(), before);
  roll_back(300);
  EXPECT_EQ(status(spend), "published@10");
}

TEST_P(PrunedBefore, OtherBlockForPrunedIsRefused) {
  const MadeTx money = confirmed(100);
  mine({tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  prune();
  RecordOptions wrong;
  wrong.block = BlockRef{7, {}, 0, 1};
  wrong.block->hash.fill(0xee);
  const std::string before = everything();
  EXPECT_EQ(code(record(money, wrong)), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

}  // namespace
}  // namespace coffer::wallet::test
