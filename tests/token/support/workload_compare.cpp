// What a Store holds, compared with the model.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "token/community.h"
#include "token/support/workload.h"

namespace coffer::token::test {

void Workload::compare_state() {
  const Community& c = store_->ledger();
  auto connection = database_->acquire();
  ASSERT_TRUE(connection) << connection.error().message;
  auto rows =
      connection->query(c.sql("SELECT w.id, w.balance, w.is_frozen,"
                              " coalesce((SELECT sum(h.amount)::bigint FROM @holds h"
                              "   WHERE h.wallet_id = w.id AND h.state = 'open'), 0)"
                              " FROM @wallets w"));
  ASSERT_TRUE(rows) << rows.error().message;
  std::size_t count = 0;
  for (auto more = rows->next(); more && *more; more = rows->next()) {
    const Uuid id = c.read_id(*rows, 0).value();
    const auto found = model_.wallets().find(id);
    ASSERT_NE(found, model_.wallets().end()) << to_string(id);
    EXPECT_EQ(rows->get<std::int64_t>(1).value(), model_.balance(id)) << to_string(id);
    EXPECT_EQ(rows->get<bool>(2).value(), found->second.is_frozen) << to_string(id);
    if (!holds_are_due_) {
      EXPECT_EQ(rows->get<std::int64_t>(3).value(), model_.held(id)) << to_string(id);
    }
    ++count;
  }
  EXPECT_EQ(count, model_.wallets().size());
}

void Workload::compare_history() {
  const auto report = store_->check();
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_consistent);
  EXPECT_TRUE(report->differences.empty());
  EXPECT_TRUE(report->orphans.empty());

  const auto supply = store_->supply();
  ASSERT_TRUE(supply) << supply.error().message;
  const Supply expected = model_.supply();
  EXPECT_EQ(supply->circulation, expected.circulation);
  EXPECT_EQ(supply->pool, expected.pool);
  EXPECT_EQ(supply->deleted_users, expected.deleted_users);
  EXPECT_EQ(supply->ownerless, 0);
  EXPECT_EQ(supply->issuance, expected.issuance);

  // Every transaction once, page by page.
  std::map<Uuid, std::int64_t> amounts;
  HistoryQuery query{.page = {.count = 7}};
  for (;;) {
    const auto page = store_->history(query);
    ASSERT_TRUE(page) << page.error().message;
    for (const Transaction& t : page->items)
      EXPECT_TRUE(amounts.emplace(t.id, t.amount).second) << to_string(t.id) << " twice";
    if (page->cursor.empty()) break;
    query.page.cursor = page->cursor;
  }
  ASSERT_EQ(amounts.size(), model_.history().size());
  for (const Model::Moved& moved : model_.history())
    EXPECT_EQ(amounts[moved.transfer.id], moved.transfer.amount);

  // The statement of a wallet ends with its balance, and each line follows from the last.
  for (const auto& [wallet, holder] : model_.wallets()) {
    Store::StatementQuery lines{
        .wallet = wallet, .from_ms = 0, .to_ms = 4'000'000'000'000, .page = {.count = 1'000}};
    const auto statement = store_->statement(lines);
    ASSERT_TRUE(statement) << statement.error().message;
    std::int64_t balance = statement->opening_balance;
    EXPECT_EQ(balance, 0);
    for (const StatementLine& line : statement->lines.items) {
      balance += line.delta;
      EXPECT_EQ(line.balance, balance) << to_string(wallet);
    }
    EXPECT_EQ(balance, model_.balance(wallet)) << to_string(wallet);
  }
}

}  // namespace coffer::token::test
