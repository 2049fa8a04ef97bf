// What people call things is shown where the things are.
#include "wallet/query/labels.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Labels : public WalletTest {
 protected:
  void label(const char* kind, const std::string& ref, const std::string& text, WalletId wallet) {
    ok(store().set_label(wallet, kind, ref, text));
  }
  void label(const char* kind, const std::string& ref, const std::string& text) {
    label(kind, ref, text, alice_);
  }
  std::string address(std::uint32_t number) const { return label_ref(network(), script(number)); }
  Coin coin_of(const MadeTx& made, std::uint32_t index = 0) {
    auto found = store().coin(alice_, {made.id, index});
    ok(found);
    return found.value_or(Coin{});
  }
};
COFFER_ON_BOTH_ENGINES(Labels);

TEST_P(Labels, ShownWithCoinsAddressesAndOutputs) {
  const MadeTx paid = tx({foreign(7)}, {{1, 500}, {2, 600}, {99, 700}});
  see(paid);
  EXPECT_EQ(coin_of(paid).label, "");
  label("output", label_ref(chain::Outpoint{paid.id, 0}), "rent");
  label("address", address(1), "tenant");
  label("address", address(2), "shop");
  label("address", address(99), "landlord");  // somebody else's
  EXPECT_EQ(coin_of(paid).label, "rent");
  EXPECT_EQ(coin_of(paid).address_label, "tenant");
  EXPECT_EQ(coin_of(paid, 1).label, "");
  EXPECT_EQ(coin_of(paid, 1).address_label, "shop");

  const auto coins = store().coins(alice_, {});
  ok(coins);
  ASSERT_EQ(coins->items.size(), 2u);
  EXPECT_EQ(coins->items[0].label, "rent");
  EXPECT_EQ(coins->items[1].address_label, "shop");
  const auto addresses = store().addresses(alice_, {});
  ok(addresses);
  ASSERT_EQ(addresses->items.size(), 2u);
  EXPECT_EQ(addresses->items[0].label, "tenant");
  EXPECT_EQ(addresses->items[1].label, "shop");
  const auto detail = store().transaction(alice_, paid.id);
  ok(detail);
  ASSERT_EQ(detail->outputs.size(), 3u);
  EXPECT_EQ(detail->outputs[0].label, "rent");
  EXPECT_EQ(detail->outputs[0].address_label, "tenant");
  EXPECT_EQ(detail->outputs[1].label, "");
  EXPECT_EQ(detail->outputs[2].address_label, "landlord");

  label("output", label_ref(chain::Outpoint{paid.id, 0}), "");
  EXPECT_EQ(coin_of(paid).label, "");
  EXPECT_EQ(coin_of(paid).address_label, "tenant");
}

TEST_P(Labels, BelongToWalletAndKind) {
  const WalletId bob = make_wallet("bob", {1});
  const MadeTx paid = incoming(100);
  see(paid);
  label("output", label_ref(chain::Outpoint{paid.id, 0}), "bob's", bob);
  label("address", address(1), "bob's", bob);
  label("tx", label_ref(paid.id), "alice's");
  EXPECT_EQ(coin_of(paid).label, "");
  EXPECT_EQ(coin_of(paid).address_label, "");
  const auto of_bob = store().coin(bob, {paid.id, 0});
  ok(of_bob);
  EXPECT_EQ(of_bob->label, "bob's");
}

// More than one statement can ask for.
TEST_P(Labels, LargePageHasAllLabels) {
  std::vector<To> outputs;
  outputs.reserve(240);
  for (std::uint32_t i = 0; i < 240; ++i) outputs.push_back({1 + i % 2, 1'000 + i});
  const MadeTx paid = tx({foreign(7)}, outputs);
  see(paid);
  for (const std::uint32_t i : {0u, 127u, 128u, 129u, 200u, 239u})
    label("output", label_ref(chain::Outpoint{paid.id, i}), std::to_string(i));
  label("address", address(2), "second");
  CoinQuery query;
  query.page.count = kMaxPage;
  const auto page = store().coins(alice_, query);
  ok(page);
  ASSERT_EQ(page->items.size(), 240u);
  std::size_t labelled = 0;
  for (const Coin& coin : page->items) {
    labelled += coin.label == std::to_string(coin.outpoint.index) ? 1 : 0;
    EXPECT_EQ(coin.address_label, coin.outpoint.index % 2 == 1 ? "second" : "");
  }
  EXPECT_EQ(labelled, 6u);
}

TEST_P(Labels, ListedWithoutKnownReference) {
  const MadeTx money = confirmed();
  const std::string unknown(64, 'e');
  ok(store().set_label(alice_, "tx", unknown, "yet to come"));
  ok(store().set_label(alice_, "output", unknown + ":1", "its change"));
  ok(store().set_label(alice_, "tx", to_hex(reversed(money.id).view()), "rent"));
  const WalletId bob = make_wallet("bob", {3});
  ok(store().set_label(bob, "tx", unknown, "not hers"));
  std::vector<std::string> seen;
  PageOptions page;
  page.count = 2;
  do {
    const auto found = store().labels(alice_, page);
    ok(found);
    for (const LabelInfo& one : found->items) seen.push_back(one.kind + " " + one.label);
    page.cursor = found->cursor;
  } while (!page.cursor.empty() && seen.size() < 10);
  std::ranges::sort(seen);
  EXPECT_EQ(seen, (std::vector<std::string>{"output its change", "tx rent", "tx yet to come"}));
  page.cursor = "x";
  EXPECT_EQ(code(store().labels(alice_, page)), Code::kInvalidInput);
  EXPECT_EQ(code(store().labels(WalletId(99), {})), Code::kNotFound);
}

}  // namespace
}  // namespace coffer::wallet::test
