// Blocks that come, go and come again (E1, E2, E3), the mempool beside them, and several wallets.
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Reorg : public WalletTest {};
COFFER_ON_BOTH_ENGINES(Reorg);

TEST_P(Reorg, SpentCoinbaseOrphansDescendants) {
  const MadeTx money = confirmed(100);
  const MadeTx reward = coinbase(5'000);
  mine({reward});
  mine_empty(99);
  const MadeTx child = tx({coin(reward), coin(money)}, {{1, 5'050}});
  const MadeTx grandchild = tx({coin(child)}, {{1, 5'000}});
  mine({child});
  mine({grandchild});
  EXPECT_EQ(balance().confirmed, 5'000u);
  const auto gone = roll_back(102);
  EXPECT_EQ(status(reward), "orphaned: reorganised");
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(status(grandchild), "failed: parent_invalid");
  EXPECT_EQ(state(coin(money)), "confirmed");
  EXPECT_EQ(state(coin(grandchild)), "dead");
  EXPECT_EQ(balance().total, 100u);
  EXPECT_EQ(balance().tip_height, 0);
  bring_back(gone);
  EXPECT_EQ(status(reward), "published@1");
  EXPECT_EQ(status(child), "published@101");
  EXPECT_EQ(status(grandchild), "published@102");
  EXPECT_EQ(spender(coin(money)), child.id);
  EXPECT_EQ(balance().confirmed, 5'000u);
  EXPECT_EQ(balance().total, 5'000u);
}

TEST_P(Reorg, WholeChain) {
  const MadeTx payment = confirmed(100);
  mine({coinbase()});
  const auto gone = roll_back(2);
  EXPECT_EQ(status(payment), "published");
  EXPECT_EQ(balance().tip_height, -1);
  EXPECT_EQ(number("SELECT count(*) FROM blocks"), 0);
  EXPECT_TRUE(consumer().position().at_origin);
  bring_back(gone);
  EXPECT_EQ(balance().confirmed, 100u);
}

TEST_P(Reorg, OtherBranchSpendsCoin) {
  mine();
  const MadeTx payment = tx({foreign(1)}, {{1, 100}});
  mine({payment});
  roll_back(1);
  mine({tx({foreign(1)}, {{99, 100}})});
  EXPECT_EQ(status(payment), "failed: double_spent");
  EXPECT_EQ(balance().total, 0u);
  // And back again.
  roll_back(1);
  mine();
  mine({payment});
  EXPECT_EQ(status(payment), "published@2");
  EXPECT_EQ(balance().confirmed, 100u);
}

TEST_P(Reorg, OtherBranchSpendsCoinAfterRestart) {
  mine();
  const MadeTx payment = tx({foreign(1)}, {{1, 100}});
  mine({payment});
  engine_->open();
  roll_back(1);
  engine_->open();
  mine({tx({foreign(1)}, {{99, 100}})});
  EXPECT_EQ(status(payment), "failed: double_spent");
}

TEST_P(Reorg, PendingTransactionsAreUnchanged) {
  mine();
  const MadeTx money = confirmed();
  const MadeTx planned = tx({coin(money)}, {{1, 90}});
  ok(record_pending(planned));
  roll_back(1);
  EXPECT_EQ(status(planned), "pending");
  EXPECT_EQ(state(coin(money)), "locked");
  EXPECT_EQ(balance().locked, 100u);
}

// ---- E3: replay ----

TEST_P(Reorg, SameBlockAgainChangesNothing) {  // E3
  const MadeTx money = confirmed();
  mine({tx({coin(money)}, {{99, 50}, {2, 40}}), incoming(7)});
  const std::string before = everything();
  deliver(chain_.back());
  deliver(chain_.front());
  EXPECT_EQ(everything(), before);
  engine_->open();
  deliver(chain_.front());
  deliver(chain_.back());
  EXPECT_EQ(everything(), before);
}

TEST_P(Reorg, OtherBlockAtSameHeightIsRefused) {  // E3
  mine();
  const MadeTx payment = confirmed();
  const auto other = make_block(network(), chain_.front()->hash, 1, {incoming(3)}, 77'777);
  const std::string before = everything();
  EXPECT_EQ(code(try_deliver(other)), Code::kUnavailable);
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(consumer().position(), position_after(2));
  mine();  // the right one goes on
  EXPECT_EQ(balance().tip_height, 2);
}

TEST_P(Reorg, SameTransactionAgainChangesNothing) {  // E3
  const MadeTx money = confirmed();
  const MadeTx seen = tx({coin(money)}, {{1, 90}});
  see(seen);
  const MadeTx planned = tx({coin(seen)}, {{1, 80}});
  ok(record_pending(planned));
  const std::string before = everything();
  see(seen);
  const auto again = record(seen);
  ok(again);
  EXPECT_FALSE(again->changed);
  const auto pending = record_pending(planned);
  ok(pending);
  EXPECT_FALSE(pending->changed);
  EXPECT_EQ(pending->status, TxStatus::kPending);
  EXPECT_EQ(everything(), before);
}

TEST_P(Reorg, UserConfirmationEqualsBlock) {  // E3
  const MadeTx money = confirmed();
  const std::string before = everything();
  RecordOptions options;
  options.block = BlockRef{0, chain_[0]->hash, chain_[0]->time_unix_s, 1};
  const auto again = record(money, options);
  ok(again);
  EXPECT_FALSE(again->changed);
  EXPECT_EQ(again->height, 0u);
  EXPECT_EQ(everything(), before);
  options.block->height = 5;
  EXPECT_EQ(code(record(money, options)), Code::kInvalidInput);  // above the tip
  mine_empty(5);
  EXPECT_EQ(code(record(money, options)), Code::kConflict);
}

TEST_P(Reorg, ChainOverridesUserNamedBlock) {  // E1
  // Before anything was followed, nothing contradicts them.
  const MadeTx payment = incoming(), reward = coinbase();
  Hash256 invented{};
  invented.fill(7);
  RecordOptions options;
  options.block = BlockRef{3, invented, 0, 1};
  ok(record(payment, options));
  options.block->index = 0;
  ok(record(reward, options));
  EXPECT_EQ(status(payment), "published@3");
  mine();
  const auto verified = store().verify();
  EXPECT_TRUE(verified) << verified.error().message;
  mine_empty(5);
  EXPECT_EQ(status(payment), "published");
  EXPECT_EQ(status(reward), "orphaned: reorganised");
  mine({payment});
  EXPECT_EQ(status(payment), "published@6");
}

TEST_P(Reorg, HeldBlocksCommitTogether) {  // E2
  const auto first = append_block({incoming(1)}), second = append_block({incoming(2)});
  deliver(first, 2);
  EXPECT_EQ(balance().total, 0u);
  EXPECT_EQ(consumer().position(), position_after(1));  // the bus goes on from there
  deliver(second, 1);
  ok(consumer().flush());
  EXPECT_EQ(balance().total, 3u);
  EXPECT_EQ(consumer().position(), position_after(2));
}

TEST_P(Reorg, CommitEndsAtWindow) {  // E2
  const auto give = [&](std::uint64_t amount, bool below_window, std::uint64_t behind) {
    const auto block = append_block({incoming(amount)});
    ok(consumer().on_block({Ordinal(block->number.value), block, below_window, behind}));
  };
  give(1, true, 4);
  give(2, true, 3);
  EXPECT_EQ(balance().tip_height, -1) << "both are held back";
  give(4, false, 2);
  EXPECT_EQ(balance().tip_height, 1) << "those below the window are committed, this one is held";
  EXPECT_EQ(balance().total, 3u);
  give(8, false, 0);
  EXPECT_EQ(balance().tip_height, 3);
  EXPECT_EQ(balance().total, 15u);
}

TEST_P(Reorg, LostHeldBlocksAreReplayed) {  // E2
  mine();
  deliver(append_block({incoming(5)}), 1);
  engine_->open();  // a crash
  EXPECT_EQ(consumer().position(), position_after(1));
  deliver(chain_.back());
  EXPECT_EQ(balance().total, 5u);
}

// ---- the mempool ----

TEST_P(Reorg, TxDroppedOnlyClearsInMempool) {  // W13
  const MadeTx payment = incoming();
  see(payment);
  drop(payment);
  EXPECT_FALSE(in_mempool(payment));
  EXPECT_EQ(status(payment), "published");
  EXPECT_EQ(balance().unconfirmed, 100u);
  see(payment);
  EXPECT_TRUE(in_mempool(payment));
  drop(incoming());  // one that nobody knows
}

TEST_P(Reorg, RestartForgetsMempool) {  // W3
  const MadeTx payment = incoming();
  see(payment);
  engine_->open();
  EXPECT_FALSE(in_mempool(payment));
  EXPECT_EQ(balance().unconfirmed, 100u);
  see(payment);
  EXPECT_TRUE(in_mempool(payment));
}

TEST_P(Reorg, ContradictingTransactionIsSkipped) {
  const MadeTx money = confirmed();
  mine({tx({coin(money)}, {{99, 90}})});
  const MadeTx late = tx({coin(money)}, {{1, 90}});
  see(late);
  EXPECT_EQ(status(late), "absent");
  EXPECT_EQ(code(record(late)), Code::kConflict);
}

// ---- several wallets ----

TEST_P(Reorg, PaymentBetweenTwoWallets) {
  const WalletId bob = make_wallet("bob", {10});
  const MadeTx money = confirmed(100);
  const MadeTx payment = tx({coin(money)}, {{10, 60}, {1, 30}});
  see(payment);
  EXPECT_EQ(balance().unconfirmed, 30u);
  EXPECT_EQ(balance(bob).unconfirmed, 60u);
  EXPECT_EQ(state(coin(payment, 0)), "absent");
  EXPECT_EQ(state(coin(payment, 0), bob), "unconfirmed");
  EXPECT_EQ(status(money, bob), "absent");
  EXPECT_EQ(store().transaction(alice_, payment.id)->entry.fee, 10u);
  EXPECT_FALSE(store().transaction(bob, payment.id)->entry.fee);
  mine({tx({coin(money)}, {{1, 95}})});
  EXPECT_EQ(status(payment), "failed: double_spent");
  EXPECT_EQ(status(payment, bob), "failed: double_spent");
  EXPECT_EQ(balance(bob).total, 0u);
  roll_back(1);
  mine({payment});
  EXPECT_EQ(balance().confirmed, 30u);
  EXPECT_EQ(balance(bob).confirmed, 60u);
}

TEST_P(Reorg, ScriptInTwoWallets) {
  const WalletId bob = make_wallet("bob", {1});
  const MadeTx money = confirmed(100);
  EXPECT_EQ(balance().confirmed, 100u);
  EXPECT_EQ(balance(bob).confirmed, 100u);
  // What one plans does not lock the other's coin.
  ok(record_pending(tx({coin(money)}, {{99, 90}})));
  EXPECT_EQ(state(coin(money)), "locked");
  EXPECT_EQ(state(coin(money), bob), "confirmed");
}

TEST_P(Reorg, RefusalOfOneWalletDoesNotAffectOther) {
  const WalletId bob = make_wallet("bob", {10});
  const MadeTx money = confirmed(100);
  mine({tx({coin(money)}, {{99, 90}})});
  // Bob never heard of the coin; for alice this contradicts the chain.
  const MadeTx late = tx({coin(money)}, {{10, 90}});
  see(late);
  EXPECT_EQ(status(late), "absent");
  EXPECT_EQ(status(late, bob), "published");
}

}  // namespace
}  // namespace coffer::wallet::test
