// The wallet over HTTP, on a real store.
#include "wallet/routes/wallets.h"

#include "api/auth.h"
#include "base/result.h"
#include "wallet/routes/wallets_test_util.h"

namespace coffer::wallet {
namespace {

using http::Method;

TEST(WalletRoutes, NothingIsAnsweredWithoutTheToken) {
  Wallets wallets;
  ASSERT_TRUE(api::ensure_read_token(wallets.fixture.dir.path()));
  wallets.serve().post("/wallets", R"({"name":"shop"})", 201);
  const auto routes = all_routes(wallets.openapi);
  EXPECT_EQ(routes.size(), 30u);
  for (const auto& [method, path] : routes) {
    const http::Response open = wallets.fixture.call(method, "/api/v1" + path);
    EXPECT_EQ(open.status, 401) << path;
    EXPECT_NE(open.content().find(R"("code":"unauthorized")"), std::string::npos);
    wallets.fixture.clock.advance_ms(600'000);  // many failures at once would be 429
    const http::Response reader = wallets.send(method, path, "", "read-token");
    if (http::changes_state(method))
      EXPECT_EQ(reader.status, 403) << path;
    else
      EXPECT_TRUE(reader.status == 200 || reader.status == 404) << path << reader.content();
  }
}

TEST(WalletRoutes, EveryAnswerIsAsDeclared) {
  Wallets wallets;
  wallets.serve();
  const auto fits = [&](const json::value& value, const char* schema) {
    SCOPED_TRACE(schema);
    api::expect_fits(value, wallets.schema(schema));
  };
  fits(wallets.post("/wallets", R"({"name":"shop","birthday_height":5,"gap_limit":7})", 201),
       "Wallet");
  const json::value imported =
      wallets.post("/wallets/shop/descriptors", R"({"descriptor":")" + kRanged + "\"}");
  fits(imported, "Imported");
  EXPECT_EQ(imported.at("descriptors").to_number<int>(), 2);
  EXPECT_EQ(imported.at("addresses").to_number<int>(), 14);
  const json::value made = wallets.post("/wallets/shop/addresses", "", 201);
  fits(made, "WalletAddress");
  EXPECT_EQ(made.at("index").to_number<int>(), 0);
  EXPECT_TRUE(made.at("given_out").as_bool());
  const std::string tx = wallets.pay("shop", 100'000, in_block(10));
  fits(wallets.get("/wallets/shop/accounts"), "AccountList");
  fits(wallets.get("/wallets/shop/descriptors").at("descriptors").at(0), "WalletDescriptor");
  fits(wallets.get("/wallets/shop/addresses").at("addresses").at(0), "WalletAddress");
  fits(wallets.get("/wallets/shop/balance"), "WalletBalance");
  fits(wallets.get("/wallets/shop/coins").at("coins").at(0), "Coin");
  fits(wallets.get("/wallets/shop/coins/" + tx + "/0"), "Coin");
  fits(wallets.get("/wallets/shop/transactions").at("transactions").at(0), "HistoryEntry");
  const json::value detail = wallets.get("/wallets/shop/transactions/" + tx);
  fits(detail, "WalletTransaction");
  fits(detail.at("inputs").at(0), "WalletInput");
  fits(detail.at("outputs").at(0), "WalletOutput");
  fits(wallets.post("/wallets/shop/leases", Wallets::coins_body(tx)), "Leased");
  fits(wallets.get("/wallets/shop/leases").at("leases").at(0), "Lease");
  fits(wallets.get("/wallets/shop/coins").at("coins").at(0), "Coin");
  fits(wallets.post("/wallets/shop/leases/release", Wallets::coins_body(tx, kLock, "")),
       "Released");
  fits(wallets.post("/wallets/shop/leases/select",
                    fmt::format(R"({{"amount":"1","lock_id":"{}","duration_ms":1}})", kLock)),
       "SelectedCoins");
  fits(wallets.post("/wallets/shop/prune", R"({"dry_run":true})"), "PrunedWallet");
  fits(wallets.get("/wallets-stats"), "WalletStats");
  fits(wallets.get("/wallets/shop/pruned"), "PrunedTotals");
  fits(wallets.call(Method::kPut, "/wallets/shop/labels",
                    R"({"kind":"tx","ref":")" + tx + R"(","label":"rent"})", 200),
       "Label");
  fits(wallets.get("/wallets/shop/labels").at("labels").at(0), "Label");
  fits(wallets.post("/wallets/shop/transactions",
                    Wallets::record_body(
                        from_hex(std::string(detail.at("raw").as_string())).value(), in_block(10))),
       "Recorded");
  for (const auto& [path, name] :
       {std::pair{"/wallets", "WalletPage"}, std::pair{"/wallets/shop/coins", "CoinPage"},
        std::pair{"/wallets/shop/transactions", "HistoryPage"},
        std::pair{"/wallets/shop/leases", "LeasePage"},
        std::pair{"/wallets/shop/labels", "LabelPage"},
        std::pair{"/wallets/shop/addresses", "WalletAddressPage"},
        std::pair{"/wallets/shop/descriptors", "DescriptorList"},
        std::pair{"/wallets/shop", "Wallet"}})
    fits(wallets.get(path), name);
}

TEST(WalletRoutes, APaymentComesIsLeasedSpentAndPublished) {
  Wallets wallets;
  wallets.serve().post("/wallets", R"({"name":"shop"})", 201);
  (void)wallets.post("/wallets/shop/descriptors", R"({"descriptor":")" + kRanged + "\"}");
  const auto balance = [&](const char* kind) {
    return std::string(wallets.get("/wallets/shop/balance").at(kind).as_string());
  };
  const std::string tx = wallets.pay("shop", 150'000);
  EXPECT_EQ(balance("unconfirmed"), "150000");
  EXPECT_EQ(balance("spendable"), "0");
  const json::value coin = wallets.get("/wallets/shop/coins/" + tx + "/0");
  EXPECT_EQ(coin.at("state").as_string(), "unconfirmed");
  const Bytes parent =
      from_hex(std::string(wallets.get("/wallets/shop/transactions/" + tx).at("raw").as_string()))
          .value();
  const json::value confirmed =
      wallets.post("/wallets/shop/transactions", Wallets::record_body(parent, in_block(7)));
  EXPECT_EQ(confirmed.at("height").to_number<int>(), 7);
  EXPECT_TRUE(confirmed.at("changed").as_bool());
  EXPECT_FALSE(wallets.post("/wallets/shop/transactions", Wallets::record_body(parent, in_block(7)))
                   .at("changed")
                   .as_bool());  // E3
  EXPECT_EQ(balance("spendable"), "150000");

  // Coins that are chosen are leased; and it is refused if there is not so much.
  const auto selection = [](const std::string& amount, const std::string& lock_id) {
    return fmt::format(R"({{"amount":"{}","lock_id":"{}","duration_ms":60000}})", amount, lock_id);
  };
  (void)wallets.post("/wallets/shop/leases/select", selection("150001", kOtherLock), 409);
  (void)wallets.post("/wallets/shop/leases/select", selection("-1", kOtherLock), 400);
  const json::value selected =
      wallets.post("/wallets/shop/leases/select", selection("100000", kOtherLock));
  EXPECT_EQ(selected.at("amount").as_string(), "150000");
  EXPECT_EQ(selected.at("coins").at(0).at("tx_hash").as_string(), tx);
  (void)wallets.post("/wallets/shop/leases", Wallets::coins_body(tx), 409);
  (void)wallets.post("/wallets/shop/leases/release", Wallets::coins_body(tx, kOtherLock, ""));

  // Whoever holds the lease may spend it; nobody else.
  (void)wallets.post("/wallets/shop/leases", Wallets::coins_body(tx));
  EXPECT_EQ(balance("leased"), "150000");
  EXPECT_EQ(balance("spendable"), "0");
  (void)wallets.post("/wallets/shop/leases", Wallets::coins_body(tx, kOtherLock), 409);
  (void)wallets.post("/wallets/shop/leases/renew", Wallets::coins_body(tx, kOtherLock), 409);
  (void)wallets.post("/wallets/shop/leases/renew", Wallets::coins_body(tx));
  EXPECT_TRUE(wallets.get("/wallets/shop/coins?leased=false").at("coins").as_array().empty());
  EXPECT_TRUE(wallets.get("/wallets/shop/coins?spendable=true").at("coins").as_array().empty());
  EXPECT_EQ(wallets.get("/wallets/shop/coins?leased=true").at("coins").as_array().size(), 1u);
  const Bytes spend = wallet::test_tx({{wallet::test_txid(parent), 0}}, {{149'000, Bytes(22, 1)}});
  const std::string pending = R"("status":"pending")";
  (void)wallets.post("/wallets/shop/transactions", Wallets::record_body(spend, pending), 409);
  const json::value spent =
      wallets.post("/wallets/shop/transactions",
                   Wallets::record_body(spend, pending + R"(,"lock_id":")" + kLock + "\""));
  EXPECT_EQ(spent.at("status").as_string(), "pending");
  EXPECT_EQ(balance("locked"), "150000");
  const std::string spend_id(spent.at("tx_hash").as_string());
  EXPECT_EQ(wallets.post("/wallets/shop/transactions/" + spend_id + "/publish", "")
                .at("status")
                .as_string(),
            "published");
  EXPECT_EQ(balance("total"), "0");
  EXPECT_EQ(wallets.get("/wallets/shop/coins/" + tx + "/0").at("spent_by").as_string(), spend_id);
  EXPECT_EQ(wallets.get("/wallets/shop/transactions/" + spend_id).at("fee").as_string(), "1000");
  (void)wallets.post("/wallets/shop/transactions/" + spend_id + "/cancel", "", 409);

  const std::string label = R"({"kind":"tx","ref":")" + spend_id + R"(","label":"rent"})";
  (void)wallets.call(Method::kPut, "/wallets/shop/labels", label, 200);
  const std::string output = R"({"kind":"output","ref":")" + tx + R"(#0","label":"deposit"})";
  (void)wallets.call(Method::kPut, "/wallets/shop/labels", output, 200);
  EXPECT_EQ(wallets.get("/wallets/shop/coins/" + tx + "/0").at("label").as_string(), "deposit");
  const json::value history = wallets.get("/wallets/shop/transactions?confirmed=false");
  ASSERT_EQ(history.at("transactions").as_array().size(), 1u);
  EXPECT_EQ(history.at("transactions").at(0).at("label").as_string(), "rent");
}

TEST(WalletRoutes, ScriptsForceBumpCancelAndReleaseOfAll) {
  Wallets wallets;
  wallets.serve().post("/wallets", R"({"name":"shop"})", 201);
  const std::string script = R"({"script":"51","account":"extra"})";
  EXPECT_EQ(wallets.post("/wallets/shop/scripts", script).at("addresses").to_number<int>(), 1);
  (void)wallets.post("/wallets/shop/descriptors", R"({"descriptor":")" + kRanged + "\"}");
  const std::string tx = wallets.pay("shop", 100'000, in_block(1));
  (void)wallets.post("/wallets/shop/leases", Wallets::coins_body(tx));
  const Bytes parent =
      from_hex(std::string(wallets.get("/wallets/shop/transactions/" + tx).at("raw").as_string()))
          .value();
  const auto record = [&](std::uint64_t amount, const std::string& how, int expected = 200) {
    const Bytes spend = wallet::test_tx({{wallet::test_txid(parent), 0}}, {{amount, Bytes(22, 1)}});
    return wallets.post("/wallets/shop/transactions",
                        Wallets::record_body(spend, R"("status":"pending")" + how), expected);
  };
  (void)record(99'000, "", 409);
  const json::value forced = record(99'000, R"(,"force":true)");
  (void)record(98'000, R"(,"force":true)", 409);
  (void)record(98'000, R"(,"force":true,"bump":true)");
  const std::string id(forced.at("tx_hash").as_string());
  EXPECT_EQ(wallets.post("/wallets/shop/transactions/" + id + "/cancel", "").at("status"),
            "failed");
  EXPECT_EQ(wallets
                .post("/wallets/shop/leases/release",
                      fmt::format(R"({{"lock_id":"{}","all":true}})", kLock))
                .at("coins")
                .to_number<int>(),
            1);
  EXPECT_TRUE(wallets.get("/wallets/shop/leases").at("leases").as_array().empty());
}

TEST(WalletRoutes, GoesOnWhereAWalletOfCoreStands) {
  Wallets wallets;
  wallets.serve().post("/wallets", R"({"name":"shop","gap_limit":5})", 201);
  const json::value done = wallets.post("/wallets/shop/core-descriptors", core_body());
  api::expect_fits(done, wallets.schema("Imported"));
  EXPECT_EQ(done.at("addresses").to_number<int>(), 10);
  EXPECT_EQ(wallets.post("/wallets/shop/addresses", "", 201).at("index").to_number<int>(), 3);
  const json::value again = wallets.post("/wallets/shop/core-descriptors", core_body());
  EXPECT_EQ(again.at("addresses").to_number<int>(), 0);  // E3
}

TEST(WalletRoutes, ExpiredLeasesAreTakenAway) {
  Wallets wallets;
  wallets.serve().post("/wallets", R"({"name":"shop"})", 201);
  (void)wallets.post("/wallets/shop/descriptors", R"({"descriptor":")" + kRanged + "\"}");
  const std::string gone = wallets.pay("shop", 100'000, in_block(1));
  const std::string held = wallets.pay("shop", 200'000, in_block(2));
  (void)wallets.post("/wallets/shop/leases",
                     Wallets::coins_body(gone, kLock, R"(,"duration_ms":1000)"));
  (void)wallets.post("/wallets/shop/leases", Wallets::coins_body(held));
  wallets.clock.advance_ms(2'000);
  const json::value done = wallets.post("/wallets-clean-leases", "");
  api::expect_fits(done, wallets.schema("CleanedLeases"));
  EXPECT_EQ(done.at("leases").to_number<int>(), 1);
  EXPECT_FALSE(done.at("more").as_bool());
  EXPECT_EQ(wallets.get("/wallets-stats").at("leases").to_number<int>(), 1);
}

TEST(WalletRoutes, PagesGoOnWhereTheLastEnded) {
  Wallets wallets;
  wallets.serve();
  for (const char* name : {"a", "b", "c"})
    (void)wallets.post("/wallets", fmt::format(R"({{"name":"{}"}})", name), 201);
  std::vector<std::string> seen;
  std::string cursor;
  do {
    const json::value page =
        wallets.get("/wallets?count=2" + (cursor.empty() ? "" : "&cursor=" + cursor));
    for (const json::value& one : page.at("wallets").as_array())
      seen.emplace_back(one.at("name").as_string());
    const json::value& next = page.at("next_cursor");
    cursor = next.is_null() ? "" : std::string(next.as_string());
  } while (!cursor.empty() && seen.size() < 10);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c"}));
}

// E11: a request counts nothing.
TEST(WalletRoutes, StatsAreWhatWasCountedLast) {
  Wallets wallets;
  wallets.is_counted = false;
  wallets.serve().post("/wallets", R"({"name":"shop"})", 201);
  const http::Response early = wallets.send(Method::kGet, "/wallets-stats");
  EXPECT_EQ(early.status, 503);
  EXPECT_NE(early.content().find("counted yet"), std::string::npos) << early.content();
  wallets.is_counted = true;
  const json::value stats = wallets.get("/wallets-stats");
  EXPECT_EQ(stats.at("wallets").to_number<int>(), 1);
  EXPECT_EQ(stats.at("counted_unix_ms").as_int64(), wallets.clock.unix_ms());
  for (const json::value& table : stats.at("tables").as_array())
    api::expect_fits(table, wallets.schema("WalletTable"));
}

TEST(WalletRoutes, WithoutAStoreEveryRouteSaysWhy) {
  struct Case {
    const char *chain, *network, *why;
    int status;
  };
  // Only what may come back by itself is worth another try.
  for (const Case& one : {Case{"bitcoin", "regtest", "wallet.enabled", 503},
                          Case{"cardano", "preview", "bitcoin only", 404}}) {
    const chain::Network network = chain::find_network(one.chain, one.network).value();
    Wallets wallets;
    wallets.fixture.options.more_routes = [&of = network](api::RouteTable& table) {
      add_wallet_routes(table, {nullptr, of});
    };
    wallets.serve();
    for (const auto& [method, path] : all_routes(wallets.openapi)) {
      const http::Response answer = wallets.send(method, path, "not even JSON");
      EXPECT_EQ(answer.status, one.status) << path;
      EXPECT_FALSE(http::find_header(answer.headers, "Retry-After")) << path;
      EXPECT_NE(answer.content().find(one.why), std::string::npos) << answer.content();
      EXPECT_NE(answer.content().find("\"reason\":"), std::string::npos) << answer.content();
    }
  }
}

TEST(WalletRoutes, WhatChangesStateIsAuditedAndNothingSecretIs) {
  Wallets wallets;
  wallets.serve().post("/wallets", R"({"name":"shop"})", 201);
  (void)wallets.get("/wallets/shop/balance");
  const std::string secret = wallet::kSecretXprv;
  const json::value refused =
      wallets.post("/wallets/shop/descriptors", R"({"descriptor":"wpkh()" + secret + ")\"}", 400);
  EXPECT_FALSE(wallet::leaks(json::serialize(refused), secret));
  (void)wallets.post("/wallets/shop/leases", Wallets::coins_body(kZeros), 404);
  const std::string audit = wallets.fixture.file("audit.log");
  EXPECT_EQ(std::count(audit.begin(), audit.end(), '\n'), 3) << audit;
  EXPECT_NE(audit.find(R"("path":"/api/v1/wallets/shop/descriptors","status":400)"),
            std::string::npos)
      << audit;
  EXPECT_FALSE(wallet::leaks(audit, secret));
  EXPECT_EQ(audit.find(kLock), std::string::npos);
}

}  // namespace
}  // namespace coffer::wallet
