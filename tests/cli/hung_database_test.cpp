// The real program with SQL databases that hang or are gone (E13): the rest goes on, /health/ready
// and `coffer status` name them, and it ends when it is asked to.
#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "sql/test_postgres.h"
#include "support/daemon.h"

namespace coffer::test {
namespace {

constexpr const char* kSilent = "its database does not answer";

std::uint64_t tip_of(const Daemon& daemon, std::string_view consumer) {
  const boost::json::value status = daemon.status();
  if (status.is_null()) return 0;
  for (const auto& one : status.at("consumers").as_array())
    if (one.at("name").as_string() == consumer && one.at("tip").is_object())
      return one.at("tip").at("number").to_number<std::uint64_t>();
  return 0;
}

TEST(HungDatabase, OthersFollowAndProcessStops) {  // E13
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  sql::test::PostgresServer server;
  const auto database = [&] {
    return server.location(server.fresh_database()) + " connect_timeout=1";
  };
  const TempDir dir;
  Daemon daemon(dir.path().string(),
                {"--devnet-block-interval-ms", "20", "--ready-max-behind", "1000000",
                 "--sql-statement-timeout-ms", "1000", "--wallet-database", database(),
                 "--txstore-enabled", "--txstore-backend", "postgres", "--txstore-database",
                 database(), "--token-enabled", "--token-database", database()});
  ASSERT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }))
      << daemon.ready_body() << daemon.log();

  server.freeze();
  const std::uint64_t before = tip_of(daemon, "utxo");
  EXPECT_TRUE(daemon.eventually([&] {
    const std::string body = daemon.ready_body();
    for (const char* const module : {"wallet", "txstore", "token"})
      if (body.find(fmt::format("{}: {}", module, kSilent)) == std::string::npos) return false;
    return true;
  })) << daemon.ready_body();
  EXPECT_EQ(daemon.health("ready"), 503);
  EXPECT_EQ(daemon.health("live"), 200);
  EXPECT_TRUE(daemon.eventually([&] { return tip_of(daemon, "utxo") >= before + 100; }));
  server.thaw();
  EXPECT_TRUE(daemon.eventually([&] {
    return daemon.health("ready") == 200 && tip_of(daemon, "wallet") > before + 100;
  })) << daemon.ready_body();

  server.freeze();
  const std::uint64_t frozen_at = tip_of(daemon, "utxo");
  EXPECT_TRUE(daemon.eventually([&] { return tip_of(daemon, "utxo") >= frozen_at + 10; }));
  const std::int64_t stopped_ms = system_clock().steady_ms();
  EXPECT_EQ(daemon.stop(), 0) << daemon.log();
  EXPECT_LT(system_clock().steady_ms() - stopped_ms, 8'000);
}

TEST(HungDatabase, MissingFileIsNoticedWithoutBlocks) {
  const TempDir dir;
  Daemon daemon(dir.path().string(), {"--devnet-block-interval-ms", "3600000"});
  ASSERT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }))
      << daemon.ready_body();
  const auto file = dir.path() / "wallet.db", away = dir.path() / "away.db";
  std::filesystem::rename(file, away);
  EXPECT_TRUE(daemon.eventually([&] {
    return daemon.ready_body().find(fmt::format("wallet: {}", kSilent)) != std::string::npos;
  })) << daemon.ready_body();
  const Finished status = run({"status", "--data", dir.path().string()});
  EXPECT_NE(status.out.find(kSilent), std::string::npos) << status.out;
  std::filesystem::rename(away, file);
  EXPECT_TRUE(daemon.eventually([&] { return daemon.health("ready") == 200; }))
      << daemon.ready_body();
  EXPECT_EQ(daemon.stop(), 0);
}

}  // namespace
}  // namespace coffer::test
