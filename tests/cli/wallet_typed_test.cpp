// What is typed at `coffer wallet` means what it says: nothing of it is dropped, and a list is
// taken whole or not at all.
#include <fstream>

#include "cli/wallet_commands.h"
#include "http/client.h"

namespace coffer {
namespace {

TEST_F(WalletCommands, EmptyFilterIsNotDropped) {
  make_shop();
  const std::string tx = id_of(pay(100'000, 3));
  expect_refusal(wallet({"balance", "shop", "--account", ""}), 1, "no account");
  expect_refusal(wallet({"balance", "shop", "--address", ""}), 2, "address");
  expect_refusal(wallet({"coins", "shop", "--account", ""}), 1, "no account");
  for (const char* option : {"--state", "--address", "--min-amount", "--max-amount",
                             "--min-confirmations", "--max-confirmations", "--order", "--count"})
    expect_refusal(wallet({"coins", "shop", option, ""}), 2, "");
  expect_refusal(wallet({"history", "shop", "--status", ""}), 2, "status");
  expect_refusal(wallet({"prune", "shop", "--invalid-older-than", ""}), 2, "duration");
  const Bytes spend = wallet::test_tx({{wallet::foreign_outpoint(90)}}, {{1'000, new_script()}});
  expect_refusal(wallet({"record", "shop", to_hex(spend), "--lock-id", ""}), 2, "lock_id");
  EXPECT_EQ(as_json({"coins", "shop"}).at("coins").as_array().size(), 1u);
}

TEST_F(WalletCommands, AccountsAndOneCoin) {
  make_shop();
  const std::string tx = id_of(pay(150'000, 7));
  (void)text({"import", "script", "shop", "51", "--account", "extra"});
  EXPECT_NE(text({"accounts", "shop"}).find("extra"), std::string::npos);
  EXPECT_EQ(as_json({"accounts", "shop"}).at("accounts").as_array().size(), 2u);
  (void)text({"label", "shop", "output", tx + "#0", "coffee"});
  (void)text({"lease", "shop", tx + "#0", "--lock-id", kLock, "--for", "10m"});
  const std::string shown = text({"coin", "shop", tx + "#0"});
  for (const std::string& part : {tx + "#0", std::string("0.00150000 BTC"),
                                  std::string("confirmed"), std::string("coffee"), kLock})
    EXPECT_NE(shown.find(part), std::string::npos) << shown;
  EXPECT_EQ(as_json({"coin", "shop", tx + ":0"}), as_json({"coins", "shop"}).at("coins").at(0));
  expect_refusal(wallet({"coin", "shop", tx + "#1"}), 1, "#1");
  expect_refusal(wallet({"coin", "shop", "x"}), 2, "TX#INDEX");
  expect_refusal(wallet({"accounts", "none"}), 1, "no wallet");
}

TEST_F(WalletCommands, ScriptsAndAddressesAreImportedTogetherOrNotAtAll) {
  make_shop();
  const std::string before = everything();
  expect_refusal(wallet({"import", "script", "shop", "51", "6a00"}), 2, "6a00: nobody can spend");
  expect_refusal(wallet({"import", "script", "shop", "51", "52", ""}), 2, "script");
  expect_refusal(wallet({"import", "address", "shop",
                         "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080", "nobody"}),
                 2, "address");
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(as_json({"import", "script", "shop", "51", "52"}).at("addresses").as_int64(), 2);
}

TEST_F(WalletCommands, ContradictingOptionsAreRefused) {
  make_shop();
  (void)pay(1'000, 3);
  expect_refusal(wallet({"coins", "shop", "--leased", "--unleased"}), 2, "--leased");
  expect_refusal(wallet({"history", "shop", "--confirmed", "--unconfirmed"}), 2, "--confirmed");
  expect_refusal(wallet({"coins", "shop", "--chain-pending"}), 2, "spendable");
  EXPECT_EQ(wallet({"coins", "shop", "--chain-pending", "--spendable"}).exit_code, 0);
  for (const char* amount : {"0", "0.5", "", "2100000000000001"})
    expect_refusal(wallet({"select", "shop", amount, "--lock-id", kLock, "--for", "1m"}), 2,
                   "amount: expected a whole number from 1");
  expect_refusal(wallet({"select", "shop", "5", "--lock-id", std::string(64, 'x'), "--for", "1m"}),
                 2, "got a character that is none");
  expect_refusal(wallet({"import", "address", "shop", "bc1nobody"}), 2, "address 'bc1nobody'");
  expect_refusal(run({"status", "--data", data()}), 1, "holds only wallets");
}

TEST_F(WalletCommands, ForceSpendsLeasedCoinBumpSpendsHeldCoin) {
  make_shop();
  const Bytes parent = pay(150'000, 3);
  const std::string tx = id_of(parent);
  (void)text({"lease", "shop", tx + "#0", "--lock-id", kLock, "--for", "10m"});
  const auto spend = [&](std::uint64_t amount) {
    return wallet::test_tx({{wallet::test_txid(parent), 0}}, {{amount, Bytes(22, 1)}});
  };
  const auto record = [&](std::uint64_t amount, std::vector<std::string> more) {
    more.insert(more.begin(), {"record", "shop", to_hex(spend(amount)), "--status", "pending"});
    return wallet(more);
  };
  expect_refusal(record(149'000, {}), 1, "leased");
  expect_refusal(record(149'000, {"--lock-id", kOtherLock}), 1, "leased");
  EXPECT_EQ(record(149'000, {"--force"}).exit_code, 0);
  expect_refusal(record(148'000, {"--force"}), 1, "bump");
  EXPECT_EQ(record(148'000, {"--force", "--bump"}).exit_code, 0);
  EXPECT_EQ(str(as_json({"publish", "shop", id_of(spend(148'000))}), "status"), "published");
  EXPECT_EQ(str(as_json({"show", "shop", id_of(spend(149'000))}), "status"), "failed");
  expect_refusal(wallet({"record", "shop", to_hex(spend(1)), "--force"}), 1, "pending");
}

TEST_F(WalletCommands, BenchmarkMeasuresEverySize) {
  for (const char* wallets : {"1", "1000"}) {
    const Finished end =
        run({"bench", "wallet", "--coins", "1000", "--history", "1", "--wallets", wallets});
    ASSERT_EQ(end.exit_code, 0) << end.err;
    for (const char* what :
         {": load", ": open", ": start to follow", ": balance", ": first page", ": lease",
          ": record", ": rollback of 6", ": rollback of 100", ": size"})
      EXPECT_NE(end.out.find(what), std::string::npos) << what << "\n" << end.out;
  }
}

TEST_F(WalletCommands, UnknownBlockIsRefused) {
  ASSERT_EQ(run({"sync", "--to", "5", "--data", data()}).exit_code, 0);
  make_shop();
  const Bytes raw = wallet::test_tx({wallet::foreign_outpoint(1)}, {{1'000, new_script()}});
  const auto record = [&](const std::string& hash) {
    return wallet(
        {"record", "shop", to_hex(raw), "--height", "3", "--block", hash, "--index", "1"});
  };
  const std::string before = everything();
  const Finished refused = record(kLock);
  expect_refusal(refused, 1, "block 3 of the chain is ");
  EXPECT_EQ(everything(), before);
  const std::size_t at = refused.err.find("chain is ") + 9;
  EXPECT_EQ(record(refused.err.substr(at, 64)).exit_code, 0);
  // The daemon says the same.
  test::Process server(
      {test::coffer(), "demo", "--json", "--data", data(), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(server.wait_for_output("\n")) << server.err();
  const std::string url = str(boost::json::parse(server.out()), "url");
  http::ClientOptions body;
  std::string token;
  std::getline(std::ifstream(data() + "/token"), token);
  body.headers = {{"Authorization", "Bearer " + token}};
  body.body = boost::json::serialize(boost::json::object{
      {"raw", to_hex(raw)}, {"height", 3}, {"block_hash", kLock}, {"block_index", 1}});
  const auto answer =
      http::request(http::Method::kPost, url + "/api/v1/wallets/shop/transactions", body);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 409);
  EXPECT_NE(answer->content().find("block 3 of the chain is "), std::string::npos);
}

TEST_F(WalletCommands, ErrorsArePrintable) {
  make_shop();
  const std::string file = data("long.jsonl");
  std::ofstream(file) << R"({"coffer_history":1,"chain":"bitcoin","network":"devnet"})" << "\n"
                      << "{\"script\":\"51\",\"" << std::string(100'000, 'x') << "\":1}\n";
  const Finished end = wallet({"import-history", "shop", file});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_NE(end.err.find("line 2: 'xxx"), std::string::npos);
  EXPECT_NE(end.err.find("does not belong here\n"), std::string::npos);
  EXPECT_LT(end.err.size(), 2'000u);
}

// A refusal that left headers of another network would lock the wallets out.
TEST_F(WalletCommands, OtherNetworkCreatesNothingBesideWallets) {
  ASSERT_EQ(run({"wallet", "create", "shop", "--network", "regtest", "--data", data()}).exit_code,
            0);
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"wallet", "rescan", "shop"}, {"sync", "--to", "1"}, {"serve"}}) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--data", data()});
    expect_refusal(run(arguments), 1, "add --network regtest");
  }
  EXPECT_FALSE(std::filesystem::exists(data() + "/db"));
}

TEST_F(WalletCommands, OtherDataDirectoryRefusesTheWallets) {
  ASSERT_EQ(run({"wallet", "create", "shop", "--network", "regtest", "--data", data()}).exit_code,
            0);
  ASSERT_EQ(run({"sync", "--to", "1", "--data", data("demo")}).exit_code, 0);
  expect_refusal(
      run({"wallet", "list", "--data", data("demo")},
          {"COFFER_WALLET_DATABASE=sqlite:" + data() + "/wallet.db"}),
      1, "holds wallets of bitcoin regtest, but the settings or " + data("demo") + " say devnet");
  EXPECT_EQ(as_json({"list"}).at("wallets").as_array().size(), 1u);
}

}  // namespace
}  // namespace coffer
