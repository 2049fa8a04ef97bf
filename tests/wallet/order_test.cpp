// Lists go by the chain: by block, by place in the block, by output; what is in no block is newest,
// and what became invalid stands where the wallet met it.
#include <map>

#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class ListOrder : public WalletTest {
 protected:
  // Transactions go by names in these stories.
  const MadeTx& named(const std::string& name, const MadeTx& made) {
    names_[made.id] = name;
    return made_.insert_or_assign(name, made).first->second;
  }
  const MadeTx& operator[](const std::string& name) const { return made_.at(name); }
  // One name after the other, pages of every size: all say the same.
  template <typename Ask, typename Name>
  std::string list(Ask ask, Name name) {
    std::string expected;
    for (const std::size_t size : {100u, 1u, 2u, 3u}) {
      std::string all, cursor;
      do {
        const auto page = ask(PageOptions{size, cursor});
        ok(page);
        if (!page) return "an error";
        for (const auto& item : page->items) all += (all.empty() ? "" : " ") + name(item);
        cursor = page->cursor;
      } while (!cursor.empty());
      if (size == 100) expected = all;
      EXPECT_EQ(all, expected) << "pages of " << size;
    }
    return expected;
  }
  std::string history(std::optional<bool> confirmed = {}) {
    HistoryQuery query;
    query.confirmed = confirmed;
    return list(
        [&](const PageOptions& page) {
          query.page = page;
          return store().history(alice_, query);
        },
        [&](const HistoryEntry& entry) { return names_[entry.tx]; });
  }
  std::string coins(CoinOrder order, std::vector<CoinState> states = {},
                    std::optional<Bytes> of = {}) {
    CoinQuery query;
    query.order = order;
    query.states = std::move(states);
    query.script = std::move(of);
    return list(
        [&](const PageOptions& page) {
          query.page = page;
          return store().coins(alice_, query);
        },
        [&](const Coin& found) {
          return names_[found.outpoint.tx] + std::to_string(found.outpoint.index);
        });
  }
  std::string oldest() { return coins(CoinOrder::kOldest); }
  std::string newest() { return coins(CoinOrder::kNewest); }
  void rescan(std::uint64_t height) {
    ok(consumer().rescan_block(alice_, *chain_[height],
                               [](const auto&) { return Result<bool>(true); }));
  }

 private:
  std::map<Hash256, std::string> names_;
  std::map<std::string, MadeTx> made_;
};
COFFER_ON_BOTH_ENGINES(ListOrder);

TEST_P(ListOrder, InvalidTransactionsSinkBelowNewBlocks) {
  mine({named("a", incoming()), named("m", incoming())});
  see(named("b", tx({coin((*this)["a"])}, {{1, 90}})));
  see(named("c", tx({coin((*this)["a"])}, {{1, 80}})));  // replaces it
  ok(record_pending(named("p", tx({coin((*this)["m"])}, {{1, 90}}))));
  EXPECT_EQ(history(), "p c b m a");
  mine({(*this)["c"]});
  EXPECT_EQ(history(), "p c b m a");
  ok(store().cancel(alice_, (*this)["p"].id));
  mine({named("d", incoming())});
  EXPECT_EQ(history(), "d c p b m a");
  EXPECT_EQ(history(true), "d c m a");
  EXPECT_EQ(history(false), "p b");
}

TEST_P(ListOrder, OrphanedCoinbaseKeepsPosition) {
  mine({named("a", incoming())});
  mine({named("b", coinbase())});
  roll_back(1);
  EXPECT_EQ(history(), "b a");
  mine({named("c", incoming())});
  EXPECT_EQ(history(), "b c a");
  mine({named("d", incoming())});
  see(named("e", incoming()));
  EXPECT_EQ(history(), "e d b c a");
}

