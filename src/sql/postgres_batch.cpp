// Many rows to PostgreSQL: a pipeline for any statement, COPY for plain inserts.
#include <fmt/ranges.h>

#include "base/result.h"
#include "sql/postgres_pipeline.h"

namespace coffer::sql {
namespace {

// Rows whose answers may be outstanding. Bounds the memory on both sides.
constexpr int kWindow = 500;
constexpr std::size_t kWindowBytes = 1u << 20;
constexpr std::size_t kCopyBytes = 64u << 10;

// A statement for many rows.
class PgBatch final : public BatchSink {
 public:
  PgBatch(PostgresDriver& driver, std::string sql, std::string statement)
      : driver_(driver),
        pipeline_(driver),
        sql_(std::move(sql)),
        statement_(std::move(statement)) {}
  ~PgBatch() override { [[maybe_unused]] const auto closed = close(); }

  Result<> start() { return pipeline_.open(); }

  Result<> add(const Params& row) override {
    if (driver_.trouble() != Trouble::kNone) return fail(driver_.failure());
    arguments_.set(row);
    if (PQsendQueryPrepared(connection(), statement_.c_str(), arguments_.count(),
                            arguments_.values(), arguments_.lengths(), arguments_.formats(),
                            kBinaryRows) != 1)
      return check(nullptr);
    ++outstanding_;
    for (int i = 0; i < arguments_.count(); ++i)
      bytes_ += static_cast<std::size_t>(arguments_.lengths()[i]);
    if (outstanding_ < kWindow && bytes_ < kWindowBytes) return {};
    if (PQsendFlushRequest(connection()) != 1) return check(nullptr);
    driver_.waited();
    TRY(pipeline_.send());
    return take_answers();
  }

  Result<std::int64_t> finish() override {
    auto closed = close();
    if (driver_.trouble() != Trouble::kNone) return fail(driver_.failure());
    if (!closed) return fail(std::move(closed).error());
    return changed_;
  }

 private:
  PGconn* connection() const { return driver_.handle(); }
  // Remembers the error of a result; of the connection if there is none.
  Result<> check(PGresult* result) {
    TRY(driver_.check(result, sql_));
    return {};
  }

  Result<> take_answers() {
    while (outstanding_ > 0) {
      PgResult result = TRY(pipeline_.next_result());
      if (!result) continue;
      --outstanding_;
      bytes_ = 0;
      if (PQresultStatus(result.get()) == PGRES_PIPELINE_ABORTED)
        continue;  // follows the error that has been remembered
      changed_ += changed_rows(result.get());
      TRY(check(result.release()));
    }
    return {};
  }

  // Ends the pipeline, so that the connection is as before, also after an error.
  Result<> close() {
    if (closed_) return {};
    closed_ = true;
    if (driver_.is_broken()) return {};
    driver_.waited();
    TRY(pipeline_.sync());
    for (bool synced = false; !synced;) {
      [[maybe_unused]] const auto taken = take_answers();  // the driver remembers its error
      const PgResult result = TRY(pipeline_.next_result());
      synced = PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC;
    }
    return pipeline_.close();
  }

  PostgresDriver& driver_;
  PgPipeline pipeline_;
  const std::string sql_, statement_;
  PgArguments arguments_;
  int outstanding_ = 0;
  std::size_t bytes_ = 0;
  std::int64_t changed_ = 0;
  bool closed_ = false;
};

// COPY in its text form, in which the server decides the types, as it does for parameters.
class PgCopy final : public BatchSink {
 public:
  PgCopy(PostgresDriver& driver, std::string sql, std::size_t columns)
      : driver_(driver), sql_(std::move(sql)), columns_(columns) {}
  ~PgCopy() override {
    if (ended_) return;
    [[maybe_unused]] const auto ended = end("the batch was given up");
  }

