// PostgreSQL that hangs: a frozen process, or a socket behind which nobody answers (E13).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <future>

#include "base/result.h"
#include "sql/stop_signal.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

constexpr std::string_view kColumns[] = {"id", "s"};

// A process that does nothing for a while, not even end.
class Frozen {
 public:
  explicit Frozen(std::int64_t pid) : pid_(static_cast<pid_t>(pid)) {
    EXPECT_EQ(::kill(pid_, SIGSTOP), 0);
  }
  ~Frozen() { ::kill(pid_, SIGCONT); }
  Frozen(const Frozen&) = delete;
  Frozen& operator=(const Frozen&) = delete;

 private:
  const pid_t pid_;
};

// Takes connections and says nothing: nobody accepts them.
class SilentSocket {
 public:
  SilentSocket() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_, any, size), 0);
    EXPECT_EQ(::listen(socket_, 16), 0);
    EXPECT_EQ(::getsockname(socket_, any, &size), 0);
    port_ = ntohs(address.sin_port);
  }
  ~SilentSocket() { ::close(socket_); }
  SilentSocket(const SilentSocket&) = delete;
  SilentSocket& operator=(const SilentSocket&) = delete;
  int port() const { return port_; }

 private:
  const int socket_;
  int port_ = 0;
};

class HungServer : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    server_ = PostgresServer::shared();
    options_.location = server_->location(server_->fresh_database());
    options_.seed = 1;
    const auto made = open()->run_transaction(
        [](Transaction& t) { return t.script("CREATE TABLE t(id BIGINT, s TEXT)"); });
    ASSERT_TRUE(made) << made.error().message;
  }
  std::unique_ptr<Database> open() const { return Database::open(options_).value(); }
  static std::int64_t pid_of(Reader& reader) {
    return reader.value<std::int64_t>("SELECT pg_backend_pid()").value().value();
  }

  PostgresServer* server_ = nullptr;
  DatabaseOptions options_;
};

// Something that waits for the server in its own way. It says itself when to freeze it.
struct HungCase {
  const char* name;
  Result<> (*run)(Connection& connection, const std::function<void()>& freeze);
  bool is_outcome_unknown = false;
};

Result<> begin_work(Connection& connection, const std::function<Result<>(Transaction&)>& body) {
  Transaction transaction = TRY(connection.begin());
  (void)TRY(transaction.value<std::int64_t>("SELECT 1"));
  return body(transaction);
}

using Freeze = std::function<void()>;
const HungCase kHungCases[] = {
    {"Query",
     [](Connection& c, const Freeze& freeze) -> Result<> {
       (void)TRY(c.value<std::int64_t>("SELECT 1"));
       freeze();
       (void)TRY(c.value<std::int64_t>("SELECT 1"));
       return {};
     }},
    {"NewStatement",
     [](Connection& c, const Freeze& freeze) -> Result<> {
       freeze();
       (void)TRY(c.value<std::int64_t>("SELECT 2"));
       return {};
     }},
    {"FirstOfTransaction",
     [](Connection& c, const Freeze& freeze) -> Result<> {
       freeze();
       return begin_work(c, [](Transaction&) { return Result<>(); });
     }},
    {"Script",
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) {
         freeze();
         return t.script("DELETE FROM t");
       });
     }},
    {"RunAll",
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) -> Result<> {
         freeze();
         (void)TRY(t.run_all({{"SELECT 3"}, {"SELECT 4"}}));
         return {};
       });
     }},
    {"Stream",
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) -> Result<> {
         Rows rows = TRY(t.stream("SELECT generate_series(1, 5000)"));
         freeze();
         while (TRY(rows.next())) {
         }
         return {};
       });
     }},
    {"Batch",
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) -> Result<> {
         Batch batch = TRY(t.batch("INSERT INTO t VALUES ($1, $2)"));
         freeze();
         for (int i = 0; i < 2'000; ++i) TRY(batch.add({i, "some text"}));
         (void)TRY(batch.finish());
         return {};
       });
     }},
    {"Copy",
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) -> Result<> {
         Batch batch = TRY(t.insert_into("t", kColumns));
         freeze();
         TRY(batch.add({1, "some text"}));
         (void)TRY(batch.finish());
         return {};
       });
     }},
    {"LargeCopy",  // more than the socket takes
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) -> Result<> {
         Batch batch = TRY(t.insert_into("t", kColumns));
         freeze();
         const std::string text(1u << 20, 'x');
         for (int i = 0; i < 16; ++i) TRY(batch.add({i, text}));
         (void)TRY(batch.finish());
         return {};
       });
     }},
    {"LargeParameter",
     [](Connection& c, const Freeze& freeze) {
       return begin_work(c, [&](Transaction& t) -> Result<> {
         freeze();
         const std::string text(16u << 20, 'x');
         (void)TRY(t.execute("INSERT INTO t VALUES (1, $1)", {text}));
         return {};
       });
     }},
    {"Commit",
     [](Connection& c, const Freeze& freeze) -> Result<> {
       Transaction t = TRY(c.begin());
       (void)TRY(t.execute("INSERT INTO t VALUES (1, 'a')"));
       freeze();
       return t.commit();
     },
     true},
    {"CommitWith",
     [](Connection& c, const Freeze& freeze) -> Result<> {
       Transaction t = TRY(c.begin());
       freeze();
       (void)TRY(t.commit_with({{"INSERT INTO t VALUES (1, 'a')"}}));
       return {};
     },
     true},
};

