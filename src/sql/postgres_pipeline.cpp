// Several statements to PostgreSQL in one wait for its answers.
#include "sql/postgres_pipeline.h"

#include <unordered_map>

namespace coffer::sql {

// ---- PgPipeline ----

Result<> PgPipeline::open() {
  if (driver_.is_broken() || PQenterPipelineMode(driver_.handle()) != 1)
    return fail_with_connection();
  return {};
}

Result<> PgPipeline::send() {
  if (!driver_.flush()) return fail_with_connection();
  return {};
}

Result<> PgPipeline::sync() {
  if (PQpipelineSync(driver_.handle()) != 1) return fail_with_connection();
  return send();
}

Result<PgResult> PgPipeline::next_result() {
  if (auto result = driver_.next_result()) return *std::move(result);
  TRY(fail_with_connection());
  return PgResult();
}

Result<> PgPipeline::close() {
  if (PQexitPipelineMode(driver_.handle()) != 1) return fail_with_connection();
  return {};
}

Result<> PgPipeline::fail_with_connection() {
  TRY(driver_.check(nullptr, ""));
  return {};
}

// ---- PgExchange ----

// One trip: what goes out, and then the answers, in the same order.
class PgExchange {
 public:
  PgExchange(PostgresDriver& driver, Naming naming)
      : driver_(driver), pipeline_(driver), naming_(naming) {}

  Result<> open() { return pipeline_.open(); }
  // Text alone, whose rows nobody reads.
  Result<> add_text(const std::string& text) {
    return sent(PQsendQueryParams(connection(), text.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                                  kBinaryRows),
                {Role::kText, text, ""});
  }
  Result<std::string> add_prepare(const std::string& text) {
    if (naming_ == Naming::kUnnamed) {
      TRY(sent(PQsendPrepare(connection(), "", text.c_str(), 0, nullptr),
               {Role::kPrepare, text, ""}));
      return std::string();
    }
    if (const auto* name = driver_.find_prepared(text)) return *name;
    if (const auto found = preparing_.find(text); found != preparing_.end()) return found->second;
    std::string name = driver_.new_name();
    TRY(sent(PQsendPrepare(connection(), name.c_str(), text.c_str(), 0, nullptr),
             {Role::kPrepare, text, name}));
    preparing_.emplace(text, name);
    return name;
  }
  Result<> add(const Statement& statement) {
    const std::string text(statement.sql);
    PgArguments& arguments = driver_.arguments();
    arguments.set(statement.params);
    if (naming_ == Naming::kUnnamed)
      return sent(PQsendQueryParams(connection(), text.c_str(), arguments.count(), nullptr,
                                    arguments.values(), arguments.lengths(), arguments.formats(),
                                    kBinaryRows),
                  {Role::kStatement, text, ""});
    const std::string name = TRY(add_prepare(text));
    return sent(
        PQsendQueryPrepared(connection(), name.c_str(), arguments.count(), arguments.values(),
                            arguments.lengths(), arguments.formats(), kBinaryRows),
        {Role::kStatement, text, ""});
  }

  // Sends all and waits for all answers. False if the connection went before the last of them.
  bool finish() {
    driver_.waited();
    if (pipeline_.sync()) synced_ = take_answers();
    if (synced_ && !pipeline_.close()) synced_ = false;
    return synced_;
  }

  // The results of the statements, or the first error. Judged only when all have come: whether the
  // connection is lost decides what an error means.
  Result<std::vector<PgResult>> results() {
    std::vector<PgResult> rows;
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      const Sent& what = sent_[i];
      if (PQresultStatus(answers_[i].get()) == PGRES_PIPELINE_ABORTED) break;
      PgResult result = TRY(driver_.check(answers_[i].release(), what.text));
      if (what.role == Role::kPrepare && !what.name.empty())
        driver_.remember_prepared(what.text, what.name);
      if (what.role == Role::kStatement) rows.push_back(std::move(result));
      last_status_ = result ? PQcmdStatus(result.get()) : "";
    }
    if (!synced_ || answers_.size() < sent_.size()) TRY(driver_.check(nullptr, ""));
    return rows;
  }
  // Of the last that was sent: "COMMIT".
  const std::string& last_status() const { return last_status_; }

