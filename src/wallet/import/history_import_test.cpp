#include "wallet/import/history_import.h"

#include <gtest/gtest.h>

#include <fstream>

#include <coffer/chain/address.h>
#include "base/temp_dir.h"
#include "sql/connection.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/test_tx.h"

namespace coffer::wallet {
namespace {

const chain::Network kNetwork = chain::find_network("bitcoin", "regtest").value();
const std::string kHeader = R"({"coffer_history":1,"chain":"bitcoin","network":"regtest"})";
const Bytes kScript = [] {
  Bytes script = {0x00, 0x14};
  script.resize(22, 7);
  return script;
}();

class HistoryImport : public testing::Test {
 protected:
  void SetUp() override {
    sql::DatabaseOptions options;
    options.location = "sqlite:" + (dir_.path() / "wallet.db").string();
    database_ = sql::Database::open(options).value();
    store_ = Store::open(*database_, kNetwork).value();
    wallet_ = store_->create({"shop"}).value().id;
  }
  std::filesystem::path file(const std::vector<std::string>& lines) {
    const std::filesystem::path path = dir_.path() / "history.jsonl";
    std::ofstream out(path);
    for (const std::string& line : lines) out << line << "\n";
    return path;
  }
  static std::string script_line() { return R"({"script":")" + to_hex(kScript) + R"("})"; }
  static Bytes paying(std::uint8_t number) {
    return test_tx({foreign_outpoint(number)}, {{1'000, kScript}}, number);
  }
  static std::string tx_line(std::uint8_t number, const std::string& more = "") {
    return R"({"tx":")" + to_hex(paying(number)) + R"(")" + more + "}";
  }
  void expect_refused(const std::vector<std::string>& lines, const std::string& text) {
    const auto done = import_history(*store_, wallet_, file(lines));
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find(text), std::string::npos) << done.error().message;
    EXPECT_EQ(done.error().message.find('\n'), std::string::npos);
  }

  TempDir dir_;
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> store_;
  WalletId wallet_;
};

TEST_F(HistoryImport, EveryLineType) {
  const std::string id = chain::display(chain::Family::kBitcoin, test_txid(paying(1)));
  const auto path = file(
      {kHeader,
       R"({"descriptor":"wpkh()" + kTestnetKey + R"x(/0/*)","account":"b","next_index":5})x",
       script_line(),
       tx_line(1, R"(,"height":7,"block":")" + std::string(64, '1') + R"(","index":3)"), tx_line(2),
       tx_line(3, R"(,"status":"pending")"), "",
       R"({"lease":")" + id + R"(#0","lock_id":")" + std::string(64, 'a') + R"(","for_ms":60000})",
       R"({"label":"rent","kind":"tx","ref":")" + id + R"("})"});
  const auto done = import_history(*store_, wallet_, path);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->lines, 9u);
  EXPECT_EQ(done->transactions, 3u);
  EXPECT_EQ(done->descriptors, 1u);
  EXPECT_EQ(done->addresses, 26u);
  EXPECT_EQ(done->leases, 1u);
  EXPECT_EQ(done->labels, 1u);
  const Balance balance = store_->balance(wallet_).value();
  EXPECT_EQ(balance.confirmed, 1'000u);
  EXPECT_EQ(balance.unconfirmed, 1'000u);
  EXPECT_EQ(balance.leased, 1'000u);
  EXPECT_EQ(store_->transaction(wallet_, test_txid(paying(1)))->entry.label, "rent");
  EXPECT_TRUE(store_->verify());
}

TEST_F(HistoryImport, RepeatedImportResumes) {
  std::vector<std::string> lines = {kHeader, script_line()};
  for (int i = 0; i < 250; ++i) lines.push_back(tx_line(static_cast<std::uint8_t>(i)));
  HistoryImportOptions stopping;
  stopping.progress = [](std::uint64_t) { return false; };
  const auto stopped = import_history(*store_, wallet_, file(lines), stopping);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  const auto rest = import_history(*store_, wallet_, file(lines));
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_EQ(rest->resumed, 200u);
  EXPECT_EQ(rest->transactions, 52u);
  EXPECT_EQ(store_->balance(wallet_)->coins, 250u);
  const auto again = import_history(*store_, wallet_, file(lines));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->transactions, 0u);
  // A file that was changed is begun anew, and knows what it meets.
  lines.push_back(tx_line(251));
  const auto more = import_history(*store_, wallet_, file(lines));
  ASSERT_TRUE(more);
  EXPECT_EQ(more->resumed, 0u);
  EXPECT_EQ(more->transactions, 1u);
  EXPECT_EQ(more->unchanged, 250u);
}

TEST_F(HistoryImport, DryRunChangesNothing) {
  const auto tried = try_history(*store_, wallet_, file({kHeader, script_line(), tx_line(1)}));
  ASSERT_TRUE(tried) << tried.error().message;
  EXPECT_EQ(tried->transactions, 1u);
  EXPECT_EQ(store_->balance(wallet_)->coins, 0u);
  EXPECT_FALSE(try_history(*store_, wallet_, file({kHeader, tx_line(1)})));
}

TEST_F(HistoryImport, DryRunNeedsOneConnection) {
  sql::DatabaseOptions options = database_->options();
  options.max_connections = 1;
  store_.reset();
  database_ = sql::Database::open(options).value();
  store_ = Store::open(*database_, kNetwork).value();
  const auto tried = try_history(*store_, wallet_, file({kHeader, script_line(), tx_line(1)}));
  ASSERT_TRUE(tried) << tried.error().message;
  EXPECT_EQ(tried->transactions, 1u);
}

TEST_F(HistoryImport, DryRunKnowsWatchedScripts) {
  ImportOptions far;
  far.account = "shop";
  far.watch_to = 30;
  const std::string receive = "wpkh(" + kTestnetKey + "/0/*)";
  ASSERT_TRUE(store_->import_descriptor(wallet_, receive, far));
  ASSERT_TRUE(store_->import_script(wallet_, kScript, {}));
  const Bytes last = parse_descriptor(kNetwork, receive)->derive(29).value()[0];
  const std::string paid_last =
      R"({"tx":")" + to_hex(test_tx({foreign_outpoint(9)}, {{1'000, last}}, 9)) + R"("})";
  const auto good = file({kHeader, tx_line(1), paid_last});
  const auto tried = try_history(*store_, wallet_, good);
  ASSERT_TRUE(tried) << tried.error().message;
  EXPECT_EQ(tried->transactions, 2u);
  EXPECT_EQ(store_->stats()->transactions, 0u);
  // What the wallet would refuse is refused.
  const auto elsewhere = file({kHeader, R"({"descriptor":")" + receive + R"(","account":"b"})"});
  const auto refused = try_history(*store_, wallet_, elsewhere);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_FALSE(import_history(*store_, wallet_, elsewhere));
}

TEST_F(HistoryImport, HeaderIsFirstNonEmptyLine) {
  ASSERT_TRUE(store_->import_script(wallet_, kScript, {}));
  expect_refused({"", tx_line(1)}, "line 2");
  expect_refused({"", "", script_line()}, "line 3");
  expect_refused({"", R"({"coffer_history":1,"chain":"bitcoin","network":"mainnet"})"}, "mainnet");
  expect_refused({"", ""}, "empty");
  const auto path = file({"", kHeader, tx_line(1), "", tx_line(2)});
  ASSERT_TRUE(import_history(*store_, wallet_, path));
  const auto again = import_history(*store_, wallet_, path);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->resumed, 5u);
  expect_refused({"", kHeader, kHeader}, "line 3");
}

TEST_F(HistoryImport, LabelsAreValidated) {
  const std::string id(64, 'A'), lower(64, 'a');
  const auto label = [](const std::string& kind, const std::string& ref) {
    return R"({"label":"x","kind":")" + kind + R"(","ref":")" + ref + R"("})";
  };
  expect_refused({kHeader, label("tx", "nonsense")}, "line 2: transaction: expected 64 hex digits");
  expect_refused({kHeader, label("output", id)}, "an output is TX#INDEX");
  expect_refused({kHeader, label("output", id + "#x")}, "output index");
  expect_refused({kHeader, label("address", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2")}, "address");
  ASSERT_TRUE(import_history(*store_, wallet_, file({kHeader, label("output", id + "#07")})));
  auto connection = database_->acquire();
  ASSERT_TRUE(connection);
  EXPECT_EQ(connection->value<std::string>("SELECT ref FROM labels").value(), lower + ":7");
}

TEST_F(HistoryImport, RivalOfConfirmedTransaction) {
  const auto rival = [](std::uint8_t nonce) {
    return R"({"tx":")" + to_hex(test_tx({foreign_outpoint(5)}, {{1'000, kScript}}, nonce)) + "\"";
  };
  const std::string block = R"(,"height":7,"block":")" + std::string(64, '1') + R"("})";
  ASSERT_TRUE(store_->import_script(wallet_, kScript, {}));
  ASSERT_TRUE(import_history(*store_, wallet_, file({kHeader, rival(1) + "}", rival(2) + block})));
  EXPECT_EQ(store_->balance(wallet_)->coins, 1u);
  // The same in a file that begins anew.
  const auto again = import_history(*store_, wallet_,
                                    file({kHeader, rival(1) + "}", rival(2) + block, tx_line(1)}));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->unchanged, 2u);
  EXPECT_EQ(again->transactions, 1u);
  expect_refused({kHeader, rival(2) + block, rival(3) + "}"}, "line 3");
  // What is known and valid, but in another block, is no repetition.
  const std::string other = R"(,"height":8,"block":")" + std::string(64, '2') + R"("})";
  expect_refused({kHeader, rival(2) + other}, "confirmed at height 7");
}

TEST_F(HistoryImport, ErrorsNameTheLine) {
  expect_refused({}, "empty");
  expect_refused({kHeader, tx_line(1)}, "line 2");  // nobody's
  expect_refused({script_line()}, "line 1");
  expect_refused({kHeader, kHeader}, "line 2");
  expect_refused({R"({"coffer_history":2,"chain":"bitcoin","network":"regtest"})"}, "version 2");
  expect_refused({R"({"coffer_history":1,"chain":"bitcoin","network":"mainnet"})"}, "mainnet");
  expect_refused({kHeader, "not json"}, "line 2");
  expect_refused({kHeader, R"({"tx":"00"})"}, "line 2");
  expect_refused({kHeader, R"({"tx":"zz"})"}, "line 2");
  expect_refused({kHeader, script_line(), tx_line(1, R"(,"hight":7)")}, "'hight'");
  expect_refused({kHeader, script_line(), tx_line(1, R"(,"height":7)")}, "'block'");
  expect_refused({kHeader, script_line(), tx_line(1, R"(,"height":2147483648)")}, "to 2147483647");
  expect_refused({kHeader, R"({"script":"51","script":"52"})"}, "line 2: a field is there twice");
  expect_refused({kHeader, R"({"label":"x","kind":"coin","ref":"y"})"}, "line 2");
  expect_refused({kHeader, R"({"lease":"x","lock_id":"00","for_ms":1})"}, "TXID#INDEX");
  EXPECT_EQ(store_->balance(wallet_)->coins, 0u);
  EXPECT_FALSE(import_history(*store_, wallet_, dir_.path() / "missing"));
}

}  // namespace
}  // namespace coffer::wallet