TEST_P(ListOrder, ReconfirmedTransactionMovesToItsBlock) {
  mine({named("a", incoming())});
  see(named("b", tx({coin((*this)["a"])}, {{1, 90}})));
  see(named("c", tx({coin((*this)["a"])}, {{1, 80}})));
  mine({named("d", incoming())});
  EXPECT_EQ(history(), "c d b a");
  mine({(*this)["b"]});  // E1
  EXPECT_EQ(history(), "b d c a");
  roll_back(1);
  EXPECT_EQ(history(), "b d c a");  // unconfirmed again; the other is still invalid
}

TEST_P(ListOrder, RescannedCoinsAreInBlockOrder) {
  mine({named("a", incoming(100, 9)), named("b", incoming(100))});
  mine({named("c", incoming(100))});
  const MadeTx both = tx({foreign(1)}, {{9, 50}, {1, 60}, {9, 70}});
  mine({named("d", both), named("e", incoming(100, 9))});
  see(named("f", incoming(100)));
  EXPECT_EQ(oldest(), "b0 c0 d1 f0");
  watch(alice_, script(9));
  rescan(2), rescan(0);
  EXPECT_EQ(oldest(), "a0 b0 c0 d0 d1 d2 e0 f0");
  EXPECT_EQ(newest(), "f0 e0 d2 d1 d0 c0 b0 a0");
  EXPECT_EQ(coins(CoinOrder::kOldest, {}, script(9)), "a0 d0 d2 e0");
  EXPECT_EQ(coins(CoinOrder::kNewest, {}, script(9)), "e0 d2 d0 a0");
  EXPECT_EQ(history(), "f e d c b a");
  LeaseSelection some;
  some.amount = 150;
  some.lock_id = lock_id(1);
  some.duration_ms = 1'000;
  some.order = CoinOrder::kOldest;
  const auto selected = store().select_and_lease(alice_, some);
  ok(selected);
  ASSERT_EQ(selected->coins.size(), 2u);
  for (const char* name : {"a", "b"})
    EXPECT_TRUE(store().coin(alice_, coin((*this)[name]))->lease) << name;
}

TEST_P(ListOrder, SpentAndDeadCoinsAreInChainOrder) {
  mine({named("a", incoming(100, 9))});
  mine({named("b", incoming(100)), named("c", incoming(100))});
  mine({named("s", tx({coin((*this)["b"])}, {{99, 90}}))});
  see(named("x", tx({coin((*this)["c"])}, {{1, 90}})));
  see(named("y", tx({coin((*this)["c"])}, {{1, 80}})));
  mine({named("d", incoming(100))});
  watch(alice_, script(9));
  rescan(0);
  mine({named("t", tx({coin((*this)["a"])}, {{99, 90}}))});
  const std::vector<CoinState> gone = {CoinState::kSpent, CoinState::kDead};
  EXPECT_EQ(coins(CoinOrder::kOldest, gone), "a0 b0 c0 x0");
  EXPECT_EQ(coins(CoinOrder::kNewest, gone), "x0 c0 b0 a0");
  EXPECT_EQ(coins(CoinOrder::kOldest, gone, script(1)), "b0 c0 x0");
  EXPECT_EQ(coins(CoinOrder::kNewest, gone, script(1)), "x0 c0 b0");
  EXPECT_EQ(oldest(), "d0 y0");
}

TEST_P(ListOrder, CoinMovesWithTransaction) {
  see(named("a", incoming()));
  see(named("b", incoming()));
  EXPECT_EQ(oldest(), "a0 b0");
  mine({(*this)["b"]});
  EXPECT_EQ(oldest(), "b0 a0");
  mine({named("c", incoming()), (*this)["a"]});
  EXPECT_EQ(oldest(), "b0 c0 a0");
  roll_back(2);
  EXPECT_EQ(oldest(), "a0 b0 c0");  // in the order in which the wallet met them
  mine({(*this)["c"]});
  EXPECT_EQ(oldest(), "c0 a0 b0");
}