 private:
  enum class Role : std::uint8_t { kText, kPrepare, kStatement };
  struct Sent {
    Role role;
    std::string text;
    std::string name;
  };

  PGconn* connection() const { return driver_.handle(); }
  Result<> sent(int queued, Sent what) {
    if (queued != 1) {
      TRY(driver_.check(nullptr, what.text));
      return {};
    }
    sent_.push_back(std::move(what));
    return {};
  }
  bool take_answers() {
    for (;;) {
      auto next = pipeline_.next_result();
      if (!next) return false;
      PgResult result = *std::move(next);
      if (!result) continue;
      if (PQresultStatus(result.get()) == PGRES_PIPELINE_SYNC) return true;
      answers_.push_back(std::move(result));
    }
  }

  PostgresDriver& driver_;
  PgPipeline pipeline_;
  const Naming naming_;
  std::vector<Sent> sent_;
  std::vector<PgResult> answers_;
  std::unordered_map<std::string, std::string> preparing_;  // by text
  std::string last_status_;
  bool synced_ = false;
};

// ---- PostgresDriver ----

Result<std::vector<PgResult>> PostgresDriver::travel(PgExchange& trip, Ending ending,
                                                     const std::function<Result<>()>& fill) {
  const auto queued = [&]() -> Result<> {
    TRY(trip.open());
    for (const std::string& text : take_preamble()) TRY(trip.add_text(text));
    TRY(fill());
    if (ending == Ending::kCommit) TRY(trip.add_text("COMMIT"));
    return {};
  }();
  if (!queued) {
    lost_ = true;  // nobody knows what stands in its buffer
    return fail(queued.error());
  }
  const bool answered = trip.finish();
  if (!answered) lost_ = true;
  auto results = trip.results();
  if (!in_transaction() && !results) sent_time_ms_ = session_time_ms_ = -1;  // undone with the rest
  if (ending == Ending::kOpen) return results;
  sent_time_ms_ = session_time_ms_;
  if (!answered) return outcome_unknown(std::move(results).error());
  if (results && trip.last_status() != "COMMIT")
    return failed({make_error(Code::kInternal, "postgres: rolled back instead of committed")});
  return results;
}

Result<std::vector<PgResult>> PostgresDriver::exchange(std::span<const Statement> statements,
                                                       Naming naming, Ending ending) {
  if (pooled_) naming = Naming::kUnnamed;
  if (naming == Naming::kNamed) TRY(make_room_for_prepared(statements.size()));
  PgExchange trip(*this, naming);
  return travel(trip, ending, [&]() -> Result<> {
    for (const Statement& statement : statements) TRY(trip.add(statement));
    return {};
  });
}

Result<std::string> PostgresDriver::prepare(const std::string& sql) {
  const std::string* known = find_prepared(sql);
  if (known != nullptr && !has_preamble()) return *known;
  if (!pooled_) TRY(make_room_for_prepared(1));
  PgExchange trip(*this, pooled_ ? Naming::kUnnamed : Naming::kNamed);
  std::string name;
  const auto fill = [&]() -> Result<> {
    name = TRY(trip.add_prepare(sql));
    return {};
  };
  TRY(travel(trip, Ending::kOpen, fill));
  return name;
}

Result<std::vector<std::unique_ptr<Cursor>>> PostgresDriver::run_all(
    std::span<const Statement> statements, Ending ending) {
  std::vector<std::unique_ptr<Cursor>> cursors;
  if (statements.empty()) {
    if (ending == Ending::kCommit) TRY(commit());
    return cursors;
  }
  auto results = TRY(exchange(statements, Naming::kNamed, ending));
  cursors.reserve(results.size());
  for (PgResult& result : results) cursors.push_back(std::make_unique<PgCursor>(std::move(result)));
  return cursors;
}

}  // namespace coffer::sql
