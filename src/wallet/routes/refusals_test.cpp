// What is wrong with a request is said in one line that names it, and nothing has changed.
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/json/input.h"
#include "wallet/routes/wallets_test_util.h"

namespace coffer::wallet {
namespace {

using http::Method;

class WalletRefusals : public testing::Test {
 protected:
  void SetUp() override {
    wallets_.serve().post("/wallets", R"({"name":"shop"})", 201);
    (void)wallets_.post("/wallets/shop/descriptors", R"({"descriptor":")" + kRanged + "\"}");
    coin_ = wallets_.pay("shop", 100'000, in_block(3));
  }
  // All that the wallets say of themselves.
  std::string everything() {
    std::string all;
    for (const char* path :
         {"/wallets", "/wallets-stats", "/wallets/shop/accounts", "/wallets/shop/descriptors",
          "/wallets/shop/addresses?count=1000", "/wallets/shop/balance", "/wallets/shop/leases",
          "/wallets/shop/coins?state=confirmed,unconfirmed,locked,spent,dead,pending",
          "/wallets/shop/transactions"})
      all += json::serialize(wallets_.get(path)) + "\n";
    return all;
  }
  void expect_refusal(Method method, const std::string& path, const std::string& body, int status,
                      const std::string& text) {
    SCOPED_TRACE(path + " " + body.substr(0, 200));
    const std::string before = everything();
    const http::Response answer = wallets_.send(method, path, body);
    EXPECT_EQ(answer.status, status) << answer.content();
    EXPECT_EQ(answer.content_type, "application/problem+json");
    json::error_code error;
    const json::value problem = json::parse(json::string_view(answer.content()), error);
    ASSERT_FALSE(error) << answer.content();
    const std::string detail(problem.at("detail").as_string());
    EXPECT_NE(detail.find(text), std::string::npos) << detail;
    EXPECT_EQ(detail.find('\n'), std::string::npos) << detail;
    EXPECT_EQ(everything(), before);
  }
  void post(const std::string& path, const std::string& body, int status, const std::string& text) {
    expect_refusal(Method::kPost, path, body, status, text);
  }
  void get(const std::string& path, int status, const std::string& text) {
    expect_refusal(Method::kGet, path, "", status, text);
  }