TEST_P(ListOrder, CursorSurvivesMoves) {
  mine({named("a", incoming()), named("b", incoming())});
  mine({named("c", incoming()), named("d", incoming())});
  see(named("u", incoming()));
  see(named("v", incoming()));
  CoinQuery query;
  query.page.count = 3;
  auto page = store().coins(alice_, query);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->items.back().outpoint, coin((*this)["c"]));
  HistoryQuery lines;
  lines.page.count = 3;
  auto entries = store().history(alice_, lines);
  ASSERT_TRUE(entries);
  EXPECT_EQ(entries->items.back().tx, (*this)["d"].id);
  mine({(*this)["v"]});
  see(named("w", incoming()));
  std::string rest;
  query.page = {100, page->cursor};
  page = store().coins(alice_, query);
  ok(page);
  for (const Coin& found : page->items)
    for (const char* name : {"a", "b", "c", "d", "u", "v", "w"})
      if (found.outpoint == coin((*this)[name])) rest += name;
  EXPECT_EQ(rest, "dvuw");
  lines.page = {100, entries->cursor};
  entries = store().history(alice_, lines);
  ok(entries);
  rest.clear();
  for (const HistoryEntry& entry : entries->items)
    for (const char* name : {"a", "b", "c", "d", "u", "v", "w"})
      if (entry.tx == (*this)[name].id) rest += name;
  EXPECT_EQ(rest, "cba");
}

TEST_P(ListOrder, BlockIndexComesFromChain) {
  const MadeTx late = incoming(100, 9);
  mine({named("a", incoming()), named("b", incoming()), named("c", late)});
  watch(alice_, script(9));
  RecordOptions somewhere;
  somewhere.block = BlockRef{0, chain_[0]->hash, 0, 1};  // a person who did not count
  ok(record(late, somewhere));
  EXPECT_EQ(oldest(), "a0 c0 b0");
  rescan(0);
  EXPECT_EQ(oldest(), "a0 b0 c0");
  EXPECT_EQ(history(), "c b a");
}

// A wallet that follows no chain: its blocks are what persons say.
TEST_P(ListOrder, HighestKnownBlockWithoutTip) {
  RecordOptions in_block;
  in_block.block = BlockRef{7, foreign(1).tx, 0, 1};
  ok(record(named("a", incoming()), in_block));
  see(named("b", tx({coin((*this)["a"])}, {{1, 90}})));
  see(named("c", tx({coin((*this)["a"])}, {{1, 80}})));
  in_block.block = BlockRef{9, foreign(2).tx, 0, 1};
  ok(record(named("d", incoming()), in_block));
  EXPECT_EQ(history(), "c d b a");
}

TEST_P(ListOrder, BlockHeightIsBounded) {
  RecordOptions far;
  far.block = BlockRef{2'147'483'647, Hash256{}, 0, 0};
  EXPECT_EQ(code(record(incoming(), far)), Code::kInvalidInput);
  far.block->height = 2'147'483'646;
  far.block->index = 0xffffffff;
  ok(record(named("a", incoming()), far));
  see(named("b", incoming()));
  EXPECT_EQ(oldest(), "a0 b0");
  EXPECT_EQ(history(), "b a");
}

TEST_P(ListOrder, CursorOfOtherVersionIsRefused) {
  mine({named("a", incoming())});
  for (const std::string cursor : {"u.1", "c.0.1.1", "1", "1.", ".1", "1.2.3", "1.x", "-"}) {
    HistoryQuery query;
    query.page.cursor = cursor;
    EXPECT_EQ(code(store().history(alice_, query)), Code::kInvalidInput) << cursor;
  }
  for (const std::string cursor : {"0.1.1", "0.1.1.1.1", "0.1.1.", "0.", "1.1.1.1"}) {
    CoinQuery query;
    query.page.cursor = cursor;
    EXPECT_EQ(code(store().coins(alice_, query)), Code::kInvalidInput) << cursor;
  }
}

}  // namespace
}  // namespace coffer::wallet::test
