// What the tables allow a person with a prompt to do (W4, W5, W10, W11), and what every foreign key
// needs (W9).
#include "wallet/schema.h"
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Schema : public WalletTest {
 protected:
  // Coins of the summary and coins as they are, minus each other.
  std::int64_t differences() {
    constexpr std::string_view kKept =
        "SELECT wallet_id, account_id, address_id, kind, coins, amount FROM balance_summary"
        " WHERE coins <> 0";
    constexpr std::string_view kCounted =
        "SELECT wallet_id, account_id, address_id, kind, count(*), CAST(sum(amount) AS BIGINT)"
        " FROM (SELECT wallet_id, account_id, address_id, kind, amount FROM coin_kinds UNION ALL"
        " SELECT wallet_id, account_id, 0, kind, amount FROM coin_kinds) k"
        " GROUP BY wallet_id, account_id, address_id, kind";
    return number(
        fmt::format("SELECT (SELECT count(*) FROM ({0} EXCEPT {1}) a)"
                    " + (SELECT count(*) FROM ({1} EXCEPT {0}) b)",
                    kKept, kCounted));
  }
  void refuses(std::string_view text, Code expected, sql::Params params = {}) {
    const std::string before = everything();
    const auto done = sql(text, params);
    EXPECT_FALSE(done) << text << ": " << done.value_or(0) << " rows";
    if (!done) {
      EXPECT_EQ(info(done.error().code).name, info(expected).name)
          << text << ": " << done.error().message;
      sql::test::expect_one_line(done.error());
    }
    EXPECT_EQ(everything(), before) << text;
  }
};
COFFER_ON_BOTH_ENGINES(Schema);

