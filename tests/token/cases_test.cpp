// The token schema as a person with psql or sqlite3 meets it: behaviour as data (cases/*.txt), on
// SQLite, on PostgreSQL and on PostgreSQL with monthly partitions. Coffer only makes the community.
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>

#include "sql/test_postgres.h"
#include "token/schema.h"
#include "token/support/case_file.h"
#include "token/support/raw_session.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;
using sql::test::PostgresServer;
using test::Case;
using test::CaseFile;
using test::CaseStep;
using test::RawAnswer;
using test::RawSession;

enum class Engine : std::uint8_t { kSqlite, kPostgres, kPartitioned };

struct CaseRun {
  std::string file;
  Engine engine;
  std::string name() const {
    constexpr const char* kNames[] = {"Sqlite", "Postgres", "Partitioned"};
    return file + kNames[static_cast<std::size_t>(engine)];
  }
  friend std::ostream& operator<<(std::ostream& out, const CaseRun& run) {
    return out << run.name();
  }
};

const fs::path kCases = "tests/token/cases";  // tests run in the root of the project
const std::string kApplication = "token_app";

std::vector<CaseRun> all_runs() {
  std::vector<CaseRun> runs;
  std::error_code elsewhere;
  for (const auto& entry : fs::directory_iterator(kCases, elsewhere))
    for (const Engine engine : {Engine::kSqlite, Engine::kPostgres, Engine::kPartitioned})
      runs.push_back({entry.path().stem().string(), engine});
  std::ranges::sort(runs, {}, &CaseRun::name);
  return runs;
}

// A community of its own, and the sessions that a case opens.
class CaseCommunity {
 public:
  CaseCommunity(Engine engine, const fs::path& dir, std::string location)
      : engine_(engine), location_(std::move(location)) {
    static int number = 0;
    name_ = "case_" + std::to_string(++number);
    sql::DatabaseOptions options;
    options.location = location_;
    if (engine == Engine::kSqlite) {
      file_ = (dir / (name_ + ".db")).string();
      options.location = "sqlite:" + file_;
    }
    const auto database = sql::Database::open(options);
    CHECK(database);
    const auto made = prepare_community(**database, name_, sql::Schema::kMigrate);
    EXPECT_TRUE(made) << made.error().message;
    if (engine == Engine::kSqlite) return;
    if (engine == Engine::kPartitioned)
      expect_ok(sql::test::read_text("src/token/migrations/partitioned.sql"));
    expect_ok("SELECT token_grant_application('" + kApplication + "')");
  }

  // Every session reads the same clock.
  void set_clock(const std::string& now_ms) {
    now_ms_ = now_ms;
    if (engine_ == Engine::kSqlite) {
      expect_ok("UPDATE clock SET now_ms = " + now_ms);
      return;
    }
    for (auto& [key, session] : sessions_)
      EXPECT_EQ(session->run("SET coffer.now_ms = '" + now_ms + "'")->code, "");
  }

  RawSession& session(const std::string& name, bool as_application) {
    auto& session = sessions_[{name, as_application}];
    if (session) return *session;
    if (engine_ == Engine::kSqlite) {
      session = test::open_raw_sqlite(file_);
    } else {
      session = test::open_raw_postgres(
          as_application
              ? std::regex_replace(location_, std::regex("user=\\S+"), "user=" + kApplication)
              : location_);
      std::string begin = "SET search_path = " + name_ + ", pg_temp";
      if (!now_ms_.empty()) begin += "; SET coffer.now_ms = '" + now_ms_ + "'";
      EXPECT_EQ(session->run(begin)->message, "");
    }
    return *session;
  }

  std::string schema() const { return engine_ == Engine::kSqlite ? "main" : name_; }

 private:
  void expect_ok(const std::string& script) {
    const std::string text = std::regex_replace(script, std::regex("@schema@"), name_);
    const auto answer = session("a", false).run(text);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->code, "") << answer->message;
  }

  const Engine engine_;
  const std::string location_;
  std::string name_, file_, now_ms_;
  std::map<std::pair<std::string, bool>, std::unique_ptr<RawSession>> sessions_;
};

class CaseRunner {
 public:
  CaseRunner(Engine engine, CaseCommunity& community, std::map<std::string, std::string> names)
      : engine_(engine), community_(community), names_(std::move(names)) {}

  void run(const std::vector<CaseStep>& steps, const std::string& file) {
    for (const CaseStep& step : steps) {
      SCOPED_TRACE(fmt::format("{}:{}: {} {}", file, step.line, step.word, step.text));
      if (step.word == "on") {
        is_on_ = applies(step.text);
      } else if (is_on_) {
        ASSERT_NO_FATAL_FAILURE(take(step));
      }
    }
    settle();
    is_on_ = true;
  }

 private:
  bool applies(const std::string& engines) const {
    const bool sqlite = engine_ == Engine::kSqlite;
    const bool partitioned = engine_ == Engine::kPartitioned;
    if (engines == "both") return true;
    if (engines == "sqlite") return sqlite;
    if (engines == "postgres") return !sqlite;
    if (engines == "plain") return !sqlite && !partitioned;
    if (engines == "partitioned") return partitioned;
    EXPECT_EQ(engines, "unpartitioned");
    return !partitioned;
  }

