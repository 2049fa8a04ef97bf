// Bad input: the right code, one line, and nothing has changed.
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/import/core_export.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class BadInput : public WalletTest {
 protected:
  // Whatever is asked, the tables stay as they are.
  template <typename Ask>
  void refuses(Code expected, Ask ask) {
    const std::string before = everything();
    const auto answer = ask();
    EXPECT_EQ(coffer::info(code(answer)).name, coffer::info(expected).name)
        << (answer ? "" : answer.error().message);
    EXPECT_EQ(everything(), before);
  }
  void refuses_raw(const Bytes& raw, Code expected = Code::kInvalidInput) {
    for (const TxStatus status : {TxStatus::kPending, TxStatus::kPublished})
      refuses(expected, [&] { return store().record(alice_, raw, {.status = status}); });
  }
};
COFFER_ON_BOTH_ENGINES(BadInput);

TEST_P(BadInput, UnknownWallet) {
  const MadeTx money = confirmed();
  const WalletId nobody(99'999'999);
  const std::vector<chain::Outpoint> coins = {coin(money)};
  const LeaseRequest lease{coins, lock_id(1), 1'000};
  const Code none = Code::kNotFound;
  refuses(none, [&] { return store().find("nobody"); });
  refuses(none, [&] { return store().accounts(nobody); });
  refuses(none, [&] { return store().descriptors(nobody); });
  refuses(none, [&] { return store().import_script(nobody, script(1), {}); });
  refuses(none,
          [&] { return store().import_descriptor(nobody, "wpkh(" + kTestnetKey + "/0/*)", {}); });
  refuses(none, [&] { return store().import_core(nobody, {}); });
  refuses(none, [&] { return store().new_address(nobody, "default", false); });
  refuses(none, [&] { return store().addresses(nobody, {}); });
  refuses(none, [&] { return store().set_label(nobody, "tx", "x", "y"); });
  refuses(none, [&] { return store().record(nobody, money.raw, {}); });
  refuses(none, [&] { return store().publish(nobody, money.id); });
  refuses(none, [&] { return store().cancel(nobody, money.id); });
  refuses(none, [&] { return store().balance(nobody); });
  refuses(none, [&] { return store().coins(nobody, {}); });
  refuses(none, [&] { return store().coin(nobody, coin(money)); });
  refuses(none, [&] { return store().history(nobody, {}); });
  refuses(none, [&] { return store().transaction(nobody, money.id); });
  refuses(none, [&] { return store().lease(nobody, lease); });
  refuses(none, [&] { return store().renew(nobody, lease); });
  refuses(none, [&] { return store().release(nobody, coins, lock_id(1)); });
  refuses(none, [&] { return store().release_all(nobody, lock_id(1)); });
  refuses(none, [&] { return store().leases(nobody, {}); });
  refuses(none, [&] { return store().prune(nobody, {}); });
}

TEST_P(BadInput, UnknownThings) {
  const Code none = Code::kNotFound;
  refuses(none, [&] { return store().publish(alice_, foreign(1).tx); });
  refuses(none, [&] { return store().cancel(alice_, foreign(1).tx); });
  refuses(none, [&] { return store().transaction(alice_, foreign(1).tx); });
  refuses(none, [&] { return store().coin(alice_, foreign(1)); });
  refuses(none, [&] { return store().new_address(alice_, "default", false); });  // no descriptor
  refuses(none, [&] { return store().new_address(alice_, "none", false); });
  CoinQuery query;
  query.account = "none";
  refuses(none, [&] { return store().coins(alice_, query); });
}

TEST_P(BadInput, Names) {
  for (const std::string& name :
       {std::string(), std::string("-x"), std::string(".x"), std::string("a b"), std::string("a/b"),
        std::string("\xc3\xa4"), std::string(101, 'a')})
    refuses(Code::kInvalidInput, [&] { return store().create({name}); });
  refuses(Code::kConflict, [&] { return store().create({"alice"}); });
  refuses(Code::kInvalidInput, [&] { return store().create({"bob", 0, 0}); });
  refuses(Code::kInvalidInput, [&] { return store().create({"bob", 0, 100'001}); });
  refuses(Code::kInvalidInput, [&] { return store().set_label(alice_, "coin", "x", "y"); });
  refuses(Code::kInvalidInput, [&] { return store().set_label(alice_, "tx", "", "y"); });
  refuses(Code::kInvalidInput,
          [&] { return store().set_label(alice_, "tx", "x", std::string(501, 'y')); });
}

TEST_P(BadInput, Descriptors) {
  const auto import = [&](const std::string& text, const ImportOptions& options = {}) {
    return store().import_descriptor(alice_, text, options);
  };
  const Code wrong = Code::kInvalidInput;
  for (const std::string& secret : {"wpkh(" + kSecretXprv + "/0/*)", "pkh(" + kSecretWif + ")"}) {
    refuses(wrong, [&] { return import(secret); });
    EXPECT_FALSE(leaks(import(secret).error().message, secret.substr(5, 40)));
  }
  refuses(wrong, [&] { return import("wpkh(" + kTestnetKey + "/0/*)#aaaaaaaa"); });
  refuses(wrong, [&] { return import("wpkh(" + kKeyA + "/0/*)"); });  // a key of mainnet
  refuses(wrong, [&] { return import("addr(bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4)"); });
  refuses(wrong, [&] { return import("addr(1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2)"); });
  refuses(wrong, [&] { return import("wpkh(" + kTestnetKey + "/<0;1;2>/*)"); });
  refuses(wrong, [&] { return import("nonsense"); });
  refuses(wrong, [&] { return import(""); });
  ImportOptions far;
  far.next_index = 0x80000000u;
  refuses(wrong, [&] { return import("wpkh(" + kTestnetKey + "/0/*)", far); });
  far.next_index = 0;
  far.watch_to = 2'000'000;
  refuses(Code::kTooLarge, [&] { return import("wpkh(" + kTestnetKey + "/0/*)", far); });
  ImportOptions unnamed;
  unnamed.account = "";
  refuses(wrong, [&] { return import("wpkh(" + kTestnetKey + "/0/*)", unnamed); });
}

TEST_P(BadInput, Scripts) {
  refuses(Code::kInvalidInput, [&] { return store().import_script(alice_, {}, {}); });
  const Bytes unspendable = {0x6a, 0x01, 0x02};  // OP_RETURN
  refuses(Code::kInvalidInput, [&] { return store().import_script(alice_, unspendable, {}); });
  const Bytes longest(10'001, 0x51);
  refuses(Code::kInvalidInput, [&] { return store().import_script(alice_, longest, {}); });
}

TEST_P(BadInput, Transactions) {
  const MadeTx money = confirmed();
  const MadeTx good = tx({coin(money)}, {{1, 90}});
  refuses_raw({});
  refuses_raw({1, 2, 3});
  for (const std::size_t cut : {std::size_t{1}, good.raw.size() / 2})
    refuses_raw(Bytes(good.raw.begin(), good.raw.end() - static_cast<std::ptrdiff_t>(cut)));
  Bytes longer = good.raw;
  longer.push_back(0);
  refuses_raw(longer);
  refuses_raw(tx({coin(money), coin(money)}, {{1, 90}}).raw);  // an input twice
  refuses_raw(tx({coin(money)}, {}).raw);
  refuses_raw(tx({coin(money)}, {{1, 21'000'000ull * 100'000'000 + 1}}).raw);
  refuses_raw(tx({coin(money)}, {{1, 21'000'000ull * 100'000'000}, {1, 1}}).raw);
  refuses_raw(tx({coin(money)}, {{1, ~0ull}}).raw);
  refuses_raw(tx({coin(money)}, {{1, ~0ull}, {1, 2}}).raw);  // the sum would be 1
  refuses_raw(tx({foreign(5)}, {{99, 90}}).raw);             // nothing of this wallet
  refuses_raw(coinbase().raw);
  refuses_raw(Bytes(4'000'001, 0), Code::kTooLarge);
  for (const TxStatus status : {TxStatus::kReplaced, TxStatus::kFailed, TxStatus::kOrphaned})
    refuses(Code::kInvalidInput,
            [&] { return store().record(alice_, good.raw, {.status = status}); });
  const MadeTx failed = tx({coin(money)}, {{1, 80}});
  see(failed), see(good);
  const MadeTx orphan = tx({coin(failed)}, {{1, 70}});
  for (const TxStatus status : {TxStatus::kPending, TxStatus::kPublished})
    refuses(Code::kConflict,  // its parent is invalid
            [&] { return store().record(alice_, orphan.raw, {.status = status}); });
}

TEST_P(BadInput, RecordedTransactionPayingMoreThanItSpends) {
  const MadeTx money = confirmed(), more = confirmed();
  const MadeTx payment = tx({coin(money), coin(more)}, {{1, 150}, {99, 51}});
  refuses_raw(payment.raw);
  RecordOptions in_block;
  in_block.block = BlockRef{0, chain_[0]->hash, 0, 1};
  for (const RecordOptions& as : {RecordOptions{.status = TxStatus::kPending}, in_block})
    refuses(Code::kInvalidInput, [&] { return record(payment, as); });
  ok(record(tx({coin(money), coin(more)}, {{1, 150}, {99, 50}})));
  // What others bring in is not known, nor is what a parent will pay that comes later.
  ok(record(tx({coin(confirmed()), foreign(7)}, {{99, 900}})));
  const MadeTx late = incoming(10), child = tx({coin(late)}, {{1, 11}});
  ok(record(child));
  ok(record(late));
  const auto again = record(child);
  EXPECT_TRUE(again && !again->changed);
  // The network is believed: it has looked at more than this wallet can.
  const MadeTx seen = tx({coin(confirmed())}, {{1, 101}});
  see(seen);
  EXPECT_EQ(status(seen), "published");
}

TEST_P(BadInput, PendingSpendOfImmatureCoinbase) {
  const MadeTx reward = coinbase();
  mine({reward});
  mine_empty(99);
  const MadeTx payment = tx({coin(reward)}, {{99, 90}});
  refuses(Code::kConflict, [&] { return record_pending(payment); });
  EXPECT_TRUE(record_pending(payment).error().message.ends_with(
      "matures with block 100; wait, or force the spend"));
  mine();
  ok(record_pending(payment));
  roll_back(1);
  // Somebody says that the network has it, or takes it upon himself.
  const MadeTx other = tx({coin(reward)}, {{99, 80}});
  refuses(Code::kConflict, [&] { return record_pending(other, {.bump = true}); });
  ok(record_pending(other, {.bump = true, .force = true}));
  ok(record(other));
}

TEST_P(BadInput, Blocks) {
  const MadeTx money = confirmed(), other = incoming();
  RecordOptions options;
  options.block = BlockRef{0, foreign(1).tx, 0, 1};
  refuses(Code::kConflict, [&] { return record(other, options); });  // another block is there
  options.block = BlockRef{1, chain_[0]->hash, 0, 1};
  refuses(Code::kInvalidInput, [&] { return record(other, options); });  // above the tip
  options.block = BlockRef{0, chain_[0]->hash, 0, 1};
  refuses(Code::kInvalidInput, [&] { return record(coinbase(), options); });  // not the first
}

TEST_P(BadInput, Pages) {
  confirmed(), confirmed();
  const Code wrong = Code::kInvalidInput;
  for (const std::size_t count : {std::size_t{0}, kMaxPage + 1}) {
    CoinQuery coins;
    coins.page.count = count;
    HistoryQuery history;
    history.page.count = count;
    refuses(wrong, [&] { return store().coins(alice_, coins); });
    refuses(wrong, [&] { return store().history(alice_, history); });
    refuses(wrong, [&] { return store().addresses(alice_, {count, ""}); });
    refuses(wrong, [&] { return store().leases(alice_, {count, ""}); });
    refuses(wrong, [&] { return store().list({count, ""}); });
  }
  CoinQuery query;
  query.page.count = 1;
  const std::string cursor = store().coins(alice_, query)->cursor;
  ASSERT_FALSE(cursor.empty());
  query.order = CoinOrder::kLargest;
  for (const std::string& bad : {cursor, std::string("x"), std::string("2.."), std::string("2.1."),
                                 std::string("2.-1.1"), std::string(1'000, '9')}) {
    query.page.cursor = bad;
    refuses(wrong, [&] { return store().coins(alice_, query); });
    refuses(wrong, [&] { return store().addresses(alice_, {1, bad + "x"}); });
    HistoryQuery history;
    history.page.cursor = bad;
    refuses(wrong, [&] { return store().history(alice_, history); });
  }
  PruneOptions prune;
  prune.limit = 0;
  refuses(wrong, [&] { return store().prune(alice_, prune); });
  prune.limit = 1;
  prune.invalid_older_than_ms = -1;
  refuses(wrong, [&] { return store().prune(alice_, prune); });
}

TEST_P(BadInput, OtherNetwork) {  // E5
  for (const auto& [chain_name, network_name, expected] :
       {std::tuple{"bitcoin", "mainnet", Code::kConflict},
        std::tuple{"cardano", "mainnet", Code::kUsage}}) {
    const auto other = chain::find_network(chain_name, network_name);
    ok(other);
    refuses(expected, [&] { return Store::open(engine_->database(), *other); });
  }
}

TEST_P(BadInput, ContradictoryOptions) {
  mine();
  RecordOptions both;
  both.status = TxStatus::kPending;
  both.block = BlockRef{0, chain_[0]->hash, 0, 1};
  const MadeTx payment = incoming();
  const std::string before = everything();
  EXPECT_EQ(code(record(payment, both)), Code::kInvalidInput);
  EXPECT_EQ(code(record(payment, {.bump = true})), Code::kInvalidInput);
  EXPECT_EQ(code(record(payment, {.lock_id = lock_id(1)})), Code::kInvalidInput);
  EXPECT_EQ(code(record(payment, {.force = true})), Code::kInvalidInput);
  EXPECT_EQ(everything(), before);
}

}  // namespace
}  // namespace coffer::wallet::test
