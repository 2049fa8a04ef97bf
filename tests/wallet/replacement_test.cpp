// Transactions against each other (W2, W3, E1): who wins, who loses, and what becomes of the coins.
#include "wallet/support/bulk.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Replacement : public WalletTest {
 protected:
  void load(const std::vector<BulkTx>& txs) { ok(BulkLoad(*engine_, alice_).run(txs)); }
};
COFFER_ON_BOTH_ENGINES(Replacement);

TEST_P(Replacement, DroppedInputIsFreed) {
  const MadeTx one = confirmed(100), two = confirmed(200);
  const MadeTx first = tx({coin(one), coin(two)}, {{99, 250}});
  see(first);
  EXPECT_EQ(balance().total, 0u);
  const MadeTx second = tx({coin(one)}, {{99, 80}});
  see(second);
  EXPECT_EQ(status(first), "replaced: replaced");
  EXPECT_EQ(state(coin(one)), "spent");
  EXPECT_EQ(state(coin(two)), "confirmed");
  EXPECT_EQ(balance().spendable, 200u);
}

TEST_P(Replacement, ReplacementCanBeReplaced) {
  const MadeTx money = confirmed();
  const MadeTx a = tx({coin(money)}), b = tx({coin(money)}), c = tx({coin(money)});
  see(a), see(b), see(c);
  EXPECT_EQ(status(a), "replaced: replaced");
  EXPECT_EQ(status(b), "replaced: replaced");
  EXPECT_EQ(status(c), "published");
  EXPECT_EQ(store().transaction(alice_, b.id)->entry.replaces, std::vector<Hash256>{a.id});
  EXPECT_EQ(store().transaction(alice_, b.id)->entry.replaced_by, std::vector<Hash256>{c.id});
  EXPECT_EQ(balance().unconfirmed, 100u);
}

TEST_P(Replacement, DescendantsFailWithoutEdge) {  // W3
  const MadeTx money = confirmed();
  const MadeTx first = tx({coin(money)}, {{1, 90}}), child = tx({coin(first)}, {{1, 80}});
  see(first), see(child);
  const MadeTx second = tx({coin(money)}, {{1, 85}});
  see(second);
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(store().transaction(alice_, first.id)->entry.replaced_by,
            std::vector<Hash256>{second.id});
  EXPECT_TRUE(store().transaction(alice_, child.id)->entry.replaced_by.empty());
  EXPECT_EQ(store().transaction(alice_, second.id)->entry.replaces, std::vector<Hash256>{first.id});
}

TEST_P(Replacement, MinedReplacedTransactionRegainsInputs) {  // E1
  const MadeTx one = confirmed(100), two = confirmed(200);
  const MadeTx first = tx({coin(one), coin(two)}, {{1, 290}});
  const MadeTx second = tx({coin(one)}, {{1, 90}});
  const MadeTx child = tx({coin(second)}, {{1, 80}});
  const MadeTx grandchild = tx({coin(child)}, {{1, 70}});
  see(first), see(second), see(child), see(grandchild);
  mine({first});
  EXPECT_EQ(status(first), "published@2");
  EXPECT_EQ(status(second), "failed: double_spent");
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(status(grandchild), "failed: parent_invalid");
  EXPECT_EQ(spender(coin(one)), first.id);
  EXPECT_EQ(spender(coin(two)), first.id);
  EXPECT_EQ(balance().confirmed, 290u);
  EXPECT_EQ(balance().total, 290u);
}

TEST_P(Replacement, MinedFailedTransactionBecomesValid) {  // E1
  const MadeTx money = confirmed();
  const MadeTx planned = tx({coin(money)}, {{1, 90}});
  ok(record_pending(planned));
  ok(store().cancel(alice_, planned.id));
  mine({planned});
  EXPECT_EQ(status(planned), "published@1");
  EXPECT_EQ(state(coin(money)), "spent");
}

