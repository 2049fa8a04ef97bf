// The bytes of a transaction under an id that does not say which witness it has (E1, E3), and sums
// that a person could drive out of range.
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class TxBytes : public WalletTest {
 protected:
  Bytes bytes(const MadeTx& made) {
    const auto found = store().transaction(alice_, made.id);
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->raw : Bytes();
  }
};
COFFER_ON_BOTH_ENGINES(TxBytes);

TEST_P(TxBytes, SignedReplacesUnsignedPending) {
  const MadeTx money = confirmed(100);
  const MadeTx unsigned_one = tx({coin(money)}, {{2, 90}});
  const MadeTx signed_one = sign(unsigned_one, 7);
  ok(record_pending(unsigned_one));
  const auto again = record_pending(signed_one);
  ok(again);
  EXPECT_TRUE(again->changed);
  EXPECT_EQ(bytes(unsigned_one), signed_one.raw);
  EXPECT_FALSE(record_pending(signed_one)->changed);  // E3
}

TEST_P(TxBytes, UserCannotChangePublished) {  // E3
  const MadeTx money = confirmed(100);
  const MadeTx published = sign(tx({coin(money)}, {{2, 90}}), 7);
  ok(record(published));
  const std::string before = everything();
  MadeTx other = published;
  other.raw[other.raw.size() - 5] ^= 1;  // the witness
  EXPECT_EQ(code(record(other)), Code::kConflict);
  EXPECT_EQ(code(record_pending(other)), Code::kConflict);
  EXPECT_EQ(everything(), before);
  ok(record(published));
}

TEST_P(TxBytes, NetworkOverridesUser) {
  const MadeTx money = confirmed(100);
  const MadeTx plain = tx({coin(money)}, {{2, 90}});
  ok(record_pending(plain));
  see(sign(plain, 7));
  EXPECT_EQ(status(plain), "published");
  EXPECT_EQ(bytes(plain), sign(plain, 7).raw);
  see(sign(plain, 8));  // somebody's node has it so
  EXPECT_EQ(bytes(plain), sign(plain, 8).raw);
}

TEST_P(TxBytes, BlockOverridesMempool) {  // E1
  const MadeTx money = confirmed(100);
  const MadeTx plain = tx({coin(money)}, {{2, 90}});
  see(sign(plain, 7));
  mine({sign(plain, 9)});
  EXPECT_EQ(status(plain), "published@1");
  EXPECT_EQ(bytes(plain), sign(plain, 9).raw);
}

TEST_P(TxBytes, BlockOverridesUserConfirmed) {  // E1
  const MadeTx plain = incoming(50, 9);
  mine(), mine({sign(plain, 9)});
  watch(alice_, script(9));
  RecordOptions in_block;
  in_block.block = BlockRef{1, chain_[1]->hash, chain_[1]->time_unix_s, 1};
  ok(record(plain, in_block));
  EXPECT_EQ(bytes(plain), plain.raw);
  ok(consumer().rescan_block(alice_, *chain_[1], [](const auto&) { return Result<bool>(true); }));
  EXPECT_EQ(bytes(plain), sign(plain, 9).raw);
}

TEST_P(TxBytes, MempoolDoesNotChangeConfirmed) {
  const MadeTx payment = incoming(50);
  mine({sign(payment, 9)});
  see(sign(payment, 8));
  EXPECT_EQ(bytes(payment), sign(payment, 9).raw);
}

TEST_P(TxBytes, UnsignedDoesNotReplaceSigned) {  // a request that comes late, or again
  const MadeTx money = confirmed(100);
  const MadeTx plain = tx({coin(money)}, {{2, 90}});
  ok(record_pending(plain));
  ok(record_pending(sign(plain, 7)));
  ok(record_pending(plain));
  EXPECT_EQ(bytes(plain), sign(plain, 7).raw);
  ok(store().publish(alice_, plain.id));
  ok(record_pending(plain));
  EXPECT_EQ(bytes(plain), sign(plain, 7).raw);
}

// In the form for witnesses, with an empty one for every input: a program that did not sign.
TEST_P(TxBytes, EmptyWitnessIsUnsigned) {
  const MadeTx money = confirmed(100), more = confirmed(50);
  const MadeTx plain = tx({coin(money), coin(more)}, {{2, 90}});
  MadeTx empty = plain;
  empty.raw.insert(empty.raw.begin() + 4, {0x00, 0x01});
  empty.raw.insert(empty.raw.end() - 4, {0x00, 0x00});
  // One input is signed: the other may be of a kind that has no witness.
  MadeTx half = plain;
  half.raw.insert(half.raw.begin() + 4, {0x00, 0x01});
  half.raw.insert(half.raw.end() - 4, {0x00, 0x01, 0x01, 0x07});
  ok(record_pending(plain));
  EXPECT_FALSE(record_pending(empty)->changed);
  EXPECT_EQ(bytes(plain), plain.raw);
  ok(record_pending(half));
  ok(record_pending(empty));
  EXPECT_EQ(bytes(plain), half.raw);
  ok(store().publish(alice_, plain.id));
  ok(record(empty));  // and no conflict with what is published
  EXPECT_EQ(bytes(plain), half.raw);
}

TEST_P(TxBytes, PublishedAmountAboveMaxMoneyIsRefused) {
  const std::uint64_t all_money = 21'000'000ull * 100'000'000;
  const MadeTx first = incoming(all_money), second = incoming(1);
  ok(record_pending(first));
  ok(record_pending(second));
  ok(store().publish(alice_, first.id));
  EXPECT_EQ(code(store().publish(alice_, second.id)), Code::kInvalidInput);
  EXPECT_EQ(status(second), "pending");
}

TEST_P(TxBytes, RecordedAmountAboveMaxMoneyIsRefused) {
  const std::uint64_t all_money = 21'000'000ull * 100'000'000;
  ok(record(incoming(all_money)));
  const std::string before = everything();
  EXPECT_EQ(code(record(incoming(1))), Code::kInvalidInput);
  EXPECT_EQ(everything(), before);
  mine({incoming(700)});  // the chain is not held up by it
  EXPECT_EQ(balance().confirmed, 700u);
}

TEST_P(TxBytes, GenesisCoinbaseIsIgnored) {
  const auto block = make_block(network(), {}, 0, {coinbase(5'000)}, 1);
  const_cast<chain::Block&>(*block).hash = network().genesis;
  ok(consumer().on_block({Ordinal(0), block, false, 0}));
  EXPECT_EQ(balance().total, 0u);
  RecordOptions options;
  options.block = BlockRef{0, network().genesis, 0, 0};
  EXPECT_EQ(code(record(coinbase(5'000), options)), Code::kInvalidInput);
}

}  // namespace
}  // namespace coffer::wallet::test
