// What is typed at `coffer wallet` means what it says: nothing of it is dropped, and a list is
// taken whole or not at all.
#include "wallet_commands.h"

namespace coffer {
namespace {

TEST_F(WalletCommands, AFilterThatIsEmptyIsNotDropped) {
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

}  // namespace
}  // namespace coffer