  void take(const CaseStep& step) {
    if (step.word == "sql" || step.word == "query") {
      settle();
      waits_ = false;
      const auto answer = current().run(replaced(step.text, true));
      if (answer)
        answer_ = *answer;
      else
        waits_ = true;
      if (step.word == "sql" || !answer_.code.empty()) answer_.rows.clear();
      is_open_ = answer.has_value();
    } else if (step.word == "row") {
      ASSERT_FALSE(answer_.rows.empty()) << "no more rows; " << answer_.message;
      EXPECT_EQ(answer_.rows.front(), replaced(step.text, false));
      answer_.rows.erase(answer_.rows.begin());
    } else if (step.word == "norows") {
      EXPECT_TRUE(answer_.rows.empty());
    } else if (step.word == "ok") {
      finish();
      EXPECT_EQ(answer_.code, "") << answer_.message;
      is_open_ = false;
    } else if (step.word == "refused") {
      finish();
      expect_refusal(step.text);
      is_open_ = false;
    } else if (step.word == "blocked") {
      EXPECT_TRUE(waits_) << "it did not wait";
      waiting_.insert(session_);
    } else if (step.word == "finish") {
      waits_ = waiting_.erase(session_) > 0;
      finish();
      is_open_ = true;
    } else if (step.word == "clock") {
      settle();
      community_.set_clock(replaced(step.text, true));
    } else if (step.word == "as") {
      settle();
      as_application_ = step.text == "app";
    } else if (step.word == "session") {
      settle();
      session_ = step.text;
    } else {
      FAIL() << "unknown step";
    }
  }

  RawSession& current() { return community_.session(session_, as_application_); }

  void finish() {
    if (!waits_) return;
    answer_ = current().finish();
    answer_.rows.clear();
    waits_ = false;
  }

  // What no step judged must have succeeded, and its rows must all have been named.
  void settle() {
    if (is_open_) {
      EXPECT_EQ(answer_.code, "") << answer_.message;
    }
    EXPECT_TRUE(answer_.rows.empty()) << "row not named: " << answer_.rows.front();
    answer_.rows.clear();
    is_open_ = false;
  }

  void expect_refusal(const std::string& text) {
    static const std::map<std::string, std::string> classes = {
        {"23505", "unique"},  {"TK015", "unique"},  {"23514", "check"},
        {"22P02", "check"},   {"22001", "check"},   {"22003", "check"},
        {"23502", "notnull"}, {"23503", "foreign"}, {"42501", "denied"}};
    const std::string wanted = text.substr(0, text.find(' '));
    EXPECT_NE(answer_.code, "") << "it succeeded";
    const auto found = classes.find(answer_.code);
    const bool same = wanted == "any" || wanted == answer_.code ||
                      (found != classes.end() && found->second == wanted);
    EXPECT_TRUE(same) << "refused with " << answer_.code << ": " << answer_.message;
    if (engine_ == Engine::kSqlite || wanted.size() == text.size()) return;
    EXPECT_NE(answer_.message.find(text.substr(wanted.size() + 1)), std::string::npos)
        << answer_.message;
  }

  // :name, in quotes where it is no number and stands in a statement; and @schema@.
  std::string replaced(const std::string& text, bool in_statement) const {
    static const std::regex name_pattern("(^|[^:\\w]):([a-z_]\\w*)|@schema@");
    std::string out;
    auto last = text.begin();
    for (std::sregex_iterator it(text.begin(), text.end(), name_pattern), end; it != end; ++it) {
      out.append(last, (*it)[0].first);
      last = (*it)[0].second;
      if (it->str() == "@schema@") {
        out += community_.schema();
        continue;
      }
      const auto found = names_.find((*it)[2]);
      if (found == names_.end()) {
        out += it->str();
        continue;
      }
      const bool number =
          std::ranges::all_of(found->second, [](char c) { return c >= '0' && c <= '9'; });
      const std::string quote = in_statement && !number ? "'" : "";
      out += (*it)[1].str() + quote + found->second + quote;
    }
    return out.append(last, text.end());
  }

  const Engine engine_;
  CaseCommunity& community_;
  const std::map<std::string, std::string> names_;
  std::string session_ = "a";
  bool as_application_ = false, is_on_ = true;
  RawAnswer answer_;
  bool is_open_ = false;  // no step has judged the last statement yet
  bool waits_ = false;
  std::set<std::string> waiting_;
};

class TokenCases : public testing::TestWithParam<CaseRun> {
 protected:
  // The application's role is one for the whole server, and tests share that.
  static void make_application_role(const std::string& location) {
    const auto session = test::open_raw_postgres(location);
    (void)session->run("CREATE ROLE " + kApplication + " LOGIN");
    EXPECT_EQ(
        session->run("SELECT 1 FROM pg_roles WHERE rolname = '" + kApplication + "'")->rows.size(),
        1u);
  }
};

TEST_P(TokenCases, RawSql) {
  const auto& [file, engine] = GetParam();
  TempDir dir;
  std::string location;
  if (engine != Engine::kSqlite) {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    location = PostgresServer::shared()->location(PostgresServer::shared()->fresh_database());
    make_application_role(location);
  }
  const CaseFile base = test::read_case_file((kCases / "format.txt").string());
  CaseFile own = test::read_case_file((kCases / (file + ".txt")).string());
  if (file == "format") own.setup.clear();
  own.names.insert(base.names.begin(), base.names.end());
  ASSERT_FALSE(own.cases.empty());
  for (const Case& each : own.cases) {
    SCOPED_TRACE("case " + each.name);
    CaseCommunity community(engine, dir.path(), location);
    CaseRunner runner(engine, community, own.names);
    runner.run(base.setup, "format.txt");
    runner.run(own.setup, file + ".txt");
    runner.run(each.steps, file + ".txt");
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, TokenCases, testing::ValuesIn(all_runs()),
                         [](const auto& run) { return run.param.name(); });

}  // namespace
}  // namespace coffer::token
