#include "token/account/export.h"

#include <map>

#include "json/text.h"
#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kNow;

class TokenExport : public village::VillageTest {
 protected:
  std::map<std::string, std::string> all(ExportFormat format) {
    std::map<std::string, std::string> texts;
    const auto tables = export_all(store().ledger(), format,
                                   [&](std::string_view table, std::string_view lines) -> Result<> {
                                     EXPECT_LE(lines.size(), 200'000u);
                                     EXPECT_TRUE(lines.ends_with('\n'));
                                     texts[std::string(table)] += lines;
                                     return {};
                                   });
    EXPECT_TRUE(tables) << tables.error().message;
    if (!tables) return texts;
    for (const ExportedTable& each : *tables) {
      EXPECT_EQ(static_cast<std::int64_t>(each.rows), count("@" + each.name)) << each.name;
      const auto lines = std::ranges::count(texts[each.name], '\n');
      if (format == ExportFormat::kJsonLines) {
        EXPECT_EQ(static_cast<std::uint64_t>(lines), each.rows) << each.name;
      }
    }
    return texts;
  }
};
COFFER_ON_EVERY_ENGINE(TokenExport);

TEST_P(TokenExport, HasEveryRowOfEveryTable) {
  const User alice = make_user("-alice");
  move_many(pool_, alice.wallet, 3'000, kNow - 5'000);
  const Uuid sent = move(alice.wallet, pool_, 10);
  ASSERT_TRUE(execute(raw("INSERT INTO @transaction_details (transaction_id, memo, memo_salt,"
                          " memo_hash, actor) VALUES (" +
                          id_text(sent) + ", $3, $1, $2, 'user:alice')"),
                      {Bytes(16), Bytes(32, 0xab), "=1+1, \"tea\"\nfor two"}));
  ASSERT_TRUE(store().freeze(alice.wallet, operator_));
  const auto csv = all(ExportFormat::kCsv);
  EXPECT_EQ(csv.at("users"), "id,wallet_id,username,created_at,updated_at,deleted_at\n" +
                                 to_string(alice.id) + "," + to_string(alice.wallet) + ",'-alice," +
                                 std::to_string(kNow) + "," + std::to_string(kNow) + ",\n");
  EXPECT_NE(csv.at("transaction_details").find("\"'=1+1, \"\"tea\"\"\nfor two\""),
            std::string::npos);
  EXPECT_NE(csv.at("wallets").find(to_string(alice.wallet) + ",2990,true,"), std::string::npos);
  EXPECT_EQ(std::ranges::count(csv.at("transactions"), '\n'), 3'003);

  const auto json = all(ExportFormat::kJsonLines);
  const auto user = json::Text::parse(json.at("users"));
  ASSERT_TRUE(user);
  EXPECT_EQ(user->find("username")->string(100), "-alice");
  EXPECT_EQ(user->find("created_at")->integer(), kNow);
  EXPECT_TRUE(user->find("deleted_at")->is_null());
  EXPECT_NE(json.at("transaction_details").find(R"("memo":"=1+1, \"tea\"\nfor two")"),
            std::string::npos);
  EXPECT_NE(json.at("transaction_details").find(R"("memo_hash":"ababab)"), std::string::npos);
  EXPECT_NE(json.at("wallets").find(R"("balance":"2990","is_frozen":true)"), std::string::npos);
}

TEST_P(TokenExport, SecretsOfKeysStayInTheDatabase) {
  const auto made =
      store().make_api_key({.name = "shop", .scopes = {"read"}, .duration_ms = 1'000}, operator_);
  ASSERT_TRUE(made);
  const auto hash = number(raw("SELECT length(secret_hash) FROM @api_keys"));
  EXPECT_EQ(hash, 32);
  EXPECT_EQ(all(ExportFormat::kCsv).at("api_keys").find("secret"), std::string::npos);
}

// What is written meanwhile is not in it, and is not held up.
TEST_P(TokenExport, IsOneMomentAndHindersNoWriter) {
  const User alice = make_user("alice");
  move_many(pool_, alice.wallet, 2'000, kNow - 5'000);
  bool wrote = false;
  std::string entries;
  const auto tables = export_all(store().ledger(), ExportFormat::kCsv,
                                 [&](std::string_view table, std::string_view lines) -> Result<> {
                                   if (!wrote) move(alice.wallet, pool_, 7);
                                   wrote = true;
                                   if (table == "wallet_entries") entries += lines;
                                   return {};
                                 });
  ASSERT_TRUE(tables) << tables.error().message;
  EXPECT_EQ((*store().find_wallet(alice.wallet))->balance, 1'993);
  EXPECT_EQ(std::ranges::count(entries, '\n'), 4'002);
}

TEST_P(TokenExport, ErrorOfTheSinkEndsIt) {
  int calls = 0;
  const auto tables = export_all(store().ledger(), ExportFormat::kCsv,
                                 [&](std::string_view, std::string_view) -> Result<> {
                                   ++calls;
                                   return fail(Code::kUnavailable, "the disk is full");
                                 });
  ASSERT_FALSE(tables);
  EXPECT_EQ(tables.error().code, Code::kUnavailable);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace coffer::token
