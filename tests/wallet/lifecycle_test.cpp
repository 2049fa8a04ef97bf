// Every arrow of the two state machines of 001 §3.1 and §4.1, each a test named after it.
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

// ---- transactions ----

class TxStatusChange : public WalletTest {};
COFFER_ON_BOTH_ENGINES(TxStatusChange);

TEST_P(TxStatusChange, UserCreatesPending) {
  const MadeTx money = confirmed();
  const MadeTx payment = tx({coin(money)}, {{99, 60}, {1, 30}});
  const auto recorded = record_pending(payment);
  ok(recorded);
  EXPECT_TRUE(recorded->changed);
  EXPECT_EQ(status(payment), "pending");
  EXPECT_EQ(state(coin(money)), "locked");
  EXPECT_EQ(state(coin(payment, 1)), "pending");
}

TEST_P(TxStatusChange, MempoolPublishes) {
  const MadeTx payment = incoming();
  see(payment);
  EXPECT_EQ(status(payment), "published");
  EXPECT_TRUE(in_mempool(payment));
  EXPECT_EQ(balance().unconfirmed, 100u);
}

TEST_P(TxStatusChange, BlockConfirms) {
  mine();
  const MadeTx payment = confirmed();
  EXPECT_EQ(status(payment), "published@1");
  EXPECT_EQ(balance().confirmed, 100u);
}

TEST_P(TxStatusChange, PendingToPublishedByBroadcast) {
  const MadeTx money = confirmed();
  const MadeTx payment = tx({coin(money)});
  ok(record_pending(payment));
  const auto published = store().publish(alice_, payment.id);
  ok(published);
  EXPECT_TRUE(published->changed);
  EXPECT_EQ(status(payment), "published");
  EXPECT_FALSE(in_mempool(payment));  // only the node says so
  EXPECT_EQ(state(coin(money)), "spent");
  EXPECT_FALSE(store().publish(alice_, payment.id)->changed);
}

TEST_P(TxStatusChange, PendingToPublishedByMempool) {
  const MadeTx payment = tx({coin(confirmed())});
  ok(record_pending(payment));
  see(payment);
  EXPECT_EQ(status(payment), "published");
  EXPECT_TRUE(in_mempool(payment));
}

// A command that opens the wallets, beside the process that hears the mempool.
TEST_P(TxStatusChange, OnlyWhoHearsTheMempoolForgetsIt) {
  const MadeTx payment = tx({coin(confirmed())});
  ok(record_pending(payment));
  see(payment);
  ConsumerOptions deaf;
  deaf.hears_mempool = false;
  ok(Consumer::open(store(), deaf));
  EXPECT_TRUE(in_mempool(payment));
  ok(Consumer::open(store()));
  EXPECT_FALSE(in_mempool(payment));
}

TEST_P(TxStatusChange, PublishedToReplacedByHigherFee) {
  const MadeTx money = confirmed();
  const MadeTx first = tx({coin(money)}, {{99, 50}, {1, 40}});
  const MadeTx second = tx({coin(money)}, {{99, 50}, {1, 30}});
  see(first);
  see(second);
  EXPECT_EQ(status(first), "replaced: replaced");
  EXPECT_FALSE(in_mempool(first));
  EXPECT_EQ(status(second), "published");
  EXPECT_EQ(spender(coin(money)), second.id);
  EXPECT_EQ(balance().unconfirmed, 30u);
  const auto detail = store().transaction(alice_, first.id);
  ok(detail);
  EXPECT_EQ(detail->entry.replaced_by, std::vector<Hash256>{second.id});
  EXPECT_EQ(store().transaction(alice_, second.id)->entry.replaces, std::vector<Hash256>{first.id});
}

