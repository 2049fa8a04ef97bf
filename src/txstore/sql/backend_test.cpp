#include "txstore/sql/test_backend.h"

namespace coffer::txstore::test {
namespace {

class SqlBackend : public SqlBackendTest {
 protected:
  void expect_same(const Record& record, const Record& read) {
    ASSERT_TRUE(read.present && read.stored);
    expect_same_head(record.head, read.head);
    EXPECT_EQ(read.input_count, record.input_count);
    EXPECT_EQ(read.stored_due_at, record.head.due_at);
    EXPECT_EQ(read.stored_unmined_since, record.head.unmined_since);
    ASSERT_EQ(read.pages.size(), record.pages.size());
    for (std::size_t p = 0; p < read.pages.size(); ++p) {
      ASSERT_EQ(read.pages[p].entries.size(), record.pages[p].entries.size());
      for (std::size_t i = 0; i < read.pages[p].entries.size(); ++i)
        expect_same_entry(read.pages[p].entries[i], record.pages[p].entries[i]);
    }
  }
  // Rows of outputs that are inserted or updated from now on.
  void log_output_writes() {
    if (is_sqlite())
      script(
          "CREATE TABLE written (idx INTEGER);"
          "CREATE TRIGGER log_insert AFTER INSERT ON outputs BEGIN"
          " INSERT INTO written VALUES (NEW.idx); END;"
          "CREATE TRIGGER log_update AFTER UPDATE ON outputs BEGIN"
          " INSERT INTO written VALUES (NEW.idx); END;");
    else
      script(
          "CREATE TABLE written (idx BIGINT);"
          "CREATE FUNCTION log_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
          " INSERT INTO written VALUES (NEW.idx); RETURN NULL; END $$;"
          "CREATE TRIGGER log_write AFTER INSERT OR UPDATE ON txstore.outputs"
          " FOR EACH ROW EXECUTE FUNCTION log_write();");
  }
};

TEST_P(SqlBackend, RecordsAreReadAsTheyWereWritten) {
  constexpr std::uint32_t kOutputs[] = {0, 1, 16, 17, 40, 1'000};
  std::vector<Record> records;
  for (const std::uint32_t outputs : kOutputs)
    records.push_back(test_record(records.size(), outputs));
  store(records);
  for (std::uint64_t i = 0; i < records.size(); ++i) expect_same(records[i], stored(i));
}

TEST_P(SqlBackend, EveryFieldOfAHeadIsKept) {
  Record record = test_record(1, 3);
  StoredTx& head = record.head;
  head.coinbase = head.locked = true;
  head.valid = false;
  head.state = State::kConflicting;
  head.blocks = {{{5, 1}, false}, {{5, 0xffff'ffff'ffff'ffff}, false}, {{7, 0}, false}};
  std::sort(head.blocks.begin(), head.blocks.end(), [](const MinedIn& a, const MinedIn& b) {
    return std::pair(a.block.height, static_cast<std::int64_t>(a.block.id)) <
           std::pair(b.block.height, static_cast<std::int64_t>(b.block.id));
  });
  head.unmined_since = 0;
  head.absent_since = 11;
  head.delete_at_height = 12;
  head.due_at = 13;
  head.preserve_until = 14;
  head.kept = retention::Reason::kChildNotFinal;
  Record genesis = test_record(2, 1, 0);
  genesis.head.genesis = true;
  genesis.head.blocks.clear();
  genesis.new_body.reset();
  store({record, genesis});
  expect_same(record, stored(1));
  expect_same(genesis, stored(2));
  read([&](View& view) -> Result<> {
    EXPECT_TRUE(TRY(view.body(test_hash(2))).raw.empty());
    EXPECT_EQ(view.body(test_hash(3)).error().code, Code::kNotFound);
    return {};
  });
}

TEST_P(SqlBackend, HeightsBeyondTheRangeOfSqlBecomeTheHighest) {
  Record record = test_record(1, 1);
  record.head.preserve_until = std::numeric_limits<std::uint64_t>::max();
  store({record});
  EXPECT_EQ(stored(1).head.preserve_until, std::numeric_limits<std::int64_t>::max());
}

TEST_P(SqlBackend, BodiesAndInputsAreReadAsTheyWereWritten) {
  const std::vector<Record> records = {test_record(1, 1, 0), test_record(2, 1, kInlineInputs),
                                       test_record(3, 1, kInlineInputs + 1)};
  store(records);
  run([&](Unit& unit) -> Result<> {
    std::vector<Record> read = asked(std::array<std::uint64_t, 4>{1, 2, 3, 4});
    TRY(unit.load(pointers(read)));
    for (Record& record : read) {
      const auto found = std::find_if(records.begin(), records.end(), [&](const Record& one) {
        return one.head.id == record.head.id;
      });
      EXPECT_EQ(record.present, found != records.end());
      if (!record.present) continue;
      EXPECT_EQ(record.has_inputs(), record.input_count <= kInlineInputs);
      Record* const whole[] = {&record};
      TRY(unit.load_inputs(whole));
      EXPECT_EQ(record.inputs, found->inputs);
      EXPECT_EQ(record.body_bytes, found->new_body->raw.size());
      const TxBody body = TRY(unit.body(record.head.id));
      EXPECT_EQ(body.raw, found->new_body->raw);
      EXPECT_EQ(body.fee, found->new_body->fee);
      EXPECT_EQ(body.inputs.size(), found->inputs.size());
      for (std::size_t i = 0; i < body.inputs.size(); ++i)
        EXPECT_EQ(body.inputs[i].amount, found->new_body->inputs[i].amount);
    }
    return {};
  });
}

TEST_P(SqlBackend, ChangedOutputWritesOneRow) {
  store({test_record(1, 40), test_record(2, 2)});
  log_output_writes();
  const auto spend = [](Entry& entry) {
    entry.spent = true;
    entry.spender = test_hash(9);
    entry.spender_input = 3;
  };
  change(1, [&](Record& record) {
    spend(record.entry(21));
    record.pages[1].dirty = true;
    record.head.spent += 1;
    record.dirty = true;
  });
  EXPECT_EQ(number("SELECT count(*) FROM written"), 1);
  EXPECT_EQ(number("SELECT max(idx) FROM written"), 21);
  EXPECT_EQ(stored(1).entry(21).spender, test_hash(9));
  // A head alone, and a page that is as it was.
  change(2, [](Record& record) { record.dirty = record.pages[0].dirty = true; });
  EXPECT_EQ(number("SELECT count(*) FROM written"), 1);
}

TEST_P(SqlBackend, BlocksOfARecordComeChangeAndGo) {
  store({test_record(1, 1)});
  const auto set = [&](std::vector<MinedIn> blocks) {
    change(1, [&](Record& record) {
      record.head.blocks = blocks;
      record.dirty = true;
    });
    EXPECT_EQ(stored(1).head.blocks, blocks);
  };
  set({{{101, 1}, false}, {{101, 2}, true}});
  EXPECT_EQ(stored(1).head.state, State::kMined);
  set({{{101, 1}, false}, {{101, 2}, false}});
  EXPECT_EQ(stored(1).head.state, State::kUnmined);
  set({{{101, 2}, false}, {{103, 1}, true}});
  set({});
  EXPECT_EQ(rows_in("block_ids"), 0);
}

TEST_P(SqlBackend, ReplacedRecordHasNothingOfTheOld) {
  store({test_record(1, 40, 9)});
  change(1, [](Record& record) {
    Record fresh = test_record(1, 18, 1);
    fresh.stored = fresh.replaced = true;
    fresh.new_body->raw = {1, 2, 3};
    record = fresh;
  });
  const Record now = stored(1);
  EXPECT_EQ(now.head.outputs, 18u);
  EXPECT_EQ(now.body_bytes, 3u);
  EXPECT_EQ(rows_in("outputs"), 18);
  EXPECT_EQ(rows_in("inputs"), 1);
  EXPECT_EQ(rows_in("tx_bodies"), 1);
}

TEST_P(SqlBackend, ErasedRecordLeavesNoRow) {
  store({test_record(1, 40, 9), test_record(2, 3)});
  change(1, [](Record& record) { record.present = false; });
  EXPECT_FALSE(stored(1).present);
  change(2, [](Record& record) { record.present = false; });
  for (const char* table : {"transactions", "tx_bodies", "inputs", "outputs", "block_ids"})
    EXPECT_EQ(rows_in(table), 0) << table;
}

TEST_P(SqlBackend, FailedUnitChangesNothing) {
  std::vector<Record> records = {test_record(1, 2)};
  const auto done = backend().run(Hold::kTip, [&](Unit& unit) -> Result<> {
    Changes changes = changes_of(records);
    changes.tip = Tip{test_position(1), -287, {}};
    TRY(unit.save(std::move(changes)));
    return fail(Code::kInvalidInput, "not this one");
  });
  EXPECT_EQ(done.error().code, Code::kInvalidInput);
  EXPECT_FALSE(stored(1).present);
  EXPECT_EQ(rows_in("outputs"), 0);
  read([](View& view) -> Result<> {
    EXPECT_TRUE(view.tip().position.at_origin);
    return {};
  });
}

TEST_P(SqlBackend, DatabaseOfAnotherNetworkIsRefused) {
  (void)backend();
  const auto other = chain::find_network("bitcoin", "signet").value();
  EXPECT_EQ(open_sql(db(), other, sql::Schema::kMigrate).error().code, Code::kConflict);
}

TEST_P(SqlBackend, SchemaMustBeThere) {
  EXPECT_EQ(open_sql(db(), network_).error().code, Code::kConflict);
  (void)backend();
  EXPECT_TRUE(open_sql(db(), network_));
}

COFFER_ON_EVERY_ENGINE(SqlBackend);

class SqlServerBackend : public SqlBackendTest {};

// The wallet has a table of that name, and may share the database. On SQLite the store
// has a file of its own.
TEST_P(SqlServerBackend, TablesOfOtherModulesAreNotInTheWay) {
  script("CREATE TABLE transactions (id BIGINT); CREATE TABLE blocks (id BIGINT)");
  store({test_record(1, 1)});
  EXPECT_TRUE(stored(1).present);
}

COFFER_ON_EVERY_SERVER(SqlServerBackend);

}  // namespace
}  // namespace coffer::txstore::test
