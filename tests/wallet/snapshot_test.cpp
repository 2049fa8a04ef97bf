// What is read in several statements is of one moment, whatever others commit in between.
#include "base/result.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Snapshots : public WalletTest {
 protected:
  // A second process with the same database, which stops before each of its statements.
  struct Reader {
    std::function<void()> before_statement = nullptr;
    std::unique_ptr<sql::Database> database = {};
    std::unique_ptr<Store> store = {};
  };
  std::unique_ptr<Reader> make_reader() {
    auto reader = std::make_unique<Reader>();
    sql::DatabaseOptions options = engine_->options();
    options.on_statement = [at = reader.get()](std::string_view) {
      if (at->before_statement) at->before_statement();
    };
    reader->database = sql::Database::open(options).value();
    reader->store = Store::open(*reader->database, network()).value();
    return reader;
  }
};
COFFER_ON_BOTH_ENGINES(Snapshots);

TEST_P(Snapshots, CoinIsReadInOneSnapshot) {
  const auto reader = make_reader();
  int before = 0, after = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE(fmt::format("a writer commits before statement {}", at));
    const MadeTx money = confirmed(100);
    int statements = 0;
    reader->before_statement = [&] {
      if (++statements != at) return;
      see(tx({coin(money)}, {{99, 90}}));
      ok(store().set_label(alice_, "output", display(chain::Family::kBitcoin, money.id) + ":0",
                           "spent"));
    };
    const auto found = reader->store->coin(alice_, coin(money));
    reader->before_statement = nullptr;
    ok(found);
    if (statements < at) break;  // it was done before the writer came
    if (!found) continue;
    const bool is_spent = found->state == CoinState::kSpent;
    EXPECT_EQ(found->spent_by.has_value(), is_spent);
    EXPECT_EQ(found->label, is_spent ? "spent" : "");
    ++(is_spent ? after : before);
  }
  // A writer that comes before the first statement is seen, and none that comes later.
  EXPECT_LE(after, 1);
  EXPECT_GE(before, 3);
}

}  // namespace
}  // namespace coffer::wallet::test