  // A payment to an address that is watched.
  Bytes payment() {
    const json::value watched = wallets_.get("/wallets/shop/addresses").at("addresses").at(5);
    const Bytes script = from_hex(std::string(watched.at("script_pub_key").as_string())).value();
    return wallet::test_tx({wallet::foreign_outpoint(200)}, {{1'000, script}});
  }
  // So that there is something to scan again.
  void stand_at_height(int height) const {
    ASSERT_TRUE(wallets_.database->run_transaction([&](sql::Transaction& sql) -> Result<> {
      (void)TRY(sql.execute("UPDATE sync_state SET tip_height = $1", {height}));
      return {};
    }));
  }

  Wallets wallets_;
  std::string coin_;  // confirmed, unspent, output 0
};

TEST_F(WalletRefusals, AWalletThatIsNotThere) {
  for (const char* path : {"", "/accounts", "/balance", "/coins", "/transactions", "/leases"})
    get("/wallets/none" + std::string(path), 404, "none");
  post("/wallets/none/addresses", "{}", 404, "none");
  post("/wallets/none/leases", Wallets::coins_body(coin_), 404, "none");
}

TEST_F(WalletRefusals, NamesAndNumbersOfANewWallet) {
  post("/wallets", R"({"name":"shop"})", 409, "shop");
  post("/wallets", R"({"name":""})", 400, "name");
  post("/wallets", R"({"name":"a b"})", 400, "name");
  post("/wallets", R"({"name":")" + std::string(101, 'x') + "\"}", 400, "100");
  post("/wallets", "{}", 400, "name: missing");
  post("/wallets", R"({"name":5})", 400, "name: expected a string");
  post("/wallets", R"({"name":"b","gap_limit":0})", 400, "gap_limit");
  post("/wallets", R"({"name":"b","gap_limit":1.5})", 400, "gap_limit");
  post("/wallets", R"({"name":"b","birthday_height":-1})", 400, "birthday_height");
  post("/wallets", R"({"name":"b","birthday_height":99999999999999999999})", 400,
       "birthday_height");
}

TEST_F(WalletRefusals, UnknownFieldsAndParametersAreNamed) {
  post("/wallets", R"({"name":"b","birthday":5})", 400, "unknown field 'birthday'");
  const std::pair<const char*, const char*> bodies[] = {
      {"/descriptors", R"({"descriptor":"x","rescan":true})"},
      {"/scripts", R"({"script":"51","rescan":true})"},
      {"/addresses", R"({"rescan":true})"},
      {"/transactions", R"({"raw":"00","rescan":true})"},
      {"/leases", R"({"coins":[],"rescan":true})"},
      {"/leases/select", R"({"rescan":true})"},
      {"/leases/renew", R"({"rescan":true})"},
      {"/leases/release", R"({"rescan":true})"},
      {"/prune", R"({"rescan":true})"},
  };
  for (const auto& [path, body] : bodies)
    post("/wallets/shop" + std::string(path), body, 400, "unknown field 'rescan'");
  expect_refusal(Method::kPut, "/wallets/shop/labels", R"({"rescan":1})", 400, "'rescan'");
  for (const char* what : {"publish", "cancel"})
    post(fmt::format("/wallets/shop/transactions/{}/{}", coin_, what), R"({"rescan":1})", 400,
         "'rescan'");
  for (const char* path : {"/coins", "/transactions", "/leases", "/addresses", "/balance", ""})
    get("/wallets/shop" + std::string(path) + "?min_amonut=5", 400, "'min_amonut'");
  get("/wallets?page=2", 400, "'page'");
  get("/wallets/shop/coins?count=1&count=2", 400, "twice");
  post("/wallets", R"({"name":"b","name":"c"})", 400, "twice");
  post("/wallets", R"({"name":"b","\u006eame":"c"})", 400, "twice");
  post("/wallets/shop/leases", R"({"coins":[{"tx_hash":"00","output_index":0,"output_index":1}]})",
       400, "twice");
  post("/wallets", R"({"name":"a:b\"c:\\"})", 400,
       "the name of a wallet");  // colons that are no fields
  post("/wallets", "[]", 400, "object");
  post("/wallets", "{", 400, "JSON");
  post("/wallets", std::string(100, '['), 400, "JSON");
}

// What belongs into the body, put behind the path, would change more than was meant.
TEST_F(WalletRefusals, ARouteTakesOnlyTheParametersThatItDeclares) {
  stand_at_height(5);
  const std::string coins = Wallets::coins_body(coin_);
  const std::string shop = "/wallets/shop", tx = shop + "/transactions/" + kZeros;
  // Without the parameter each would be done.
  const std::map<std::string, std::string> bodies = {
      {"/wallets", R"({"name":"till"})"},
      {shop + "/rescan", ""},
      {shop + "/descriptors", R"({"descriptor":"tr()" + wallet::kTestnetKey + "/5/*)\"}"},
      {shop + "/core-descriptors", core_body()},
      {shop + "/scripts", R"({"script":"51"})"},
      {"/wallets-clean-leases", ""},
      {shop + "/addresses", ""},
      {shop + "/transactions", Wallets::record_body(payment())},
      {tx + "/publish", ""},
      {tx + "/cancel", ""},
      {shop + "/leases", coins},
      {shop + "/leases/select",
       fmt::format(R"({{"amount":"1","lock_id":"{}","duration_ms":60000}})", kLock)},
      {shop + "/leases/renew", coins},
      {shop + "/leases/release", Wallets::coins_body(coin_, kLock, "")},
      {shop + "/labels", R"({"kind":"tx","ref":")" + coin_ + R"(","label":"x"})"},
      {shop + "/prune", ""},
  };
  for (const auto& [method, path] : all_routes(wallets_.openapi)) {
    expect_refusal(method, path + "?min_amonut=5", "", 400, "'min_amonut'");
    if (!http::changes_state(method)) continue;
    const auto body = bodies.find(path);
    ASSERT_NE(body, bodies.end()) << path << " is new: say what it takes";
    for (const char* parameter : {"dry_run=true", "from_height=3", "account="})
      expect_refusal(method, path + "?" + parameter, body->second, 400, "unknown parameter");
  }
  EXPECT_EQ(wallets_.send(Method::kPost, shop + "/rescan").status, 202);
}

TEST_F(WalletRefusals, Descriptors) {
  const auto import = [&](const std::string& text, const std::string& why) {
    post("/wallets/shop/descriptors", R"({"descriptor":")" + text + "\"}", 400, why);
  };
  import("wpkh(" + wallet::kSecretXprv + "/0/*)", "private key");
  import("wpkh(" + wallet::kTestnetKey + "/0/*)#aaaaaaaa", "checksum");
  import("wpkh(" + wallet::kKeyA + "/0/*)", "network");  // of mainnet
  import("wpkh(" + wallet::kTestnetKey + "/0h/*)", "hardened");
  import("wpkh(", "position");
  import("", "position");
  // It is receiving already.
  const std::string known = "wpkh(" + wallet::kTestnetKey + "/0/*)";
  post("/wallets/shop/descriptors", R"({"descriptor":")" + known + R"(","internal":true})", 409,
       "another");
  post("/wallets/shop/descriptors", R"({"descriptor":"x","next_index":2147483648})", 400,
       "next_index");
}

TEST_F(WalletRefusals, WhatCorePrints) {
  const std::string path = "/wallets/shop/core-descriptors";
  post(path, "", 400, "JSON");
  post(path, "[]", 400, "");
  post(path, R"({"wallet_name":"w"})", 400, "descriptors");
  const std::string secret = "wpkh(" + wallet::kSecretXprv + "/0/*)";
  post(path, R"({"wallet_name":"w","descriptors":[{"desc":")" + secret + "\"}]}", 400,
       "private key");
  post("/wallets/none/core-descriptors", core_body(), 404, "none");
  post("/wallets-clean-leases", R"({"limit":5})", 400, "'limit'");
}

TEST_F(WalletRefusals, AddressesAndScripts) {
  const std::string path = "/wallets/shop/scripts";
  post(path, R"({"address":"bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"})", 400, "address");
  post(path, R"({"address":"nobody"})", 400, "address");
  post(path, R"({"script":"xyz"})", 400, "script");
  post(path, R"({"script":""})", 400, "script");
  post(path, R"({"script":"6a"})", 400, "spend");
  post(path, R"({"script":")" + std::string(20'002, '5') + "\"}", 400, "10000");
  post(path, "{}", 400, "address or script");
  post(path, R"({"script":"51","address":"x"})", 400, "address or script");
  post("/wallets/shop/addresses", R"({"account":"none"})", 404, "none");
}

TEST_F(WalletRefusals, Transactions) {
  const std::string path = "/wallets/shop/transactions";
  const Bytes script = from_hex(std::string(wallets_.get("/wallets/shop/addresses")
                                                .at("addresses")
                                                .at(5)
                                                .at("script_pub_key")
                                                .as_string()))
                           .value();
  const auto from = wallet::foreign_outpoint(200);
  const Bytes good = wallet::test_tx({from}, {{1'000, script}});
  const auto record = [&](const Bytes& raw, const std::string& more, int status,
                          const std::string& why) {
    post(path, Wallets::record_body(raw, more), status, why);
  };
  record({}, "", 400, "transaction");
  record(Bytes(10, 0), "", 400, "transaction");
  record(Bytes(good.begin(), good.end() - 1), "", 400, "transaction");
  Bytes longer = good;
  longer.push_back(0);
  record(longer, "", 400, "transaction");
  record(wallet::test_tx({from, from}, {{1'000, script}}), "", 400, "twice");
  const std::uint64_t all = 2'100'000'000'000'000;
  record(wallet::test_tx({from}, {{all + 1, script}}), "", 400, "amount");
  record(wallet::test_tx({from}, {{~0ull, script}, {5, script}}), "", 400, "amount");
  record(wallet::test_tx({from}, {{all, script}, {1, script}}), "", 400, "money");
  record(wallet::test_tx({from}, {{1'000, Bytes(22, 7)}}), "", 400, "belongs");
  record(good, R"("status":"confirmed")", 400, "status");
  record(good, R"("status":"failed")", 400, "recorded as");
  record(good, R"("lock_id":"aa")", 400, "lock_id");
  record(good, R"("height":5)", 400, "all three");
  record(good, R"("height":5,"block_hash":"00","block_index":0)", 400, "block");
  record(good, R"("height":-5,"block_hash":"00","block_index":0)", 400, "height");
  // Height 3 has another block.
  record(good, R"("height":3,"block_hash":")" + kLock + R"(","block_index":0)", 409, "3");
  post(path, R"({"raw":"zz"})", 400, "transaction");
  post(path, R"({"raw":"abc"})", 400, "transaction");
  post(path + "/" + kZeros + "/publish", "", 404, kZeros);
  post(path + "/" + kZeros + "/cancel", "", 404, kZeros);
  post(path + "/" + coin_ + "/cancel", "", 409, "confirmed");
  post(path + "/abc/cancel", "", 400, "64 hex digits");
  get(path + "/" + kZeros, 404, kZeros);
  get(path + "/x", 400, "64 hex digits");
  get("/wallets/shop/coins/" + kZeros + "/0", 404, kZeros);
  get("/wallets/shop/coins/" + kZeros + "/x", 400, "index");
}

TEST_F(WalletRefusals, Leases) {
  const std::string path = "/wallets/shop/leases";
  for (const std::string& lock :
       {std::string(62, 'a'), std::string(66, 'a'), std::string(64, 'z'), std::string()})
    for (const char* what : {"", "/renew"})
      post(path + what, Wallets::coins_body(coin_, lock), 400, "lock_id");
  post(path + "/release", Wallets::coins_body(coin_, "00", ""), 400, "lock_id");
  post(path, Wallets::coins_body(coin_, kLock, ""), 400, "duration_ms");
  post(path, Wallets::coins_body(coin_, kLock, R"(,"duration_ms":0)"), 400, "duration_ms");
  post(path, Wallets::coins_body(coin_, kLock, R"(,"duration_ms":31536000001)"), 400,
       "duration_ms");
  post(path, Wallets::coins_body(kZeros), 404, kZeros);
  post(path, Wallets::coins_body("00"), 400, "coins[0]");
  post(path, R"({"coins":[],"lock_id":")" + kLock + R"(","duration_ms":5})", 400, "coins");
  post(path, R"({"coins":["x"],"lock_id":")" + kLock + R"(","duration_ms":5})", 400, "coins[0]");
  post(path,
       fmt::format(R"({{"coins":[{{"tx_hash":"{}"}}],"lock_id":"{}","duration_ms":5}})", coin_,
                   kLock),
       400, "output_index");
  // One that is there and one that is not: none is taken.
  post(path,
       fmt::format(R"({{"coins":[{{"tx_hash":"{}","output_index":0}},{{"tx_hash":"{}",)"
                   R"("output_index":1}}],"lock_id":"{}","duration_ms":5000}})",
                   coin_, coin_, kLock),
       404, "#1");
  post(path + "/renew", Wallets::coins_body(coin_), 409, "hold");
  post(path + "/release", R"({"all":true,"coins":[],"lock_id":")" + kLock + "\"}", 400, "all");
  (void)wallets_.post(path, Wallets::coins_body(coin_));
  post(path + "/release", Wallets::coins_body(coin_, kOtherLock, ""), 409, "another lock id");
}

TEST_F(WalletRefusals, FiltersPagesAndLabels) {
  const std::pair<const char*, const char*> bad[] = {
      {"count=0", "count"},
      {"count=1001", "count"},
      {"cursor=x", "cursor"},
      {"state=gone", "state"},
      {"state=", "state"},
      {"order=up", "order"},
      {"leased=maybe", "leased"},
      {"spendable=1", "spendable"},
      {"chain_pending=true", "spendable"},
      {"min_amount=-1", "min_amount"},
      {"min_amount=0.5", "min_amount"},
      {"max_amount=99999999999999999999", "max_amount"},
      {"min_amount=9&max_amount=8", "min_amount"},
      {"min_confirmations=9&max_confirmations=8", "min_confirmations"},
      {"address=bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "address"},
  };
  for (const auto& [query, why] : bad) get(fmt::format("/wallets/shop/coins?{}", query), 400, why);
  get("/wallets/shop/transactions?status=lost", 400, "status");
  get("/wallets/shop/transactions?confirmed=x", 400, "confirmed");
  get("/wallets/shop/transactions?cursor=x", 400, "cursor");
  get("/wallets/shop/balance?account=a&address=51", 400, "one of them");
  get("/wallets/shop/balance?account=none", 404, "none");
  get("/wallets/shop/balance?address=52", 404, "");
  const auto label = [&](const std::string& body, const std::string& why) {
    expect_refusal(Method::kPut, "/wallets/shop/labels", body, 400, why);
  };
  label(R"({"kind":"coin","ref":"x","label":"y"})", "kind");
  label(R"({"kind":"tx","ref":"x","label":"y"})", "64 hex digits");
  label(R"({"kind":"address","ref":"x","label":"y"})", "address");
  label(R"({"kind":"output","ref":"x","label":"y"})", "TX#INDEX");
  label(R"({"kind":"tx","ref":")" + coin_ + "\"}", "label: missing");
  label(R"({"kind":"tx","ref":")" + coin_ + R"(","label":")" + std::string(501, 'x') + "\"}",
        "500");
}

TEST_F(WalletRefusals, ABodyIsBounded) {
  const std::string huge = R"({"raw":")" + std::string(2u << 20, '0') + "\"}";
  const http::Response answer = wallets_.send(Method::kPost, "/wallets/shop/transactions", huge);
  EXPECT_EQ(answer.status, 413);
}

TEST(WalletInput, LabelsHaveOneForm) {
  const auto network = chain::find_network("bitcoin", "mainnet").value();
  const std::string tx(64, 'A'), lower(64, 'a');
  EXPECT_EQ(parse_label_target(network, "tx", tx)->ref, lower);
  EXPECT_EQ(parse_label_target(network, "output", tx + "#07")->ref, lower + ":7");
  EXPECT_EQ(parse_label_target(network, "output", tx + ":7")->ref, lower + ":7");
  EXPECT_EQ(
      parse_label_target(network, "address", "BC1QW508D6QEJXTDG4Y5R3ZARVARY0C5XW7KV8F3T4")->ref,
      "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4");
}

}  // namespace
}  // namespace coffer::wallet
