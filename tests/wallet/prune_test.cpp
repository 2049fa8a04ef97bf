// Manual pruning (W6) by the rule of safe deletion (X1).
#include "wallet/support/prune_test_base.h"

namespace coffer::wallet::test {
namespace {

using Prune = PruneTest;
COFFER_ON_BOTH_ENGINES(Prune);

TEST_P(Prune, SpentBelowWindowIsPruned) {  // X1
  const MadeTx money = confirmed(100);
  mine();
  const MadeTx payment = tx({coin(money)}, {{99, 90}});
  mine({payment});
  mine_empty(287);
  EXPECT_EQ(prune().transactions, 0u);
  EXPECT_EQ(status(money), "published@0");
  mine();
  EXPECT_EQ(prune().transactions, 2u);
  EXPECT_EQ(status(money), "absent");
  EXPECT_EQ(status(payment), "absent");
  EXPECT_EQ(prune().transactions, 0u);
}

TEST_P(Prune, UnspentCoinKeepsTransaction) {  // X1
  const MadeTx money = confirmed(100), pending = confirmed(50), seen = confirmed(25);
  ok(record_pending(tx({coin(pending)}, {{99, 40}})));
  see(tx({coin(seen)}, {{99, 20}}));
  mine_empty(400);
  EXPECT_EQ(prune().transactions, 0u);
  EXPECT_EQ(balance().total, 150u);
}

TEST_P(Prune, SpenderOfKeptCoinBecomesStub) {  // W6
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  mine({money});
  const MadeTx payment = tx({coin(money)}, {{99, 90}});
  mine({payment});
  mine_empty(300);
  const Pruned done = prune();
  EXPECT_EQ(done.transactions, 1u);
  EXPECT_EQ(done.stubs, 1u);
  EXPECT_EQ(status(payment), "published@1");
  const auto detail = store().transaction(alice_, payment.id);
  EXPECT_TRUE(detail->entry.pruned);
  EXPECT_TRUE(detail->raw.empty() && detail->inputs.empty());
  EXPECT_EQ(state(coin(money)), "spent");
  EXPECT_EQ(spender(coin(money)), payment.id);
  EXPECT_EQ(balance().total, 50u);
  // W5: nobody gets the coin back.
  EXPECT_EQ(code(record(tx({coin(money)}, {{1, 90}}))), Code::kConflict);
  EXPECT_EQ(code(record_pending(tx({coin(money)}), {.bump = true, .force = true})),
            Code::kConflict);
  see(tx({coin(money)}, {{1, 90}}));
  EXPECT_EQ(balance().total, 50u);
  // When the last coin is gone too, so is the stub.
  mine({tx({coin(money, 1)}, {{99, 40}})});
  mine_empty(288);
  EXPECT_EQ(prune().stubs, 0u);
  EXPECT_EQ(number("SELECT count(*) FROM transactions"), 0);
  EXPECT_EQ(summary("transactions"), 3);
}

TEST_P(Prune, ReplayOfPrunedChangesNothing) {  // W6
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  const MadeTx kept = tx({coin(money)}, {{99, 90}});
  mine({money, kept});
  const MadeTx other = confirmed(10), away = tx({coin(other)}, {{99, 5}});
  mine({away});
  mine_empty(300);
  EXPECT_EQ(prune().transactions, 3u);
  const std::string before = everything();
  for (const MadeTx& pruned : {kept, other, away}) {
    const auto again = record(pruned);
    ok(again);
    EXPECT_FALSE(again->changed);
    EXPECT_EQ(again->status, TxStatus::kPublished);
    EXPECT_TRUE(again->height);
    ok(record_pending(pruned));
    see(pruned);
  }
  RecordOptions in_block;
  in_block.block = BlockRef{2, chain_[2]->hash, chain_[2]->time_unix_s, 1};
  ok(record(away, in_block));
  for (const std::uint64_t height : {0u, 1u, 2u}) {
    const auto looked = consumer().rescan_block(alice_, *chain_[height],
                                                [](const auto&) { return Result<bool>(true); });
    ok(looked);
    EXPECT_EQ(*looked, 0u);
    deliver(chain_[height]);
  }
  EXPECT_EQ(everything(), before);
}

// Its coin was spent and pruned, and it is kept for the sake of another coin.
TEST_P(Prune, ReplayOfStubRestoresNoCoin) {  // W6
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  const MadeTx payment = tx({coin(money)}, {{99, 60}, {1, 30}});
  mine({money, payment});
  mine({tx({coin(payment, 1)}, {{99, 25}})});
  mine_empty(300);
  EXPECT_EQ(prune().stubs, 1u);
  EXPECT_EQ(state(coin(payment, 1)), "absent");
  const std::string before = everything();
  see(payment);
  ok(record(payment));
  ok(record_pending(payment));
  deliver(chain_[0]);
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(balance().total, 50u);
}

// No chain does it; whatever says so, what a stub has spent is not to be had again.
TEST_P(Prune, BlockDoesNotTakeCoinFromStub) {  // W5
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  const MadeTx payment = tx({coin(money)}, {{99, 90}});
  mine({money, payment});
  mine_empty(300);
  EXPECT_EQ(prune().stubs, 1u);
  const MadeTx rival = tx({coin(money)}, {{99, 80}});
  mine({rival});
  EXPECT_EQ(spender(coin(money)), payment.id);
  (void)roll_back(1);
  mine({tx(rival.inputs, {{99, 70}})});
  EXPECT_EQ(spender(coin(money)), payment.id);
  EXPECT_EQ(balance().total, 50u);
}

TEST_P(Prune, TotalsAreKept) {  // W6
  const MadeTx one = tx({foreign(1)}, {{1, 1'000}, {2, 200}}), two = incoming(30);
  mine({one, two});
  mine({tx({coin(one), coin(two)}, {{99, 1'000}, {1, 25}})});
  mine_empty(300);
  EXPECT_EQ(totals(), 225);
  EXPECT_FALSE(store().pruned(alice_)->lowest_height);
  EXPECT_EQ(prune().transactions, 1u);
  EXPECT_EQ(totals(), 225);
  const auto gone = store().pruned(alice_);
  ok(gone);
  EXPECT_EQ(gone->received, 30u);
  EXPECT_EQ(gone->coins, 1u);
  EXPECT_EQ(gone->lowest_height, 0u);
  EXPECT_EQ(balance().total, 225u);
  EXPECT_EQ(summary("transactions"), 1);
  EXPECT_EQ(summary("received"), 30);
  mine({tx({coin(one, 1)}, {{99, 200}})});
  mine_empty(288);
  EXPECT_GT(prune().transactions, 0u);
  EXPECT_EQ(totals(), 25);
  EXPECT_EQ(balance().total, 25u);
  EXPECT_EQ(summary("lowest_height"), 0);
}

TEST_P(Prune, RollbackBelowPrunedIsRefused) {  // W6
  const MadeTx money = confirmed(100);
  mine({tx({coin(money)}, {{99, 90}})});
  const MadeTx later = confirmed(7);
  mine_empty(300);
  EXPECT_EQ(prune().transactions, 2u);
  const std::string before = everything();
  EXPECT_EQ(code(try_roll_back(chain_.size() - 1)), Code::kBeyondWindow);
  EXPECT_EQ(code(try_roll_back(chain_.size())), Code::kBeyondWindow);
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(consumer().position(), position_after(chain_.size()));
  mine();  // it goes on
  (void)roll_back(chain_.size() - 2);
  EXPECT_EQ(status(later), "published");
}

TEST_P(Prune, BlockWithPrunedCannotBeReplaced) {  // W6
  const MadeTx money = confirmed(100);
  mine({tx({coin(money)}, {{99, 90}})});
  mine_empty(300);
  EXPECT_EQ(prune().transactions, 2u);
  const std::string before = everything();
  const auto other = make_block(network(), chain_[0]->hash, 1, {incoming(5)}, 777);
  EXPECT_EQ(
      code(consumer().rescan_block(alice_, *other, [](const auto&) { return Result<bool>(true); })),
      Code::kBeyondWindow);
  EXPECT_EQ(everything(), before);
}

TEST_P(Prune, DryRunEqualsRun) {
  const MadeTx money = tx({foreign(1)}, {{1, 100}, {2, 50}});
  mine({money, tx({coin(money)}, {{99, 90}}), incoming(5)});
  const MadeTx failed = tx({foreign(9)}, {{1, 5}});
  see(failed);
  see(tx({foreign(9)}, {{99, 5}}));
  mine_empty(300);
  clock().advance_ms(10);
  PruneOptions options;
  options.dry_run = true;
  options.invalid_older_than_ms = 10;
  const std::string before = everything();
  const Pruned promised = prune(options);
  EXPECT_EQ(everything(), before);
  options.dry_run = false;
  const Pruned done = prune(options);
  EXPECT_EQ(done.transactions, promised.transactions);
  EXPECT_EQ(done.stubs, promised.stubs);
  EXPECT_EQ(done.invalid, promised.invalid);
  EXPECT_EQ(done.coins, promised.coins);
  EXPECT_EQ(done.transactions, 1u);
  EXPECT_EQ(done.invalid, 1u);
}

TEST_P(Prune, InvalidIsPrunedByAge) {  // W6
  const MadeTx old = tx({foreign(1)}, {{1, 5}}), fresh = tx({foreign(2)}, {{1, 5}});
  const MadeTx rival = tx({foreign(1)}, {{1, 6}});
  see(old), see(fresh), see(rival);
  clock().advance_ms(1'000);
  see(tx({foreign(2)}, {{1, 6}}));
  EXPECT_EQ(prune().invalid, 0u);
  PruneOptions options;
  options.invalid_older_than_ms = 1'000;
  EXPECT_EQ(prune(options).invalid, 1u);
  EXPECT_EQ(status(old), "absent");
  EXPECT_EQ(status(fresh), "replaced: replaced");
  // It left no trace: mined after all, it is new, and wins.
  mine({old});
  EXPECT_EQ(status(old), "published@0");
  EXPECT_EQ(status(rival), "failed: double_spent");
}

// The block of the child is known, that of its parent is not: the parent still counts as replaced.
TEST_P(Prune, InvalidWithSpentCoinIsKept) {  // W6
  const MadeTx parent = tx({foreign(1)}, {{1, 100}}), child = tx({coin(parent)}, {{1, 90}});
  see(parent), see(child);
  see(tx({foreign(1)}, {{99, 100}}));
  mine({child});
  EXPECT_EQ(status(parent), "replaced: replaced");
  EXPECT_EQ(spender(coin(parent)), child.id);
  PruneOptions options;
  options.invalid_older_than_ms = 0;
  EXPECT_EQ(prune(options).invalid, 0u);
  EXPECT_EQ(store().transaction(alice_, child.id)->entry.fee, 10u);
  mine({parent});
  EXPECT_EQ(status(parent), "published@1");
  EXPECT_EQ(balance().total, 90u);
}

TEST_P(Prune, ResumesAfterLimit) {
  std::vector<MadeTx> txs;
  for (int i = 0; i < 3; ++i) {
    txs.push_back(incoming());
    txs.push_back(tx({coin(txs.back())}, {{99, 5}}));
  }
  mine(txs);
  mine_empty(300);
  PruneOptions options;
  options.limit = 4;
  const Pruned first = prune(options);
  EXPECT_EQ(first.transactions, 4u);
  EXPECT_TRUE(first.more);
  const Pruned rest = prune(options);
  EXPECT_EQ(rest.transactions, 2u);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(summary("transactions"), 6);
}

}  // namespace
}  // namespace coffer::wallet::test
