#include "sql/connection.h"

#include "base/check.h"
#include "base/result.h"
#include "sql/impl.h"
#include "sql/pool_impl.h"

namespace coffer::sql {
namespace {

constexpr std::string_view kKindNames[] = {"NULL", "integer", "boolean", "text", "bytes", "other"};

std::string_view name_of(Cell::Kind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

}  // namespace

// ---- Rows ----

Rows::Rows(std::unique_ptr<Cursor> cursor) : cursor_(std::move(cursor)) {}
Rows::Rows(Rows&&) noexcept = default;
Rows& Rows::operator=(Rows&&) noexcept = default;
Rows::~Rows() = default;

Result<bool> Rows::next() {
  return cursor_->next();
}
int Rows::columns() const {
  return cursor_->columns();
}

std::int64_t Rows::affected() const {
  return cursor_->affected();
}

bool Rows::is_null(int column) const {
  const auto got = cell(column);
  return got && got->kind == Cell::Kind::kNull;
}

Result<Cell> Rows::cell(int column) const {
  if (column < 0 || column >= cursor_->columns())
    return fail(Code::kInternal, "a row of {} columns has no column {}", cursor_->columns(),
                column);
  return cursor_->cell(column);
}

std::unexpected<Error> Rows::wrong_type(int column, Cell::Kind wanted, const Cell& got) const {
  return fail(Code::kInternal, "column {} ({}) is {} where {} is needed", column,
              cursor_->name(column), name_of(got.kind), name_of(wanted));
}

std::unexpected<Error> Rows::does_not_fit(int column) const {
  return fail(Code::kInvalidInput, "column {} ({}) has a value out of range", column,
              cursor_->name(column));
}

Result<std::int64_t> Rows::integer(int column) const {
  const Cell got = TRY(cell(column));
  if (got.kind != Cell::Kind::kInteger) return wrong_type(column, Cell::Kind::kInteger, got);
  return got.integer;
}

Result<ByteView> Rows::data(int column, Cell::Kind kind) const {
  const Cell got = TRY(cell(column));
  if (got.kind != kind) return wrong_type(column, kind, got);
  return got.data;
}

Result<> Rows::read(int column, bool& out) const {
  const Cell got = TRY(cell(column));
  const bool is_bool = got.kind == Cell::Kind::kBool ||
                       (got.kind == Cell::Kind::kInteger && (got.integer == 0 || got.integer == 1));
  if (!is_bool) return wrong_type(column, Cell::Kind::kBool, got);
  out = got.integer != 0;
  return {};
}

Result<> Rows::read(int column, std::string_view& out) const {
  out = as_text(TRY(data(column, Cell::Kind::kText)));
  return {};
}

Result<> Rows::read(int column, std::string& out) const {
  out = as_text(TRY(data(column, Cell::Kind::kText)));
  return {};
}

Result<> Rows::read(int column, ByteView& out) const {
  out = TRY(data(column, Cell::Kind::kBytes));
  return {};
}

Result<> Rows::read(int column, Bytes& out) const {
  const ByteView bytes = TRY(data(column, Cell::Kind::kBytes));
  out.assign(bytes.begin(), bytes.end());
  return {};
}

// ---- Reader ----

Dialect Reader::dialect() const {
  return driver_->dialect();
}

Result<Rows> Reader::query(std::string_view sql, Params params) {
  TRY(driver_->ready(sql));
  TRY(check(params));
  return Rows(TRY(driver_->query(sql, params)));
}

std::int64_t Reader::vm_steps() const {
  return driver_->vm_steps();
}

std::int64_t Reader::server_waits() const {
  return driver_->waits();
}

std::unexpected<Error> Reader::more_than_one(std::string_view sql) {
  return fail(Code::kInternal, "more than one row where one is expected, in: {}", brief(sql));
}

// ---- Batch ----

Batch::Batch(Driver* driver, std::unique_ptr<BatchSink> sink)
    : driver_(driver), sink_(std::move(sink)) {
  driver_->set_batch_open(true);
}
Batch::Batch(Batch&& other) noexcept = default;

Batch::~Batch() {
  if (!sink_) return;
  (void)driver_->failed({make_error(Code::kInternal, "a batch was not finished")});
  sink_.reset();
  driver_->set_batch_open(false);
}

Result<> Batch::add(Params row) {
  CHECK(sink_ != nullptr);
  TRY(check(row));
  return sink_->add(row);
}

Result<std::int64_t> Batch::finish() {
  CHECK(sink_ != nullptr);
  auto changed = sink_->finish();
  sink_.reset();
  driver_->set_batch_open(false);
  return changed;
}

// ---- Transaction ----

Transaction::Transaction(Transaction&& other) noexcept
    : Reader(std::exchange(other.driver_, nullptr)) {}

Transaction::~Transaction() {
  rollback();
}

Result<Rows> Transaction::stream(std::string_view sql, Params params) {
  TRY(driver_->ready(sql));
  TRY(check(params));
  return Rows(TRY(driver_->stream(sql, params)));
}

Result<std::int64_t> Transaction::execute(std::string_view sql, Params params) {
  TRY(driver_->ready(sql));
  TRY(check(params));
  return driver_->execute(sql, params);
}

Result<> Transaction::script(std::string_view sql) {
  TRY(driver_->ready(sql));
  return driver_->script(sql);
}

namespace {

std::vector<Rows> to_rows(std::vector<std::unique_ptr<Cursor>> cursors) {
  std::vector<Rows> rows;
  rows.reserve(cursors.size());
  for (auto& cursor : cursors) rows.emplace_back(std::move(cursor));
  return rows;
}

}  // namespace

Result<std::vector<Rows>> Transaction::run_all(std::span<const Statement> statements) {
  return to_rows(TRY(driver_->run_statements(statements, Ending::kOpen)));
}

Result<std::vector<Rows>> Transaction::commit_with(std::span<const Statement> statements) {
  CHECK(driver_ != nullptr && driver_->in_transaction());
  return to_rows(TRY(driver_->run_statements(statements, Ending::kCommit)));
}

Result<Batch> Transaction::batch(std::string_view sql) {
  TRY(driver_->ready(sql));
  return Batch(driver_, TRY(driver_->batch(sql)));
}

Result<Batch> Transaction::insert_into(std::string_view table,
                                       std::span<const std::string_view> columns) {
  TRY(driver_->ready());
  if (columns.empty() || columns.size() > kMaxParams)
    return fail(Code::kInternal, "an insert into {} names {} columns", table, columns.size());
  return Batch(driver_, TRY(driver_->insert_into(table, columns)));
}

Result<> Transaction::commit() {
  CHECK(driver_ != nullptr && driver_->in_transaction());
  return driver_->commit_transaction();
}

void Transaction::rollback() {
  if (driver_ != nullptr && driver_->in_transaction()) driver_->rollback_transaction();
}

Result<Transaction> begin_on(Driver& driver, const TransactionOptions& options) {
  TRY(driver.begin_transaction(options));
  return Transaction(&driver);
}

// ---- Connection ----

Connection::Connection(Pool* pool, std::unique_ptr<Driver> driver)
    : Reader(driver.get()), pool_(pool), owned_(std::move(driver)) {}

Connection::Connection(Connection&& other) noexcept
    : Reader(std::exchange(other.driver_, nullptr)),
      pool_(other.pool_),
      owned_(std::move(other.owned_)) {}

Connection::~Connection() {
  if (owned_) pool_->release(std::move(owned_));
}

Result<Transaction> Connection::begin(const TransactionOptions& options) {
  return begin_on(*driver_, options);
}

}  // namespace coffer::sql