// All at once: each only waits.
TEST_F(HungServer, EveryWaitEnds) {
  options_.statement_timeout_ms = 500;
  std::vector<std::future<Result<>>> ends;
  for (const HungCase& one : kHungCases)
    ends.push_back(std::async(std::launch::async, [this, &one]() -> Result<> {
      std::optional<Frozen> frozen;  // longer than the connection: it is closed while it hangs
      const auto database = open();
      Connection connection = database->acquire().value();
      const std::int64_t pid = pid_of(connection);
      return one.run(connection, [&] { frozen.emplace(pid); });
    }));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const HungCase& one = kHungCases[i];
    ASSERT_EQ(ends[i].wait_for(std::chrono::seconds(20)), std::future_status::ready) << one.name;
    const Result<> end = ends[i].get();
    ASSERT_FALSE(end) << one.name;
    const std::string& message = end.error().message;
    EXPECT_EQ(end.error().code, Code::kUnavailable) << one.name << ": " << message;
    EXPECT_EQ(end.error().retryable, !one.is_outcome_unknown) << one.name << ": " << message;
    EXPECT_NE(message.find("no answer from postgres://coffer@"), std::string::npos)
        << one.name << ": " << message;
    EXPECT_EQ(message.find("not known whether") != std::string::npos, one.is_outcome_unknown)
        << one.name << ": " << message;
    expect_one_line(end.error());
  }
}

TEST_F(HungServer, RollbackEnds) {
  options_.statement_timeout_ms = 500;
  const auto database = open();
  Connection connection = database->acquire().value();
  const std::int64_t pid = pid_of(connection);
  std::optional<Transaction> transaction = connection.begin().value();
  ASSERT_TRUE(transaction->execute("INSERT INTO t VALUES (1, 'a')"));
  const Frozen frozen(pid);
  const std::int64_t before_ms = system_clock().steady_ms();
  transaction.reset();
  EXPECT_LT(system_clock().steady_ms() - before_ms, 5'000);
}

TEST_F(HungServer, TransactionIsDoneAgainOnAnotherConnection) {
  options_.statement_timeout_ms = 500;
  const auto database = open();
  std::optional<Frozen> frozen;
  const auto done = database->run_transaction([&](Transaction& t) -> Result<> {
    if (!frozen) frozen.emplace(pid_of(t));
    (void)TRY(t.execute("INSERT INTO t VALUES (7, 'a')"));
    return {};
  });
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_EQ(database->stats().retries, 1u);
  Connection connection = database->acquire().value();
  EXPECT_EQ(connection.value<std::int64_t>("SELECT count(*) FROM t").value(), 1);
}

TEST_F(HungServer, StopEndsWaits) {
  StopSignal stop;
  options_.stop = &stop;
  const auto database = open();
  Connection one = database->acquire().value();
  Connection other = database->acquire().value();
  const Frozen frozen(pid_of(one)), also_frozen(pid_of(other));
  auto waiting = std::async(std::launch::async, [&] { return one.query("SELECT 5").error(); });
  EXPECT_EQ(waiting.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  stop.request();
  ASSERT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const Error error = waiting.get();
  EXPECT_EQ(error.code, Code::kUnavailable) << error.message;
  EXPECT_NE(error.message.find("until this program had to stop"), std::string::npos)
      << error.message;
  // Nobody else waits, nor is anything tried again.
  const std::int64_t before_ms = system_clock().steady_ms();
  EXPECT_FALSE(other.query("SELECT 5"));
  EXPECT_FALSE(database->run_transaction([](Transaction& t) { return t.script("SELECT 5"); }));
  EXPECT_LT(system_clock().steady_ms() - before_ms, StopSignal::kGraceMs);
}

TEST_F(HungServer, AnsweringServerIsUsedAfterStop) {
  StopSignal stop;
  options_.stop = &stop;
  const auto database = open();
  stop.request();
  const auto done = database->run_transaction(
      [](Transaction& t) { return t.execute("INSERT INTO t VALUES (1, 'a')"); });
  EXPECT_TRUE(done) << done.error().message;
}

TEST_F(HungServer, ConnectionAttemptEnds) {
  const SilentSocket silent;
  options_.connect_timeout_s = 1;
  options_.location = fmt::format("postgres://me:secret@127.0.0.1:{}/wallets", silent.port());
  const auto refused = Database::open(options_);
  ASSERT_FALSE(refused);
  const Error& error = refused.error();
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_TRUE(error.retryable);
  EXPECT_EQ(error.message,
            fmt::format("postgres://me@127.0.0.1:{}/wallets: postgres: no answer within 1000 ms; "
                        "check that the server is running and can be reached",
                        silent.port()));
}

TEST_F(HungServer, StopEndsConnectionAttempt) {
  const SilentSocket silent;
  StopSignal stop;
  options_.stop = &stop;
  options_.connect_timeout_s = 3'600;
  options_.location = fmt::format("host=127.0.0.1 port={} user=me dbname=none", silent.port());
  auto waiting =
      std::async(std::launch::async, [&] { return Database::open(options_).error().code; });
  stop.request();
  ASSERT_EQ(waiting.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(waiting.get(), Code::kUnavailable);
}

TEST_F(HungServer, NextHostIsTriedWhenOneHangs) {
  const SilentSocket silent;
  const std::string real = server_->socket_directory().string();
  options_.location = fmt::format(
      "host=127.0.0.1,{} port={},5432 user=coffer dbname={} "
      "connect_timeout=1",
      real, silent.port(), server_->fresh_database());
  const auto opened = Database::open(options_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->acquire()->value<std::int64_t>("SELECT 7").value(), 7);
}

}  // namespace
}  // namespace coffer::sql::test
