#include "sql/location.h"

#include <gtest/gtest.h>

#include "sql/impl.h"

namespace coffer::sql {
namespace {

TEST(Location, SqliteIsAPath) {
  const auto location = parse_location("sqlite:dir/a.db").value();
  EXPECT_EQ(location.dialect, Dialect::kSqlite);
  EXPECT_EQ(location.target, "dir/a.db");
  EXPECT_EQ(location.name, "sqlite:dir/a.db");
}

TEST(Location, PostgresWithAndWithoutOurOwnParameter) {
  struct Case {
    std::string_view text, target, name;
    Pooling pooling;
  };
  const Case cases[] = {
      {"postgres://me:secret@db:5433/coffer", "postgres://me:secret@db:5433/coffer",
       "postgres://me@db:5433/coffer", Pooling::kDetect},
      {"postgresql://db/coffer?pooled=true", "postgresql://db/coffer", "postgres://db/coffer",
       Pooling::kPooled},
      {"postgres://db/coffer?pooled=false&sslmode=require", "postgres://db/coffer?sslmode=require",
       "postgres://db/coffer", Pooling::kDirect},
      {"postgres://db/coffer?sslmode=require&pooled=true&application_name=x",
       "postgres://db/coffer?sslmode=require&application_name=x", "postgres://db/coffer",
       Pooling::kPooled},
      {"host=/run/pg dbname=coffer password=secret pooled=true",
       "host=/run/pg dbname=coffer password=secret", "postgres:///run/pg/coffer", Pooling::kPooled},
      {"pooled=false host=db", "host=db", "postgres://db/", Pooling::kDirect},
  };
  for (const Case& c : cases) {
    const auto location = parse_location(c.text);
    ASSERT_TRUE(location) << c.text << location.error().message;
    EXPECT_EQ(location->dialect, Dialect::kPostgres);
    EXPECT_EQ(location->target, c.target);
    EXPECT_EQ(location->name, c.name);
    EXPECT_EQ(location->pooling, c.pooling) << c.text;
  }
}

TEST(Location, WrongLocationsAreUsageErrorsWithoutSecrets) {
  for (const std::string_view text :
       {"", "sqlite:", "sqlite::memory:", "coffer.db", "mysql://me:secret@db/x",
        "postgres://db/x?pooled=maybe", "postgres://db/x?colour=secret", "host=db colour=secret"}) {
    const auto location = parse_location(text);
    ASSERT_FALSE(location) << text;
    EXPECT_EQ(location.error().code, Code::kUsage);
    EXPECT_EQ(location.error().message.find("secret"), std::string::npos);
  }
}

// What libpq makes of a password that is not encoded must not be taken for a host or a name.
TEST(Location, PasswordThatIsNotEncodedIsRefusedAndNotShown) {
  for (const std::string_view text :
       {"postgres://coffer:ab/Sec+ret9@db.example/coffer", "postgres://me:1/Sec+ret9@db/coffer",
        "postgres://me:x@Sec+ret9@db/coffer", "postgres://me:x@Sec+ret9/y@db/coffer",
        "postgres://me@corp:Sec+ret9@db/coffer", "postgres://me:Sec+ret9",
        "host=db port=Sec+ret9 dbname=x", "dbname=postgres://me:Sec+ret9@db/x"}) {
    ASSERT_FALSE(parse_location(text)) << text;
    for (const Error& error : {parse_location(text).error(), describe_location(text).error()}) {
      EXPECT_EQ(error.code, Code::kUsage) << text;
      EXPECT_EQ(error.message.find("Sec"), std::string::npos) << error.message;
      EXPECT_NE(error.message.find("percent-encode"), std::string::npos) << error.message;
    }
  }
  for (const std::string_view text :
       {"postgres://me:ab%2FSec%40ret9@db/coffer", "postgres://me:a@h1:5433,h2:5434/coffer",
        "postgres://me@h1,h2:5434/coffer", "postgres://%2Frun%2Fpg/coffer", "postgres://[::1]:5/x",
        "postgres:///coffer?host=/run/pg", "host=/run/pg,db port=,5433 dbname=x"}) {
    const auto location = parse_location(text);
    EXPECT_TRUE(location) << text << location.error().message;
  }
}

TEST(Location, IsDescribedForPeopleAndForTheEnginesOwnTools) {
  const auto file = describe_location("sqlite:dir/a.db").value();
  EXPECT_EQ(file.dialect, Dialect::kSqlite);
  EXPECT_EQ(file.path, "dir/a.db");
  EXPECT_EQ(file.tool_flags, "");
  const auto server = describe_location("postgres://me:secret@db:5433/my%20own?pooled=true");
  ASSERT_TRUE(server) << server.error().message;
  EXPECT_EQ(server->dialect, Dialect::kPostgres);
  EXPECT_EQ(server->path, "");
  EXPECT_EQ(server->tool_flags, "--host=db --port=5433 --username=me --dbname='my own'");
  EXPECT_EQ(describe_location("host=/run/pg password=secret dbname='a\\'b'").value().tool_flags,
            "--host=/run/pg --dbname='a'\\''b'");
  EXPECT_EQ(describe_location("nowhere").error().code, Code::kUsage);
}

// Entries that no test can provoke on a real server.
TEST(Errors, RareStates) {
  EXPECT_EQ(postgres_failure("HV000", "x", "").error.reason, "");  // PostgreSQL's, no schema's
  EXPECT_EQ(postgres_failure("53100", "x", "").error.code, Code::kUnavailable);
  EXPECT_EQ(postgres_failure("53100", "x", "").trouble, Trouble::kFailed);
  EXPECT_EQ(postgres_failure("XX001", "x", "").error.code, Code::kCorrupt);
  EXPECT_EQ(postgres_failure("25006", "x", "").trouble, Trouble::kLost);
  for (const char* state : {"57P03", "57P05", "25P03", "25P04"}) {
    EXPECT_EQ(postgres_failure(state, "x", "").error.code, Code::kUnavailable) << state;
    EXPECT_TRUE(postgres_failure(state, "x", "").error.retryable) << state;
    EXPECT_EQ(postgres_failure(state, "x", "").trouble, Trouble::kLost) << state;
  }
  EXPECT_EQ(postgres_failure("99999", "a\nb", "SELECT").error.message,
            "postgres: a; this is a bug, in: SELECT");
}

}  // namespace
}  // namespace coffer::sql