  Result<> add(const Params& row) override {
    if (driver_.trouble() != Trouble::kNone) return fail(driver_.failure());
    if (row.size() != columns_)
      return driver_.failed(
          {make_error(Code::kInternal, fmt::format("{} parameters given, {} wanted, in: {}",
                                                   row.size(), columns_, brief(sql_)))});
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) buffer_ += '\t';
      append(row[i].value());
    }
    buffer_ += '\n';
    return buffer_.size() < kCopyBytes ? Result<>() : flush();
  }

  Result<std::int64_t> finish() override {
    if (driver_.trouble() == Trouble::kNone) TRY(flush());
    const bool failed = driver_.trouble() != Trouble::kNone;
    auto changed = end(failed ? "the batch has failed" : nullptr);
    if (failed) return fail(driver_.failure());
    return changed;
  }

 private:
  void append(const Param::Value& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) {
      fmt::format_to(std::back_inserter(buffer_), "{}", *integer);
    } else if (const auto* truth = std::get_if<bool>(&value)) {
      buffer_ += *truth ? 't' : 'f';
    } else if (const auto* text = std::get_if<std::string_view>(&value)) {
      append_escaped(*text);
    } else if (const auto* bytes = std::get_if<ByteView>(&value)) {
      append_hex(*bytes);
    } else {
      buffer_ += "\\N";
    }
  }
  void append_escaped(std::string_view text) {
    for (const char c : text) {
      switch (c) {
        case '\\': buffer_ += "\\\\"; break;
        case '\t': buffer_ += "\\t"; break;
        case '\n': buffer_ += "\\n"; break;
        case '\r': buffer_ += "\\r"; break;
        default: buffer_ += c;
      }
    }
  }
  void append_hex(ByteView bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    buffer_ += "\\\\x";
    for (const std::uint8_t byte : bytes) {
      buffer_ += kDigits[byte >> 4];
      buffer_ += kDigits[byte & 15];
    }
  }

  Result<> flush() {
    if (buffer_.empty()) return {};
    const int put =
        PQputCopyData(driver_.handle(), buffer_.data(), static_cast<int>(buffer_.size()));
    buffer_.clear();
    if (put == 1 && driver_.flush()) return {};
    TRY(driver_.check(nullptr, sql_));
    return {};
  }

  // Ends the COPY, with success or for the reason given.
  Result<std::int64_t> end(const char* reason) {
    ended_ = true;
    driver_.waited();
    std::int64_t changed = 0;
    Result<> done;
    const auto take = [&](PGresult* result) {
      if (reason == nullptr && result != nullptr) changed += changed_rows(result);
      auto checked = driver_.check(result, sql_);
      if (!checked && done) done = std::unexpected(std::move(checked).error());
    };
    if (driver_.is_broken() || PQputCopyEnd(driver_.handle(), reason) != 1 || !driver_.flush()) {
      take(nullptr);
      return fail(std::move(done).error());
    }
    for (bool ended = false; !ended;) {
      auto next = driver_.next_result();
      ended = !next || !*next;
      if (!next || *next) take(next ? next->release() : nullptr);
    }
    if (!done) return fail(std::move(done).error());
    return changed;
  }

  PostgresDriver& driver_;
  const std::string sql_;
  const std::size_t columns_;
  std::string buffer_;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<BatchSink>> PostgresDriver::batch(std::string_view sql) {
  std::string text(sql);
  std::string statement = TRY(prepare(text));
  auto batch = std::make_unique<PgBatch>(*this, std::move(text), std::move(statement));
  TRY(batch->start());
  return batch;
}

Result<std::unique_ptr<BatchSink>> PostgresDriver::insert_into(
    std::string_view table, std::span<const std::string_view> columns) {
  std::string sql = fmt::format("COPY {}({}) FROM STDIN", table, fmt::join(columns, ","));
  (void)TRY(run_simple(sql));
  return std::make_unique<PgCopy>(*this, std::move(sql), columns.size());
}

}  // namespace coffer::sql