TEST_P(TxStatusChange, PublishedToFailedByDoubleSpend) {
  const MadeTx money = confirmed();
  const MadeTx ours = tx({coin(money)}, {{1, 90}});
  const MadeTx child = tx({coin(ours)}, {{1, 80}});
  const MadeTx theirs = tx({coin(money)}, {{99, 90}});
  see(ours);
  see(child);
  mine({theirs});
  EXPECT_EQ(status(ours), "failed: double_spent");
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(status(theirs), "published@1");
  EXPECT_EQ(state(coin(ours)), "dead");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(TxStatusChange, CoinbaseToOrphanedByReorg) {
  const MadeTx reward = coinbase();
  mine({reward});
  roll_back(1);
  EXPECT_EQ(status(reward), "orphaned: reorganised");
  EXPECT_EQ(state(coin(reward)), "orphaned");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(TxStatusChange, PendingToFailedByPublishedRival) {
  const MadeTx money = confirmed();
  const MadeTx planned = tx({coin(money)}, {{1, 90}});
  const MadeTx elsewhere = tx({coin(money)}, {{1, 95}});
  ok(record_pending(planned));
  see(elsewhere);
  EXPECT_EQ(status(planned), "failed: double_spent");
  EXPECT_EQ(spender(coin(money)), elsewhere.id);
}

TEST_P(TxStatusChange, PendingToFailedByMinedRival) {
  const MadeTx money = confirmed();
  const MadeTx planned = tx({coin(money)}, {{1, 90}});
  ok(record_pending(planned));
  mine({tx({coin(money)}, {{99, 95}})});
  EXPECT_EQ(status(planned), "failed: double_spent");
  EXPECT_EQ(state(coin(money)), "spent");
}

TEST_P(TxStatusChange, OrphanedToPublishedWhenReconfirmed) {
  const MadeTx reward = coinbase();
  mine({reward});
  bring_back(roll_back(1));
  EXPECT_EQ(status(reward), "published@0");
  EXPECT_EQ(state(coin(reward)), "immature");
  // In another block at another height as well.
  roll_back(1);
  mine();
  mine({reward});
  EXPECT_EQ(status(reward), "published@1");
  EXPECT_EQ(balance().immature, 5'000u);
}

TEST_P(TxStatusChange, ConfirmedToUnconfirmedByReorg) {
  mine();
  const MadeTx payment = confirmed();
  roll_back(1);
  EXPECT_EQ(status(payment), "published");
  EXPECT_FALSE(in_mempool(payment));
  EXPECT_EQ(balance().unconfirmed, 100u);
  mine();
  mine({payment});
  EXPECT_EQ(status(payment), "published@2");
}

TEST_P(TxStatusChange, PendingToFailedByCancel) {
  const MadeTx money = confirmed();
  const MadeTx planned = tx({coin(money)}, {{1, 90}});
  const MadeTx chained = tx({coin(planned)}, {{1, 80}});
  ok(record_pending(planned));
  ok(record_pending(chained));
  const auto cancelled = store().cancel(alice_, planned.id);
  ok(cancelled);
  EXPECT_EQ(cancelled->invalidated, std::vector<Hash256>{chained.id});
  EXPECT_EQ(status(planned), "failed: cancelled");
  EXPECT_EQ(status(chained), "failed: parent_invalid");
  EXPECT_EQ(state(coin(money)), "confirmed");
  EXPECT_FALSE(store().cancel(alice_, planned.id)->changed);
}

TEST_P(TxStatusChange, PublishedCannotBeCancelled) {
  const MadeTx payment = tx({coin(confirmed())});
  see(payment);
  EXPECT_EQ(code(store().cancel(alice_, payment.id)), Code::kConflict);
  mine({payment});
  EXPECT_EQ(code(store().cancel(alice_, payment.id)), Code::kConflict);
  EXPECT_EQ(status(payment), "published@1");
}

TEST_P(TxStatusChange, InvalidCannotBePublishedByUser) {
  const MadeTx money = confirmed();
  const MadeTx planned = tx({coin(money)});
  ok(record_pending(planned));
  see(tx({coin(money)}));
  EXPECT_EQ(code(store().publish(alice_, planned.id)), Code::kConflict);
  EXPECT_EQ(status(planned), "failed: double_spent");
}

TEST_P(TxStatusChange, UnconfirmedCoinbaseIsRefused) {
  const MadeTx reward = coinbase();
  EXPECT_EQ(code(record(reward)), Code::kInvalidInput);
  EXPECT_EQ(code(record_pending(reward)), Code::kInvalidInput);
  EXPECT_EQ(status(reward), "absent");
}

// ---- coins ----

class CoinStateChange : public WalletTest {
 protected:
  Result<std::int64_t> lease(const chain::Outpoint& outpoint, std::int64_t ms = 1'000) {
    return store().lease(alice_, {{outpoint}, lock_id(1), ms});
  }
  bool leased(const chain::Outpoint& outpoint) {
    return store().coin(alice_, outpoint)->lease.has_value();
  }
};
COFFER_ON_BOTH_ENGINES(CoinStateChange);

TEST_P(CoinStateChange, ValidTransactionMakesUnspent) {
  const MadeTx seen = incoming();
  see(seen);
  EXPECT_EQ(state(coin(seen)), "unconfirmed");
  mine({seen});
  EXPECT_EQ(state(coin(seen)), "confirmed");
}

TEST_P(CoinStateChange, CoinbaseImmatureToUnspent) {
  const MadeTx reward = coinbase();
  mine({reward});
  EXPECT_EQ(state(coin(reward)), "immature");
  mine_empty(99);
  EXPECT_EQ(state(coin(reward)), "immature");
  mine();
  EXPECT_EQ(state(coin(reward)), "confirmed");
}

TEST_P(CoinStateChange, UnspentToLeasedToUnspent) {
  const MadeTx money = confirmed();
  ok(lease(coin(money)));
  EXPECT_TRUE(leased(coin(money)));
  EXPECT_EQ(balance().spendable, 0u);
  ok(store().release(alice_, std::vector{coin(money)}, lock_id(1)));
  EXPECT_FALSE(leased(coin(money)));
  ok(lease(coin(money)));
  clock().advance_ms(1'000);
  EXPECT_FALSE(leased(coin(money)));
  EXPECT_EQ(balance().spendable, 100u);
}

TEST_P(CoinStateChange, UnspentToSpent) {
  const MadeTx money = confirmed();
  see(tx({coin(money)}, {{99, 90}}));
  EXPECT_EQ(state(coin(money)), "spent");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(CoinStateChange, LeasedToSpentByForce) {
  const MadeTx money = confirmed();
  ok(lease(coin(money)));
  const MadeTx payment = tx({coin(money)}, {{99, 90}});
  EXPECT_EQ(code(record_pending(payment)), Code::kConflict);
  EXPECT_EQ(state(coin(money)), "confirmed");
  ok(record_pending(payment, {.force = true}));
  EXPECT_EQ(state(coin(money)), "locked");
  EXPECT_EQ(balance().leased, 0u);
}

TEST_P(CoinStateChange, LeasedToSpentByHolder) {
  const MadeTx money = confirmed();
  ok(lease(coin(money)));
  const MadeTx payment = tx({coin(money)}, {{99, 90}});
  EXPECT_EQ(code(record_pending(payment, {.lock_id = lock_id(2)})), Code::kConflict);
  ok(record_pending(payment, {.lock_id = lock_id(1)}));
  EXPECT_EQ(state(coin(money)), "locked");
}

TEST_P(CoinStateChange, LeasedToSpentByNetwork) {
  const MadeTx money = confirmed();
  ok(lease(coin(money)));
  see(tx({coin(money)}, {{99, 90}}));
  EXPECT_EQ(state(coin(money)), "spent");
}

TEST_P(CoinStateChange, SpentToUnspentWhenSpenderInvalidated) {
  const MadeTx money = confirmed();
  const MadeTx reward = coinbase();
  mine({reward});
  mine_empty(100);
  const MadeTx both = tx({coin(reward), coin(money)}, {{99, 90}});
  mine({both});
  EXPECT_EQ(state(coin(money)), "spent");
  roll_back(102);  // the coinbase too
  EXPECT_EQ(status(both), "failed: parent_invalid");
  EXPECT_EQ(state(coin(money)), "confirmed");
  EXPECT_EQ(state(coin(reward)), "orphaned");
  EXPECT_EQ(balance().total, 100u);
}

TEST_P(CoinStateChange, UnspentToDeadWhenParentInvalidated) {
  const MadeTx money = confirmed();
  const MadeTx payment = tx({coin(money)}, {{1, 90}});
  see(payment);
  EXPECT_EQ(state(coin(payment)), "unconfirmed");
  see(tx({coin(money)}, {{99, 90}}));
  EXPECT_EQ(state(coin(payment)), "dead");
  EXPECT_EQ(code(lease(coin(payment))), Code::kConflict);
}

TEST_P(CoinStateChange, ImmatureToDeadToImmature) {
  const MadeTx reward = coinbase();
  mine({reward});
  EXPECT_EQ(code(lease(coin(reward))), Code::kConflict);
  const auto gone = roll_back(1);
  EXPECT_EQ(state(coin(reward)), "orphaned");
  EXPECT_EQ(code(lease(coin(reward))), Code::kConflict);
  bring_back(gone);
  EXPECT_EQ(state(coin(reward)), "immature");
}

// The money would count twice: once as locked, once as the child's.
TEST_P(TxStatusChange, ChildCannotBePublishedBeforeParent) {
  const MadeTx money = confirmed(100);
  const MadeTx parent = tx({coin(money)}, {{1, 95}});
  const MadeTx child = tx({coin(parent)}, {{2, 90}});
  ok(record_pending(parent));
  ok(record_pending(child));
  const std::string before = everything();
  EXPECT_EQ(code(store().publish(alice_, child.id)), Code::kConflict);
  EXPECT_EQ(code(record(tx({coin(parent)}, {{2, 80}}))), Code::kConflict);
  EXPECT_EQ(everything(), before);
  ok(store().publish(alice_, parent.id));
  ok(store().publish(alice_, child.id));
  EXPECT_EQ(balance().total, 90u);
}

// The network has a child only with its parents.
TEST_P(TxStatusChange, MempoolChildPublishesParents) {
  const MadeTx money = confirmed(100);
  const MadeTx bumped = tx({coin(money)}, {{1, 97}});
  see(bumped);
  const MadeTx parent = tx({coin(money)}, {{1, 95}});
  const MadeTx middle = tx({coin(parent)}, {{1, 93}});
  const MadeTx child = tx({coin(middle)}, {{2, 90}});
  ok(record_pending(parent, {.bump = true}));
  ok(record_pending(middle));
  see(child);
  for (const MadeTx& one : {parent, middle, child}) EXPECT_EQ(status(one), "published");
  EXPECT_EQ(status(bumped), "replaced: replaced");
  EXPECT_FALSE(in_mempool(parent));  // nobody has seen it yet
  EXPECT_EQ(balance().total, 90u);
}

TEST_P(TxStatusChange, ParentOfPublishedChildIsNotPending) {
  const MadeTx money = confirmed(100);
  const MadeTx parent = tx({coin(money)}, {{1, 95}});
  const MadeTx child = tx({coin(parent)}, {{2, 90}});
  see(child);
  EXPECT_EQ(code(record_pending(parent)), Code::kConflict);
  ok(record(parent));
  EXPECT_EQ(balance().total, 90u);
}

// What left the mempool while nobody listened was not heard of.
TEST_P(TxStatusChange, MempoolIsReadAgainAfterWait) {
  const MadeTx payment = incoming();
  see(payment);
  ok(consumer().probe());
  EXPECT_EQ(status(payment), "published");
  EXPECT_FALSE(in_mempool(payment));
  see(payment);
  EXPECT_TRUE(in_mempool(payment));
}

// The parent is in a block that this wallet was not there to see.
TEST_P(TxStatusChange, MinedChildPublishesParents) {  // E1
  const MadeTx money = confirmed(100);
  const MadeTx parent = tx({coin(money)}, {{1, 95}});
  ok(record_pending(parent));
  mine({tx({coin(parent)}, {{2, 90}})});
  EXPECT_EQ(status(parent), "published");
  EXPECT_EQ(balance().total, 90u);
  EXPECT_EQ(code(store().cancel(alice_, parent.id)), Code::kConflict);
}

}  // namespace
}  // namespace coffer::wallet::test
