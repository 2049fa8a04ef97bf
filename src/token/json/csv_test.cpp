#include "token/json/csv.h"

#include <gtest/gtest.h>

#include "base/result.h"

namespace coffer::token {
namespace {

TEST(TokenCsv, MembersInAnyOrderOfColumns) {
  const auto rows = parse_import(
      "\xef\xbb\xbf"
      "balance,username,issuer,subject,user_id\r\n"
      "100,alice,https://id.example.org,\"a,\"\"1\"\"\",3f2504e0-4f89-41d3-9a0c-0305e82c3301\r\n"
      "\r\n"
      ",bob,,,");
  ASSERT_TRUE(rows) << rows.error().message;
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ((*rows)[0].username, "alice");
  EXPECT_EQ((*rows)[0].balance, 100);
  ASSERT_TRUE((*rows)[0].identity);
  EXPECT_EQ((*rows)[0].identity->subject, "a,\"1\"");
  EXPECT_EQ(to_string((*rows)[0].user.value()), "3f2504e0-4f89-41d3-9a0c-0305e82c3301");
  EXPECT_EQ((*rows)[1].balance, 0);
  EXPECT_FALSE((*rows)[1].identity);
}

TEST(TokenCsv, ErrorsNameTheLine) {
  const auto error = [](std::string_view text) {
    const auto rows = parse_import(text);
    return rows ? "no error" : rows.error().message;
  };
  EXPECT_EQ(error("name\nalice\n"),
            "line 1: unknown column 'name'; known are username, balance, issuer, subject, user_id");
  EXPECT_EQ(error("balance\n1\n"), "line 1: no column 'username'");
  EXPECT_EQ(error("username,username\na,b\n"), "line 1: column 'username' is there twice");
  EXPECT_EQ(error("username\n"), "no members below the line of columns");
  EXPECT_EQ(error("username,balance\nalice,1\nbob\n"), "line 3: 1 fields, but 2 columns");
  EXPECT_EQ(error("username,balance\nalice,-1\n"),
            "line 2: balance: '-1' is no whole number from 0");
  EXPECT_EQ(error("username,balance\nalice,1.5\n"),
            "line 2: balance: '1.5' is no whole number from 0");
  EXPECT_EQ(error("username,issuer,subject\nalice,https://x,\n"),
            "line 2: issuer and subject: give both or none");
  EXPECT_EQ(error("username\n\"alice\n"), "line 3: a quoted field does not end");
  EXPECT_EQ(error("username\nal\"ice\n"), "line 2: a quotation mark within a field");
  EXPECT_NE(error("username,user_id\nalice,7\n").find("line 2: user_id"), std::string::npos);
}

TEST(TokenCsv, FieldsAreSafeForSpreadsheets) {
  EXPECT_EQ(csv_field("lunch"), "lunch");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\"\n"), "\"say \"\"hi\"\"\n\"");
  EXPECT_EQ(csv_field("=1+1"), "'=1+1");
  EXPECT_EQ(csv_field("@SUM(A1)"), "'@SUM(A1)");
}

}  // namespace
}  // namespace coffer::token
