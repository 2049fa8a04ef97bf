// Citus itself is not in Debian. What is tried here on a real PostgreSQL: the statements, and that
// nothing is done without the extension; and, with functions of the same names in its place, which
// calls arrive, in which order, with which settings.
#include "sql/distribute.h"

#include <thread>

#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

constexpr std::string_view kReference[] = {"shared"};
constexpr TenantTable kTenant[] = {{"parents", "tenant"}, {"children", "tenant"}};
constexpr std::string_view kSettings[] = {"citus.enable_unsafe_triggers"};
constexpr Distribution kToys = {.reference = kReference, .tenant = kTenant, .settings = kSettings};

class DistributeTest : public EngineTest {
 protected:
  void make_tables() {
    script(
        "CREATE TABLE shared(id BIGINT); CREATE TABLE parents(tenant BIGINT); "
        "CREATE TABLE children(tenant BIGINT)");
  }
  // What Citus would offer, as far as it is used.
  void make_stand_in() {
    script(R"(
      INSERT INTO pg_extension(oid, extname, extowner, extnamespace, extrelocatable, extversion)
        VALUES (99999, 'citus', 10, 'public'::regnamespace, false, '0');
      CREATE TABLE pg_dist_partition(logicalrelid regclass, partmethod "char", repmodel "char");
      CREATE TABLE calls(n BIGINT GENERATED ALWAYS AS IDENTITY, call TEXT);
      CREATE FUNCTION create_reference_table(t regclass) RETURNS void LANGUAGE plpgsql AS $$BEGIN
        INSERT INTO pg_dist_partition VALUES (t, 'n', 't');
        -- A table that refers to it gets into the list as a local one.
        INSERT INTO pg_dist_partition VALUES ('parents', 'n', 's');
        INSERT INTO calls(call)
          VALUES (t || ' ' || current_setting('citus.enable_unsafe_triggers'));
      END$$;
      CREATE FUNCTION create_distributed_table(t regclass, c text, colocate_with text DEFAULT '')
        RETURNS void LANGUAGE plpgsql AS $$BEGIN
        IF EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = t AND partmethod = 'h') THEN
          RAISE 'table % is already distributed', t;
        END IF;
        INSERT INTO pg_dist_partition VALUES (t, 'h', 's');
        INSERT INTO calls(call) VALUES (t || ' ' || c || ' ' || colocate_with || ' ' ||
          current_setting('citus.enable_unsafe_triggers'));
      END$$)");
  }
  std::string calls() {
    auto connection = db().acquire().value();
    const auto text = connection.value<std::string>(
        "SELECT coalesce(string_agg(call, ', ' ORDER BY n), '') FROM calls");
    EXPECT_TRUE(text) << text.error().message;
    return text.value().value_or("");
  }
};
COFFER_ON_EVERY_SERVER(DistributeTest);

TEST(Distribute, RefusesSqlite) {
  const TempDir dir;
  DatabaseOptions options;
  options.location = "sqlite:" + (dir.path() / "a.db").string();
  const auto database = Database::open(options).value();
  for (const auto& refused : {plan_distribution(*database, kToys), distribute(*database, kToys)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUsage);
    EXPECT_NE(refused.error().message.find("only a PostgreSQL database"), std::string::npos);
  }
}

TEST_P(DistributeTest, WithoutExtensionOnlyPlans) {
  const auto steps = plan_distribution(db(), kToys);
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 3u);
  EXPECT_EQ(steps->at(0).statement, "SELECT create_reference_table('shared')");
  EXPECT_EQ(steps->at(1).statement,
            "SELECT create_distributed_table('parents', 'tenant', colocate_with => 'none')");
  EXPECT_EQ(steps->at(2).statement,
            "SELECT create_distributed_table('children', 'tenant', colocate_with => 'parents')");
  for (const auto& step : *steps) EXPECT_FALSE(step.done_before);
  make_tables();
  const auto refused = distribute(db(), kToys);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("CREATE EXTENSION citus"), std::string::npos);
  expect_one_line(refused.error());
}

TEST_P(DistributeTest, EveryTableOnceInOrder) {
  make_stand_in();
  const auto early = distribute(db(), kToys);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kNotFound);
  EXPECT_NE(early.error().message.find("table shared yet; 'coffer db migrate'"), std::string::npos);
  make_tables();
  std::vector<std::string> seen;
  const auto note = [&](const DistributeStep& step) {
    seen.push_back(step.table + (step.done_before ? " before" : ""));
  };
  const auto steps = distribute(db(), kToys, note);
  ASSERT_TRUE(steps) << steps.error().message;
  EXPECT_EQ(seen, (std::vector<std::string>{"shared", "parents", "children"}));
  const std::string all = "shared on, parents tenant none on, children tenant parents on";
  EXPECT_EQ(calls(), all);
  // Again: nothing.
  seen.clear();
  ASSERT_TRUE(distribute(db(), kToys, note));
  EXPECT_EQ(seen, (std::vector<std::string>{"shared before", "parents before", "children before"}));
  EXPECT_EQ(calls(), all);
  for (const auto& step : plan_distribution(db(), kToys).value())
    EXPECT_TRUE(step.done_before) << step.table;
}

TEST_P(DistributeTest, SchemaAsAWhole) {
  Distribution village = kToys;
  village.schema = "village";
  const auto steps = plan_distribution(db(), village);
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 1u);
  EXPECT_EQ(steps->front().table, "village");
  EXPECT_EQ(steps->front().statement, "SELECT citus_schema_distribute('village')");
  make_stand_in();
  script(R"(
    CREATE TABLE pg_dist_schema(schemaid oid);
    CREATE FUNCTION citus_schema_distribute(s regnamespace) RETURNS void LANGUAGE plpgsql AS $$BEGIN
      INSERT INTO pg_dist_schema VALUES (s);
      INSERT INTO calls(call) VALUES (s || ' ' || current_setting('citus.enable_unsafe_triggers'));
    END$$)");
  const auto early = distribute(db(), village);
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, Code::kNotFound);
  script("CREATE SCHEMA village");
  ASSERT_TRUE(distribute(db(), village));
  EXPECT_EQ(calls(), "village on");
  EXPECT_TRUE(distribute(db(), village).value().front().done_before);
  EXPECT_EQ(calls(), "village on");
}

TEST_P(DistributeTest, InterruptedRunIsFinishedByTheNext) {
  make_stand_in();
  make_tables();
  script("ALTER TABLE calls ADD CHECK (call NOT LIKE 'children%')");
  const auto failed = distribute(db(), kToys);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message.rfind("children: ", 0), 0u) << failed.error().message;
  EXPECT_EQ(calls(), "shared on, parents tenant none on");
  const auto left = plan_distribution(db(), kToys).value();
  EXPECT_TRUE(left[1].done_before);
  EXPECT_FALSE(left[2].done_before);
  script("ALTER TABLE calls DROP CONSTRAINT calls_call_check");
  // Two at once are one.
  std::thread other([&] { EXPECT_TRUE(distribute(*open(), kToys)); });
  EXPECT_TRUE(distribute(db(), kToys));
  other.join();
  EXPECT_EQ(calls(), "shared on, parents tenant none on, children tenant parents on");
}

}  // namespace
}  // namespace coffer::sql::test
