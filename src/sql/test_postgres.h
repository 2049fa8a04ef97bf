// A private PostgreSQL 15 for tests, on a Unix socket in a temporary directory, and a PgBouncer in
// transaction mode before it. All tests of one ctest run share those of tests/fixture; a test
// program that is run alone starts its own at the first use and ends it at exit.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <coffer/base/clock.h>
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "sql/connection.h"
#include "sql/test_server.h"

namespace coffer::sql::test {

namespace fs = std::filesystem;

inline const fs::path kPostgresPrograms = "/usr/lib/postgresql/15/bin";
inline const fs::path kPgBouncerProgram = "/usr/sbin/pgbouncer";

// Another process's readiness can only be polled for.
inline void wait_until_open(const std::string& location, const fs::path& log) {
  std::string last;
  for (int i = 0; i < 3'000; ++i) {
    DatabaseOptions options;
    options.location = location;
    const auto database = Database::open(options);
    if (database) return;
    last = database.error().message;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << "the server does not start: " << last << "\n" << read_text(log);
  CHECK(false && "no server");
}

// What the fixture of this ctest run wrote: where its `server` and its `bouncer` listen, and the
// name of a database with the wallet's tables, `wallet_template`. Empty outside of a run.
inline std::string fixture_text(const char* name) {
  const char* fixture = std::getenv("COFFER_TEST_POSTGRES");
  return fixture == nullptr ? std::string() : read_text(fs::path(fixture) / name);
}

class PostgresServer {
 public:
  // Nothing if the server's programs are not installed.
  static PostgresServer* shared() {
    if (!fs::exists(kPostgresPrograms / "postgres")) return nullptr;
    static PostgresServer server(fs::path(fixture_text("server")));
    return &server;
  }

  // `durable` leaves fsync on.
  explicit PostgresServer(bool durable = false) : durable_(durable), sockets_(dir_.path()) {
    const ServerUser user;
    user.give(dir_.path());
    fs::copy(cluster_template(), data(), fs::copy_options::recursive);
    user.give_all(data());
    start();
  }
  ~PostgresServer() {
    if (!process_) return;
    thaw();
    process_->stop(SIGQUIT);
  }

  std::string location(const std::string& database) const {
    return "host=" + sockets_.string() + " user=coffer dbname=" + database;
  }
  const fs::path& socket_directory() const { return sockets_; }

  // A database of its own for each test; a copy of `copy_of`, which nobody is connected to, if that
  // is not empty.
  std::string fresh_database(const std::string& copy_of = "") {
    static std::atomic<int> number{0};
    const std::string name = "test_" + std::to_string(::getpid()) + "_" +
                             std::to_string(system_clock().unix_ms()) + "_" +
                             std::to_string(++number);
    run_psql("CREATE DATABASE " + name + (copy_of.empty() ? "" : " TEMPLATE " + copy_of));
    return name;
  }
  // Anything, also what cannot stand in a transaction.
  void run_psql(const std::string& sql, const std::string& database = "postgres") const {
    const fs::path log = dir_.path() / "psql.log";
    ServerProcess psql({(kPostgresPrograms / "psql").string(), "-X", "-q", "-v", "ON_ERROR_STOP=1",
                        "-d", location(database), "-c", sql},
                       log, SIGKILL);
    const int code = psql.wait();
    ASSERT_EQ(code, 0) << read_text(log);
  }

  // The whole server does nothing, not even end, until thaw(). Of one's own only.
  void freeze() const { signal_all(SIGSTOP); }
  void thaw() const { signal_all(SIGCONT); }
  // As after a power cut, or an orderly stop and start.
  void crash() { process_->stop(SIGQUIT), process_.reset(); }
  void start() {
    const std::string sync = durable_ ? "on" : "off";
    process_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{
            (kPostgresPrograms / "postgres").string(), "-D", data().string(), "-c",
            "listen_addresses=", "-c", "unix_socket_directories=" + dir_.path().string(), "-c",
            "fsync=" + sync, "-c", "full_page_writes=" + sync, "-c", "shared_buffers=64MB", "-c",
            "max_connections=500", "-c", "deadlock_timeout=50ms", "-c", "max_wal_size=4GB"},
        log(), SIGQUIT);
    wait_until_open(location("postgres"), log());
  }

 private:
  // One that runs already, or its own.
  explicit PostgresServer(const fs::path& sockets) : durable_(false), sockets_(sockets) {
    ServerUser().give(dir_.path());
    if (!sockets.empty()) return;
    sockets_ = dir_.path();
    fs::copy(cluster_template(), data(), fs::copy_options::recursive);
    ServerUser().give_all(data());
    start();
  }

  // The first process, which makes the others, first.
  void signal_all(int signal) const {
    ::kill(process_->pid(), signal);
    for (const auto& entry : fs::directory_iterator("/proc")) {
      const pid_t pid = std::atoi(entry.path().filename().c_str());
      if (pid <= 0) continue;
      // "PID (name) state PPID …"
      const std::string stat = read_text(entry.path() / "stat");
      const std::size_t end = stat.rfind(") ");
      if (end == std::string::npos) continue;
      if (std::atoi(stat.c_str() + end + 4) == process_->pid()) ::kill(pid, signal);
    }
  }

  fs::path data() const { return dir_.path() / "data"; }
  fs::path log() const { return dir_.path() / "server.log"; }

  // initdb takes seconds, a copy of its work takes little: it is kept beside the test program.
  static fs::path cluster_template() {
    const ServerUser user;
    const fs::path kept = fs::read_symlink("/proc/self/exe").parent_path() /
                          ("postgres-template-" + std::to_string(user.uid));
    if (fs::exists(kept / "PG_VERSION")) return kept;
    const TempDir dir;
    user.give(dir.path());
    ServerProcess initdb(
        {(kPostgresPrograms / "initdb").string(), "-D", (dir.path() / "data").string(), "-U",
         "coffer", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--wal-segsize=4", "--no-sync"},
        dir.path() / "log", SIGKILL);
    const int code = initdb.wait();
    if (code != 0) ADD_FAILURE() << read_text(dir.path() / "log");
    CHECK(code == 0);
    const fs::path copy = kept.string() + "." + std::to_string(::getpid());
    fs::copy(dir.path() / "data", copy, fs::copy_options::recursive);
    std::error_code error;
    fs::rename(copy, kept, error);
    if (error) fs::remove_all(copy);  // another test program was faster
    return kept;
  }

  const bool durable_;
  TempDir dir_;
  fs::path sockets_;
  std::unique_ptr<ServerProcess> process_;
};

// In transaction mode, with fewer connections to the server than clients have.
class PgBouncer {
 public:
  static bool installed() { return fs::exists(kPgBouncerProgram); }
  static PgBouncer* shared() {
    if (!installed() || PostgresServer::shared() == nullptr) return nullptr;
    static PgBouncer bouncer(*PostgresServer::shared(), fs::path(fixture_text("bouncer")));
    return &bouncer;
  }

  // One that runs already, where its sockets are given, or its own.
  explicit PgBouncer(const PostgresServer& server, const fs::path& sockets = {})
      : sockets_(sockets.empty() ? dir_.path() : sockets) {
    if (!sockets.empty()) return;
    ServerUser().give(dir_.path());
    const std::string dir = dir_.path().string();
    std::ofstream(dir_.path() / "pgbouncer.ini")
        << "[databases]\n* = host=" << server.socket_directory().string() << " user=coffer\n"
        << "[pgbouncer]\nlisten_addr =\nlisten_port = 6432\nunix_socket_dir = " << dir << "\n"
        << "auth_type = any\npool_mode = transaction\ndefault_pool_size = 4\n"
        << "max_client_conn = 500\nserver_round_robin = 1\nlog_connections = 0\n"
        << "server_idle_timeout = 2\n"
        << "log_disconnections = 0\n";
    process_ = std::make_unique<ServerProcess>(
        std::vector<std::string>{kPgBouncerProgram.string(), dir + "/pgbouncer.ini"},
        dir_.path() / "log", SIGKILL);
    wait_until_open(location("postgres"), dir_.path() / "log");
  }

  std::string location(const std::string& database) const {
    return "host=" + sockets_.string() + " port=6432 user=coffer dbname=" + database;
  }
  const fs::path& socket_directory() const { return sockets_; }

 private:
  TempDir dir_;
  const fs::path sockets_;
  std::unique_ptr<ServerProcess> process_;
};

}  // namespace coffer::sql::test

// For the body of a test or SetUp(): without the program the test fails if COFFER_REQUIRE_DATA=1,
// and is skipped otherwise.
#define COFFER_REQUIRE_PROGRAM_OR_SKIP(program)                           \
  if (!std::filesystem::exists(program)) {                                \
    if (::coffer::shared_data_required())                                 \
      FAIL() << (program) << " is missing and COFFER_REQUIRE_DATA=1";     \
    GTEST_SKIP() << (program) << " is missing; './dev test' installs it"; \
  }                                                                       \
  static_assert(true, "wants a semicolon")
#define COFFER_REQUIRE_POSTGRES_OR_SKIP() \
  COFFER_REQUIRE_PROGRAM_OR_SKIP(::coffer::sql::test::kPostgresPrograms / "postgres")
#define COFFER_REQUIRE_PGBOUNCER_OR_SKIP() \
  COFFER_REQUIRE_PROGRAM_OR_SKIP(::coffer::sql::test::kPgBouncerProgram)