TEST_P(Replacement, ForeignInputConflictIsDetected) {  // W2
  const MadeTx payment = tx({foreign(1)}, {{1, 500}});
  see(payment);
  EXPECT_EQ(balance().unconfirmed, 500u);
  // Somebody else's transaction that pays us nothing.
  const MadeTx theft = tx({foreign(1)}, {{99, 499}});
  see(theft);
  EXPECT_EQ(status(payment), "replaced: replaced");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(Replacement, ForeignInputConflictInBlockIsDetected) {  // W2
  const MadeTx payment = tx({foreign(1)}, {{1, 500}});
  const MadeTx onward = tx({coin(payment)}, {{1, 450}});
  see(payment), see(onward);
  mine({tx({foreign(1)}, {{99, 499}})});
  EXPECT_EQ(status(payment), "failed: double_spent");
  EXPECT_EQ(status(onward), "failed: parent_invalid");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(Replacement, ForeignInputConflictIsDetectedAfterRestart) {  // W2
  const MadeTx payment = tx({foreign(1)}, {{1, 500}});
  see(payment);
  engine_->open();
  mine({tx({foreign(1)}, {{99, 499}})});
  EXPECT_EQ(status(payment), "failed: double_spent");
}

TEST_P(Replacement, ChildSeenBeforeParentIsLinked) {  // W2
  const MadeTx parent = incoming(100);
  const MadeTx child = tx({coin(parent)}, {{1, 90}});
  see(child);
  EXPECT_EQ(balance().unconfirmed, 90u);
  EXPECT_FALSE(store().transaction(alice_, child.id)->entry.fee);
  see(parent);
  EXPECT_EQ(spender(coin(parent)), child.id);
  EXPECT_EQ(balance().unconfirmed, 90u);
  EXPECT_EQ(store().transaction(alice_, child.id)->entry.fee, 10u);
}

TEST_P(Replacement, LateParentInBlockIsLinked) {  // W2
  const MadeTx parent = incoming(100);
  const MadeTx child = tx({coin(parent)}, {{99, 40}, {1, 50}});
  ok(record_pending(child));
  mine({parent});
  EXPECT_EQ(state(coin(parent)), "locked");
  EXPECT_EQ(balance().locked, 100u);
}

TEST_P(Replacement, ReplacedTransactionSeenAgainStaysWhileInputHeld) {  // W3
  const MadeTx money = confirmed();
  const MadeTx first = tx({coin(money)}), second = tx({coin(money)});
  see(first), see(second);
  const std::string before = everything();
  see(first);
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(status(second), "published");
}

TEST_P(Replacement, ReplacedTransactionSeenAgainRevivesWhenInputFree) {  // W3
  const MadeTx money = confirmed(), other = confirmed();
  const MadeTx first = tx({coin(money)}, {{1, 90}});
  const MadeTx second = tx({coin(money), coin(other)}, {{99, 150}});
  see(first), see(second);
  mine({tx({coin(other)}, {{1, 95}})});
  EXPECT_EQ(status(second), "failed: double_spent");
  EXPECT_EQ(status(first), "replaced: replaced");
  see(first);
  EXPECT_EQ(status(first), "published");
  EXPECT_EQ(spender(coin(money)), first.id);
}

TEST_P(Replacement, DescendantsReviveOnlyWhenSeen) {  // W3
  const MadeTx money = confirmed();
  const MadeTx parent = tx({coin(money)}, {{1, 90}});
  const MadeTx child = tx({coin(parent)}, {{1, 80}});
  const MadeTx rival = tx({coin(money)}, {{99, 90}});
  see(parent), see(child), see(rival);
  see(child);  // its parent is invalid
  EXPECT_EQ(status(child), "failed: parent_invalid");
  mine({parent});
  EXPECT_EQ(status(child), "failed: parent_invalid");
  see(child);
  EXPECT_EQ(status(child), "published");
  EXPECT_EQ(balance().total, 80u);
}

TEST_P(Replacement, PendingOnHeldCoinIsConflict) {  // W3
  const MadeTx money = confirmed();
  see(tx({coin(money)}));
  const std::string before = everything();
  EXPECT_EQ(code(record_pending(tx({coin(money)}))), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(Replacement, PendingBumpTakesEffectWhenPublished) {  // W3
  const MadeTx money = confirmed();
  const MadeTx first = tx({coin(money)}, {{99, 50}, {1, 45}});
  see(first);
  const MadeTx bump = tx({coin(money)}, {{99, 50}, {1, 40}});
  ok(record_pending(bump, {.bump = true}));
  EXPECT_EQ(status(first), "published");
  EXPECT_EQ(spender(coin(money)), first.id);
  EXPECT_EQ(balance().unconfirmed, 45u);
  const auto published = store().publish(alice_, bump.id);
  ok(published);
  EXPECT_EQ(published->invalidated, std::vector<Hash256>{first.id});
  EXPECT_EQ(status(first), "replaced: replaced");
  EXPECT_EQ(spender(coin(money)), bump.id);
  EXPECT_EQ(balance().unconfirmed, 40u);
}

TEST_P(Replacement, CancelledBumpChangesNothing) {  // W3
  const MadeTx money = confirmed();
  const MadeTx first = tx({coin(money)});
  see(first);
  const MadeTx bump = tx({coin(money)});
  ok(record_pending(bump, {.bump = true}));
  ok(store().cancel(alice_, bump.id));
  EXPECT_EQ(status(first), "published");
  EXPECT_EQ(spender(coin(money)), first.id);
}

TEST_P(Replacement, BumpFailsWhenOriginalIsMined) {  // W3
  const MadeTx money = confirmed();
  const MadeTx first = tx({coin(money)}), bump = tx({coin(money)});
  see(first);
  ok(record_pending(bump, {.bump = true}));
  mine({first});
  EXPECT_EQ(status(bump), "failed: double_spent");
  EXPECT_EQ(code(record_pending(tx({coin(money)}), {.bump = true})), Code::kConflict);
}

TEST_P(Replacement, ReplacingOwnParentIsRefused) {  // W3
  const MadeTx money = confirmed();
  const MadeTx parent = tx({coin(money)});
  see(parent);
  const std::string before = everything();
  EXPECT_EQ(code(record(tx({coin(parent), coin(money)}))), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(Replacement, ChainOf2100DescendantsIsInvalidated) {
  const MadeTx money = confirmed();
  std::vector<BulkTx> chain = {{tx({coin(money)}, {{1, 50}})}};
  for (int i = 0; i < 2'100; ++i) chain.push_back({tx({coin(chain.back().tx)}, {{1, 50}})});
  load(chain);
  EXPECT_EQ(balance().unconfirmed, 50u);
  EXPECT_EQ(balance().total, 50u);
  mine({tx({coin(money)}, {{1, 60}})});
  EXPECT_EQ(status(chain[0].tx), "failed: double_spent");
  EXPECT_EQ(status(chain[1].tx), "failed: parent_invalid");
  EXPECT_EQ(status(chain.back().tx), "failed: parent_invalid");
  EXPECT_EQ(number("SELECT count(*) FROM transactions WHERE status = 'failed'"), 2'101);
  EXPECT_EQ(balance().total, 60u);
}

TEST_P(Replacement, CoinWith2100Conflicts) {
  const MadeTx money = confirmed();
  // As a stubborn payer raises the fee: the last one holds the coin.
  std::vector<BulkTx> rivals;
  rivals.reserve(2'100);
  for (int i = 0; i < 2'100; ++i)
    rivals.push_back({tx({coin(money)}, {{1, 50}}), TxStatus::kReplaced});
  rivals.back().status = TxStatus::kPublished;
  load(rivals);
  EXPECT_EQ(spender(coin(money)), rivals.back().tx.id);
  const MadeTx next = tx({coin(money)}, {{1, 40}});
  see(next);
  EXPECT_EQ(status(rivals.back().tx), "replaced: replaced");
  EXPECT_EQ(balance().total, 40u);
  mine({rivals.front().tx});
  EXPECT_EQ(status(rivals.front().tx), "published@1");
  EXPECT_EQ(status(next), "failed: double_spent");
  EXPECT_EQ(balance().total, 50u);
}

TEST_P(Replacement, CoinWith2100PendingSpenders) {
  const MadeTx money = confirmed();
  std::vector<BulkTx> plans;
  plans.reserve(2'100);
  for (int i = 0; i < 2'100; ++i)
    plans.push_back({tx({coin(money)}, {{1, 50}}), TxStatus::kPending});
  load(plans);
  EXPECT_EQ(balance().locked, 100u);
  mine({tx({coin(money)}, {{1, 60}})});
  EXPECT_EQ(number("SELECT count(*) FROM transactions WHERE status = 'failed'"), 2'100);
  EXPECT_EQ(store().transaction(alice_, plans.back().tx.id)->entry.reason, "double_spent");
  EXPECT_EQ(balance().total, 60u);
}

}  // namespace
}  // namespace coffer::wallet::test