TEST_P(Schema, DeletedBlockOrphansCoinbases) {  // W4
  const MadeTx reward = coinbase(5'000), payment = incoming(100);
  mine({reward, payment});
  const MadeTx spent = tx({coin(payment)}, {{1, 90}});
  mine({spent});
  ok(sql("DELETE FROM blocks"));
  EXPECT_EQ(status(reward), "orphaned: reorganised");
  EXPECT_EQ(status(payment), "published");
  EXPECT_EQ(status(spent), "published");
  EXPECT_EQ(spender(coin(payment)), spent.id);
  EXPECT_EQ(balance().total, 90u);
  EXPECT_EQ(balance().unconfirmed, 90u);
  EXPECT_EQ(differences(), 0);
  // One height alone as well.
  deliver(chain_.back());
}

// An age counts from the reorganisation, whenever the block was mined.
TEST_P(Schema, OrphanedCoinbaseGetsCurrentTime) {  // W4
  const MadeTx reward = coinbase(5'000), payment = incoming(100);
  mine({reward, payment});
  ok(sql("UPDATE transactions SET in_mempool = $1", {true}));
  clock().advance_ms(1'000);
  const auto changed_at = [&](const MadeTx& made) {
    return number("SELECT changed_at FROM transactions WHERE id = $1", {id_of(made)});
  };
  ok(sql("DELETE FROM blocks"));
  EXPECT_EQ(changed_at(reward), kStart + 1'000);
  EXPECT_EQ(changed_at(payment), kStart) << "its status is what it was";
  PruneOptions invalid;
  invalid.invalid_older_than_ms = 1'000;
  EXPECT_EQ(store().prune(alice_, invalid)->invalid, 0u);
  EXPECT_FALSE(in_mempool(reward));
  EXPECT_FALSE(in_mempool(payment)) << "the node has not said so yet";
}

TEST_P(Schema, ForbiddenCombinationsAreRefused) {  // W4
  const MadeTx reward = coinbase(), payment = incoming();
  mine({reward, payment});
  const MadeTx loose = incoming();
  see(loose);
  const std::int64_t coinbase_id = id_of(reward), mined = id_of(payment), unmined = id_of(loose);
  const Code check = Code::kInvalidInput;
  for (const std::string_view status : {"pending", "replaced", "failed", "orphaned", "abandoned"})
    refuses("UPDATE transactions SET status = $2 WHERE id = $1", check, {mined, status});
  refuses("UPDATE transactions SET status = 'orphaned' WHERE id = $1", check, {unmined});
  refuses("UPDATE transactions SET status = 'abandoned' WHERE id = $1", check, {unmined});
  refuses("UPDATE transactions SET status = 'failed' WHERE id = $1", check, {coinbase_id});
  refuses("UPDATE transactions SET is_coinbase = $2 WHERE id = $1", check, {unmined, true});
  refuses("UPDATE transactions SET block_index = NULL WHERE id = $1", check, {mined});
  refuses("UPDATE transactions SET block_height = 77, block_index = 0 WHERE id = $1",
          Code::kConflict, {unmined});  // no such block
  refuses("UPDATE utxos SET spent_by_tx_id = tx_id", check);
  refuses("UPDATE utxos SET spent_input_index = 0", check);
  refuses("UPDATE utxos SET amount = -1", check);
  refuses("UPDATE utxos SET output_index = -1", check);
  refuses(
      "INSERT INTO tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id, created_at)"
      " VALUES ($1, $2, $2, 0)",
      check, {alice_, mined});
  refuses("UPDATE transactions SET tx_hash = $2 WHERE id = $1", Code::kConflict,
          {mined, loose.id});  // twice in one wallet
  refuses("UPDATE transactions SET tx_hash = $2 WHERE id = $1", check,
          {mined, Bytes(31, 7)});  // no hash
  refuses(
      "INSERT INTO utxos (wallet_id, tx_id, output_index, amount, account_id, address_id)"
      " SELECT wallet_id, tx_id, output_index, 1, account_id, address_id FROM utxos",
      Code::kConflict);  // an outpoint twice
  const MadeTx before = confirmed(), after = tx({coin(before)}, {{1, 90}});
  see(after), see(tx({coin(before)}, {{1, 80}}));
  refuses(
      "INSERT INTO tx_replacements (wallet_id, replaced_tx_id, replacement_tx_id, created_at)"
      " SELECT wallet_id, replaced_tx_id, replacement_tx_id, 1 FROM tx_replacements",
      Code::kConflict);
  EXPECT_EQ(number("SELECT count(*) FROM tx_replacements"), 1);
}

// 000 §3.5: unspent, of transactions that are alive.
TEST_P(Schema, SpendableUtxosAreUnspent) {
  const MadeTx mined = confirmed(10), spent = confirmed(20), held = confirmed(40);
  mine({coinbase(80), incoming(5)});
  const MadeTx loose = incoming(160), lost = incoming(320);
  see(loose), see(lost);
  see(tx({coin(spent)}, {{99, 20}}));
  const MadeTx planned = tx({coin(held)}, {{1, 39}});
  ok(record_pending(planned));
  see(tx(lost.inputs, {{99, 300}}));  // takes its input
  EXPECT_EQ(status(lost), "replaced: replaced");
  EXPECT_EQ(number("SELECT CAST(sum(amount) AS BIGINT) FROM spendable_utxos"),
            5 + 10 + 80 + 160 + 39);
  // With maturity and leases it is what the store says.
  ok(store().lease(alice_, {{coin(mined)}, lock_id(1), 1'000}));
  const auto of_view = number(
      "SELECT CAST(sum(v.amount) AS BIGINT) FROM spendable_utxos v CROSS JOIN sync_state y"
      " WHERE v.tx_status = 'published' AND v.block_height IS NOT NULL"
      " AND (NOT v.is_coinbase OR v.block_height <= y.mature_height) AND v.id NOT IN"
      " (SELECT utxo_id FROM utxo_leases WHERE expires_at > coffer_now())");
  EXPECT_EQ(of_view, 5);
  EXPECT_EQ(balance().spendable, 5u);
}

TEST_P(Schema, SpenderCannotBeDeleted) {  // W5
  const MadeTx money = confirmed(), other = confirmed();
  const MadeTx mined = tx({coin(money)}, {{99, 90}}), loose = tx({coin(other)}, {{99, 90}});
  mine({mined});
  see(loose);
  refuses("DELETE FROM transactions WHERE id = $1", Code::kConflict, {id_of(mined)});
  refuses("DELETE FROM transactions WHERE id = $1", Code::kConflict, {id_of(loose)});
  // What never confirmed lets go of its coins, and then it may be deleted.
  see(tx({coin(other)}, {{1, 95}}));
  ok(sql("DELETE FROM transactions WHERE id = $1", {id_of(loose)}));
  EXPECT_EQ(state(coin(money)), "spent");
  EXPECT_EQ(state(coin(other)), "spent");
  EXPECT_EQ(number("SELECT count(*) FROM tx_replacements"), 0);  // its edge went with it
}

TEST_P(Schema, ReferencedRowsCannotBeDeleted) {  // W5
  const MadeTx money = confirmed();
  const Code held = Code::kConflict;
  refuses("DELETE FROM transactions", held);
  refuses("DELETE FROM wallets", held);
  refuses("DELETE FROM accounts", held);
  refuses("DELETE FROM addresses WHERE script_pub_key = $1", held, {script(1)});
  refuses("UPDATE utxos SET spent_by_tx_id = 999999999, spent_input_index = 0", held);
}

TEST_P(Schema, ReferencesStayInWallet) {  // W10
  const WalletId bob = make_wallet("bob", {10});
  mine({incoming(100, 1), incoming(50, 10)});
  const auto bobs = [&](std::string_view what) {
    return number(fmt::format("SELECT max(id) FROM {} WHERE wallet_id = $1", what), {bob});
  };
  const Code held = Code::kConflict;
  refuses("UPDATE utxos SET address_id = $2 WHERE wallet_id = $1", held,
          {alice_, bobs("addresses")});
  refuses("UPDATE utxos SET spent_by_tx_id = $2, spent_input_index = 0 WHERE wallet_id = $1", held,
          {alice_, bobs("transactions")});
  refuses("UPDATE utxos SET wallet_id = $2 WHERE wallet_id = $1", held, {alice_, bob});
  refuses("UPDATE addresses SET account_id = $2 WHERE wallet_id = $1", held,
          {alice_, bobs("accounts")});
  refuses(
      "INSERT INTO utxo_leases (wallet_id, utxo_id, external_lock_id, expires_at)"
      " VALUES ($1, $2, $3, 0)",
      held, {alice_, bobs("utxos"), lock_id(1)});
  refuses(
      "INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash, prev_output_index)"
      " VALUES ($1, $2, 5, $3, 0)",
      held, {alice_, bobs("transactions"), foreign(1).tx});
}

TEST_P(Schema, SummaryFollowsManualChanges) {  // W11
  is_damaged();
  ImportOptions savings;
  savings.account = "savings";
  ok(store().import_script(alice_, script(5), savings));
  const MadeTx one = incoming(100, 1), two = incoming(20, 2), three = incoming(3, 5);
  mine({one, two, three});
  const MadeTx payment = tx({coin(one)}, {{1, 60}, {2, 30}});
  ok(record_pending(payment));
  see(incoming(7, 5));
  ASSERT_EQ(differences(), 0);
  const auto address = [&](std::uint32_t script_number) {
    return number("SELECT id FROM addresses WHERE script_pub_key = $1", {script(script_number)});
  };
  const std::int64_t account = number("SELECT id FROM accounts WHERE name = 'savings'");
  const auto doing = [&](std::string_view text, sql::Params params = {}) {
    ok(sql(text, params));
    EXPECT_EQ(differences(), 0) << text;
  };
  doing("UPDATE utxos SET amount = amount + 1");
  doing("UPDATE utxos SET amount = 5 WHERE spent_by_tx_id IS NOT NULL");
  doing("UPDATE utxos SET address_id = $1, account_id = $2 WHERE address_id = $3",
        {address(5), account, address(2)});
  doing("UPDATE utxos SET spent_by_tx_id = NULL, spent_input_index = NULL");
  doing("UPDATE utxos SET spent_by_tx_id = $1, spent_input_index = 0, amount = 9 WHERE tx_id <> $1",
        {id_of(payment)});
  doing("UPDATE transactions SET status = 'published' WHERE status = 'pending'");
  doing("UPDATE transactions SET status = 'failed', reason = 'x' WHERE block_height IS NULL");
  doing("UPDATE transactions SET status = 'pending', reason = NULL WHERE block_height IS NULL");
  doing("DELETE FROM blocks");
  doing("DELETE FROM utxos WHERE tx_id = $1", {id_of(two)});
  doing("UPDATE utxos SET tx_id = $1, output_index = 50 + id WHERE tx_id <> $1", {id_of(one)});
  doing("DELETE FROM utxos");
  EXPECT_EQ(number("SELECT CAST(coalesce(sum(coins + amount), 0) AS BIGINT) FROM balance_summary"),
            0);
}

TEST(WalletMigrations, SameVersionsInBothDialects) {
  std::vector<std::pair<int, std::string_view>> sqlite, postgres;
  for (const sql::Migration& migration : embedded_migrations()) {
    EXPECT_EQ(migration.module, "wallet");
    EXPECT_EQ(migration.checksum.size(), 64u);
    EXPECT_FALSE(migration.text.empty());
    (migration.dialect == sql::Dialect::kSqlite ? sqlite : postgres)
        .emplace_back(migration.version, migration.name);
  }
  EXPECT_EQ(sqlite, postgres);
  EXPECT_FALSE(sqlite.empty());
}

TEST_P(Schema, LockIdHas32Bytes) {  // W8
  const MadeTx money = confirmed();
  const std::int64_t id = number("SELECT max(id) FROM utxos");
  for (const std::size_t size : {0u, 31u, 33u})
    refuses(
        "INSERT INTO utxo_leases (wallet_id, utxo_id, external_lock_id, expires_at)"
        " VALUES ($1, $2, $3, 0)",
        Code::kInvalidInput, {alice_, id, Bytes(size, 7)});
}

TEST_P(Schema, EveryForeignKeyHasIndex) {  // W9
  auto connection = engine_->database().acquire();
  ok(connection);
  // Child table and columns of every foreign key, and columns of every index, as sorted lists. A
  // partial index does not find all children, unless it only leaves NULL out.
  const std::string keys =
      is_sqlite()
          ? "SELECT m.name || '(' || group_concat(f.\"from\") || ')' FROM sqlite_master m"
            " JOIN (SELECT m2.name AS child, l.id, l.\"from\" FROM sqlite_master m2,"
            "   pragma_foreign_key_list(m2.name) l WHERE m2.type = 'table' ORDER BY l.\"from\") f"
            " ON f.child = m.name WHERE m.type = 'table' GROUP BY m.name, f.id"
          : "SELECT conrelid::regclass || '(' || (SELECT string_agg(a.attname, ',' ORDER BY"
            " a.attname) FROM pg_attribute a WHERE a.attrelid = c.conrelid"
            " AND a.attnum = ANY (c.conkey)) || ')' FROM pg_constraint c WHERE contype = 'f'"
            " AND connamespace = 'public'::regnamespace";
  std::vector<std::string> wanted;
  auto rows = connection->query(keys);
  ok(rows);
  while (rows->next().value_or(false)) wanted.push_back(rows->get<std::string>(0).value());
  ASSERT_GT(wanted.size(), 20u);
  for (const std::string& key : wanted) {
    const std::string table = key.substr(0, key.find('('));
    const auto columns = static_cast<std::int64_t>(std::count(key.begin(), key.end(), ',')) + 1;
    const std::string leads =
        is_sqlite()
            ? "SELECT count(*) FROM (SELECT $1 || '(' || group_concat(c.name) || ')' AS leads FROM"
              " (SELECT l.name AS i, x.name FROM pragma_index_list($1) l, pragma_index_info(l.name)"
              " x WHERE x.seqno < $2 AND (NOT l.partial OR l.name IN (SELECT name FROM "
              "sqlite_master"
              " WHERE sql LIKE '% IS NOT NULL')) ORDER BY x.name) c GROUP BY c.i) WHERE leads = $3"
            : "SELECT count(*) FROM pg_index i WHERE i.indrelid = CAST(CAST($1 AS TEXT) AS "
              "regclass) AND (i.indpred IS NULL"
              "   OR pg_get_expr(i.indpred, i.indrelid) LIKE '(% IS NOT NULL)')"
              " AND CAST($1 AS TEXT) || '(' || (SELECT string_agg(a.attname, ',' ORDER BY "
              "a.attname)"
              " FROM pg_attribute a WHERE a.attrelid = i.indrelid AND a.attnum = ANY ("
              " (CAST(i.indkey AS int2[]))[0:CAST($2 AS INTEGER) - 1])) || ')' = CAST($3 AS TEXT)";
    const std::int64_t found = number(leads, {table, columns, key});
    if (found > 0 || !is_sqlite()) {
      EXPECT_GT(found, 0) << key;
      continue;
    }
    // An INTEGER PRIMARY KEY is the table's own order.
    EXPECT_EQ(number("SELECT count(*) FROM pragma_table_info($1) WHERE pk = 1 AND type = 'INTEGER'"
                     " AND $1 || '(' || name || ')' = $2",
                     {table, key}),
              1)
        << key;
  }
}

}  // namespace
}  // namespace coffer::wallet::test
