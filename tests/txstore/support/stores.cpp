#include "txstore/support/stores.h"

#include "base/check.h"
#include "sql/migrations.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore::test {

Hash256 make_id(std::uint64_t number) {
  // The number first, so that ids sort by it and differ at first sight.
  Hash256 id{};
  store_be64(id.data(), number);
  for (std::size_t i = 8; i < id.size(); ++i)
    id[i] = static_cast<std::uint8_t>(number * 31 + i * 7 + 1);
  return id;
}

bus::Position block_at(std::uint64_t height, std::uint64_t branch) {
  return bus::Position::after(Ordinal(height),
                              {Slot(height), make_id((0xb10c0000 + branch) << 32 | (height + 1))});
}

NewTx make_tx(std::uint64_t number, std::vector<chain::Outpoint> inputs, std::uint32_t outputs) {
  NewTx tx;
  tx.id = make_id(number);
  append_be64(tx.raw, number);
  tx.inputs = std::move(inputs);
  for (std::uint32_t i = 0; i < outputs; ++i) {
    const Amount amount(1'000 + i);
    tx.outputs.push_back({output_hash({tx.id, i}, tx.raw, amount), amount, true});
  }
  return tx;
}

NewTx make_coinbase(std::uint64_t number, std::uint64_t height, std::uint32_t outputs) {
  NewTx tx = mined(make_tx(number, {}, outputs), height);
  tx.coinbase = true;
  return tx;
}

void add_op_return(NewTx& tx) {
  const auto index = static_cast<std::uint32_t>(tx.outputs.size());
  tx.outputs.push_back({output_hash({tx.id, index}, {}, Amount(0)), Amount(0), false});
}

namespace {

// Databases of PostgreSQL that are not in use. They are emptied and used again, because a long run
// would make thousands of them, of some MB each.
std::vector<std::string>& spare_databases() {
  static std::vector<std::string> names;
  return names;
}

}  // namespace

TestStore::TestStore(Engine engine, const Options& options, const chain::Network& network)
    : engine_(engine), options_(options), network_(network) {
  empty();
}

TestStore::~TestStore() {
  give_back();
}

void TestStore::give_back() {
  store_.reset();
  kv_.reset();
  sql_.reset();
  if (!postgres_.empty()) spare_databases().push_back(std::exchange(postgres_, {}));
}

void TestStore::open_postgres() {
  auto* server = sql::test::PostgresServer::shared();
  CHECK(server != nullptr);
  const bool is_fresh = spare_databases().empty();
  if (is_fresh) {
    postgres_ = server->fresh_database();
  } else {
    postgres_ = std::move(spare_databases().back());
    spare_databases().pop_back();
  }
  sql_options_.location = server->location(postgres_);
  sql_ = must(sql::Database::open(sql_options_));
  if (is_fresh) return;
  must(sql_->run_transaction([](sql::Transaction& sql) {
    return sql.script(
        "DROP SCHEMA IF EXISTS txstore CASCADE; DROP SCHEMA public CASCADE;"
        " CREATE SCHEMA public");
  }));
}

void TestStore::empty() {
  give_back();
  ++number_;
  if (engine_ != Engine::kRocksDb) {
    sql_options_ = {};
    sql_options_.seed = 1;
    if (engine_ == Engine::kSqlite) {
      sql_options_.location = "sqlite:" + (dir_.path() / fmt::format("{}.db", number_)).string();
      sql_ = must(sql::Database::open(sql_options_));
    } else {
      open_postgres();
    }
    (void)must(sql::migrate(*sql_, migrations(network_)));
  }
  open();
}

void TestStore::open() {
  if (engine_ == Engine::kRocksDb) {
    kv::DatabaseOptions options;
    options.path = dir_.path() / std::to_string(number_);
    options.columns = columns();
    options.preallocate = false;
    kv_ = must(kv::Database::open(options));
    store_ = must(Store::open(*kv_, network_, options_, {}));
    return;
  }
  if (!sql_) sql_ = must(sql::Database::open(sql_options_));
  store_ = must(Store::open(*sql_, network_, options_, {}));
}

void TestStore::reopen() {
  store_.reset();
  kv_.reset();
  sql_.reset();
  open();
}

void TestStore::advance_to(std::uint64_t height) {
  if (store_->tip().position.at_origin) must(store_->advance(block_at(0)));
  while (store_->tip().height() < height)
    must(store_->advance(block_at(store_->tip().height() + 1)));
}

void TestStore::jump_to(std::uint64_t height) {
  if (store_->tip().position.at_origin || store_->tip().height() < height)
    must(store_->advance(block_at(height)));
}

void TestStore::begin_at(std::uint64_t height) {
  must(store_->backend().run(Hold::kTip, [&](Unit& unit) {
    Changes changes;
    changes.tip = Tip{block_at(height),
                      std::max<std::int64_t>(-1, static_cast<std::int64_t>(height) -
                                                     static_cast<std::int64_t>(options_.window)),
                      block_at(height)};
    return unit.save(std::move(changes));
  }));
  reopen();
}

Outcome TestStore::create(const NewTx& tx) {
  return must(store_->create({&tx, 1})).at(0).outcome;
}
Outcome TestStore::spend(const Hash256& spender) {
  const SpendRequest request = {spender, {}};
  return must(store_->spend({&request, 1})).at(0).outcome;
}
Outcome TestStore::unspend(const Hash256& spender) {
  return must(store_->unspend({&spender, 1})).at(0).outcome;
}
Outcome TestStore::set_mined(const Hash256& id, const BlockRef& block, bool longest_chain) {
  return must(store_->set_mined({&id, 1}, block, longest_chain)).at(0).outcome;
}
Outcome TestStore::unset_mined(const Hash256& id, const BlockRef& block) {
  return must(store_->unset_mined({&id, 1}, block)).at(0).outcome;
}
Outcome TestStore::preserve(const Hash256& id, std::uint64_t until) {
  return must(store_->preserve({&id, 1}, until)).at(0).outcome;
}
Outcome TestStore::mark_conflicting(const Hash256& id) {
  return must(store_->mark_conflicting({&id, 1})).at(0).outcome;
}
std::optional<StoredTx> TestStore::find(const Hash256& id) {
  return must(store_->get({&id, 1})).at(0);
}
StoredOutput TestStore::output(const Hash256& id, std::uint32_t index) {
  return must(store_->outputs(id, index, 1)).at(0);
}

std::string TestStore::describe_all() {
  std::vector<StoredTx> txs;
  const Tip tip = must(store_->for_each([&](const StoredTx& tx) -> Result<bool> {
    txs.push_back(tx);
    return true;
  }));
  std::string text;
  for (const StoredTx& tx : txs)
    text += describe(tx, must(store_->outputs(tx.id, 0, tx.outputs)), must(store_->body(tx.id)),
                     tip.final_height);
  return text;
}

std::string TestStore::describe_indexes() {
  std::vector<std::pair<std::uint64_t, Hash256>> due, unmined;
  must(store_->backend().read([&](View& view) -> Result<> {
    for (const DueEntry& entry : TRY(view.due(std::nullopt, 1'000)))
      due.emplace_back(entry.height, entry.id);
    for (const DueEntry& entry : TRY(view.unmined(std::nullopt, 1'000)))
      unmined.emplace_back(entry.height, entry.id);
    return {};
  }));
  return describe("due", due) + describe("unmined", unmined);
}

namespace {

void count(const Record& record, std::int64_t sign, Counts& counts) {
  if (!record.present) return;
  counts.records += sign;
  counts.bytes += sign * static_cast<std::int64_t>(record.body_bytes);
  if (record.head.state == State::kUnmined) counts.unmined += sign;
  if (record.head.state == State::kConflicting) counts.conflicting += sign;
  if (record.head.kept != retention::Reason::kDeletable)
    counts.kept[static_cast<std::size_t>(record.head.kept)] += sign;
  for (const Page& page : record.pages)
    for (const Entry& entry : page.entries) counts.final_entries += entry.final ? sign : 0;
}

}  // namespace

void TestStore::change(const Hash256& id, const std::function<void(Record&)>& body) {
  must(store_->backend().run(Hold::kRecords, [&](Unit& unit) -> Result<> {
    Record record;
    record.head.id = id;
    Record* list[] = {&record};
    TRY(unit.load(list));
    CHECK(record.present && record.pages.size() <= 1);
    Changes changes;
    count(record, -1, changes.counts);
    record.dirty = true;
    body(record);
    count(record, 1, changes.counts);
    changes.records = {&record};
    if (!record.present)
      for (const Page& page : record.pages)
        for (const Entry& entry : page.entries)
          if (entry.final) changes.unpruned.push_back({entry.spender, id});
    return unit.save(std::move(changes));
  }));
}

void TestStore::force_stamp(const Hash256& id, std::uint64_t delete_at_height) {
  change(id, [&](Record& record) {
    record.head.delete_at_height = record.head.due_at = delete_at_height;
  });
}
void TestStore::force_erase(const Hash256& id) {
  change(id, [](Record& record) { record.present = false; });
}
void TestStore::force_conflicting(const Hash256& id, std::uint64_t delete_at_height) {
  change(id, [&](Record& record) {
    StoredTx& tx = record.head;
    tx.state = State::kConflicting;
    tx.unmined_since = tx.absent_since = tx.preserve_until = std::nullopt;
    tx.delete_at_height = tx.due_at = delete_at_height;
  });
}

}  // namespace coffer::txstore::test
